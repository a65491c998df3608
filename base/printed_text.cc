#include "base/printed_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace envgen {
namespace {

// The length of the terminal's escape sequence that `text` starts with, which is ESC.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  const char kind = text[1];
  if (kind == '[') {
    std::size_t end = 2;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size());
  }
  if (kind == ']') {  // up to BEL or ESC '\'
    std::size_t end = 2;
    while (end < text.size() && text[end] != '\a' && text[end] != '\033') ++end;
    return std::min(end + (end < text.size() && text[end] == '\033' ? 2U : 1U), text.size());
  }
  return 2;
}

}  // namespace

std::string plain_text(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const auto first = static_cast<unsigned char>(line[0]);
    std::size_t taken = sys::utf8_length(line);
    if (first == '\033') {
      taken = escape_length(line);
    } else if (taken == 0) {
      text += '?';
      taken = 1;
    } else if (first == '\t') {
      text += ' ';
    } else if (!sys::is_control(line)) {
      text += line.substr(0, taken);
    }
    line.remove_prefix(taken);
  }
  const std::size_t end = text.find_last_not_of(' ');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

std::string_view cut_text(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  constexpr std::size_t kMostContinuationBytes = 3;
  std::size_t size = most_bytes;
  const std::size_t least = size - std::min(size, kMostContinuationBytes);
  while (size > least && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace envgen
