#include "base/printed_text.h"

#include <algorithm>

#include "base/characters/utf8.h"

namespace base {

std::string plain_text(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const auto first = static_cast<unsigned char>(line[0]);
    std::size_t taken = utf8_length(line);
    if (first == '\033') {
      taken = escape_length(line);
    } else if (taken == 0) {
      text += '?';
      taken = 1;
    } else if (first == '\t') {
      text += ' ';
    } else if (!is_control(line)) {
      text += line.substr(0, taken);
    }
    line.remove_prefix(taken);
  }
  const std::size_t end = text.find_last_not_of(' ');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

std::size_t append_escaped(std::string_view text, std::string& out) {
  const std::size_t length = utf8_length(text);
  const auto first = static_cast<unsigned char>(text[0]);
  constexpr std::string_view kNamed = "\t\n\r";
  constexpr std::string_view kNames = "tnr";
  const std::size_t named = kNamed.find(text[0]);
  if (named != std::string_view::npos) {
    out += {'\\', kNames[named]};
  } else if (length == 0 || is_control(text)) {
    const std::uint32_t code = length == 0 ? first : utf8_code(text, length);
    const bool byte = code < 0x100;
    const bool longest = code >= 0x10000;
    append_code(out, byte ? 'x' : longest ? 'U' : 'u', code, byte ? 2 : longest ? 8 : 4);
  } else {
    out += text.substr(0, length);
  }
  return length == 0 ? 1 : length;
}

std::string escaped_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) text.remove_prefix(append_escaped(text, shown));
  return shown;
}

std::string last_line(std::string_view text) {
  constexpr std::size_t kMaxBytes = 300;
  constexpr std::string_view kBlanks = " \t\r\n";
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  text.remove_prefix(text.find_last_of("\r\n") + 1);  // npos + 1 is 0: all text
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return escaped_text(cut_text(text, kMaxBytes));
}

std::string_view cut_text(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  constexpr std::size_t kMaxContinuationBytes = 3;
  std::size_t size = most_bytes;
  const std::size_t least = size - std::min(size, kMaxContinuationBytes);
  while (size > least && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace base
