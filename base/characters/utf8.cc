#include "base/characters/utf8.h"

#include <algorithm>

namespace base {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

std::uint32_t utf8_code(std::string_view text, std::size_t length) {
  constexpr std::uint32_t kFirstBits[] = {0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code = static_cast<unsigned char>(text[0]) & kFirstBits[length - 1];
  for (std::size_t i = 1; i < length; ++i) {
    code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return code;
}

bool is_control(std::string_view text) {
  // First and last character of each range: C0, DEL, C1, and Unicode's characters that change the
  // text direction, end lines or have no visible form. Joiners within the words of a script are
  // allowed.
  constexpr std::uint32_t kRanges[][2] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},
                                          {0x61C, 0x61C},   {0x180E, 0x180E}, {0x200B, 0x200B},
                                          {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
                                          {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first < 0x20 || first == 0x7F;
  const std::size_t length = utf8_length(text);
  if (length == 0) return false;
  const std::uint32_t code = utf8_code(text, length);
  for (const auto& range : kRanges) {
    if (code >= range[0] && code <= range[1]) return true;
  }
  return false;
}

void append_code(std::string& out, char kind, std::uint32_t code, int digits) {
  out += {'\\', kind};
  while (digits-- > 0) out += "0123456789abcdef"[code >> (4 * digits) & 15U];
}

std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  const char kind = text[1];
  if (kind == '[') {
    std::size_t end = 2;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size());
  }
  if (kind == ']') {  // an OSC sequence ends at BEL, or at ESC and '\'
    std::size_t end = 2;
    while (end < text.size() && text[end] != '\a' && text[end] != '\033') ++end;
    return std::min(end + (end < text.size() && text[end] == '\033' ? 2U : 1U), text.size());
  }
  return 2;
}

}  // namespace base
