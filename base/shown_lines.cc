#include "base/shown_lines.h"

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/text.h"

namespace base {

void ShownLines::add(std::initializer_list<std::string_view> parts) {
  text_ += escaped_text(mask_secrets(concat(parts)));
  text_ += '\n';
}

std::string shown_command(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-*";
  std::vector<std::string> words = masked_arguments(arguments);
  for (std::string& word : words) {
    if (word.empty() || word.find_first_not_of(kPlain) != std::string::npos) {
      word = shell_quoted(word);
    }
  }
  return joined(words, " ");
}

}  // namespace base
