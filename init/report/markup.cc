#include "init/report/markup.h"

#include <cstddef>

#include "base/characters/utf8.h"

namespace report {

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const std::size_t length = base::utf8_length(text);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
    } else if (text[0] == '\n') {
      result += '\n';
    } else if (base::is_control(text)) {
      result += '?';
    } else if (text[0] == '&') {
      result += "&amp;";
    } else if (text[0] == '<') {
      result += "&lt;";
    } else if (text[0] == '>') {
      result += "&gt;";
    } else if (text[0] == '"') {
      result += "&quot;";
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace report
