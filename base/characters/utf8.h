#pragma once
// Characters of bytes that may be anything: what a log shows of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sys {

// Bytes of the UTF-8 character that `text`, which is not empty, starts with; 0 when it starts with
// none.
std::size_t utf8_length(std::string_view text);

// The code of the character of `length` bytes that `text` starts with.
std::uint32_t utf8_code(std::string_view text, std::size_t length);

// `text` starts with a character that a terminal or a viewer obeys instead of showing it: C0, DEL,
// C1 in UTF-8, the marks of Unicode that end lines, reverse text or have no width.
bool is_control(std::string_view text);

// Appends `code` to `out` in `digits` digits of base 16, behind '\\' and `kind`.
void append_code(std::string& out, char kind, std::uint32_t code, int digits);

// Returns the length of the terminal's escape sequence that `text` starts with, which is ESC.
std::size_t escape_length(std::string_view text);

}  // namespace sys
