#pragma once
// UTF-8 characters in untrusted bytes, and which of them a log may show unescaped.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace base {

// Returns the number of bytes of the UTF-8 character at the start of `text`, or 0 if no valid
// character starts there. `text` must not be empty.
std::size_t utf8_length(std::string_view text);

// Returns the code point of the character of `length` bytes that `text` starts with.
std::uint32_t utf8_code(std::string_view text, std::size_t length);

// Returns true if `text` starts with a character that a terminal or a viewer interprets instead of
// showing. These are C0, DEL, C1 in UTF-8, and Unicode marks that end lines, reverse text or have
// no width.
bool is_control(std::string_view text);

// Appends an escape to `out`: '\\', the letter `kind`, then `code` in hexadecimal, `digits` long.
void append_code(std::string& out, char kind, std::uint32_t code, int digits);

// Returns the length of the terminal escape sequence at the start of `text`. `text` must start with
// ESC.
std::size_t escape_length(std::string_view text);

}  // namespace base
