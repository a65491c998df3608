#pragma once
// Lines for people, made of untrusted texts. No text can end its line, begin another line or
// repaint it, and credentials are masked. print() of init/cli accepts only these lines.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace base {

class ShownLines {
 public:
  // Adds one line that consists of `parts`.
  void add(std::initializer_list<std::string_view> parts);
  void add(const ShownLines& lines) { text_ += lines.text_; }

  // Returns all lines. Each ends with "\n".
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Returns a command as a shell would read it, with its credentials masked. Masking comes first,
// because quotes that are added behind it hide a credential from it.
std::string shown_command(const std::vector<std::string>& arguments);

}  // namespace base
