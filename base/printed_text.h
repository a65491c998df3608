#pragma once
// What a terminal would show of bytes that a program printed.

#include <cstddef>
#include <string>
#include <string_view>

namespace envgen {

// A line without terminal escapes, control characters and blanks at its end; a tab is a space, what
// is no UTF-8 a '?'.
std::string plain_text(std::string_view line);

// Appends the character that `text`, which is not empty, starts with, and returns its bytes. A
// control character and a byte that is no UTF-8 become "\n", "\x1b" or "\u202e" in text: they
// cannot end, begin, repaint or reverse a line.
std::size_t append_escaped(std::string_view text, std::string& out);
// Returns all of `text` so.
std::string escaped_text(std::string_view text);

// Returns the last line that is not blank, without blanks at its ends and with control characters
// as in escaped_text; at most 300 bytes of it.
std::string last_line(std::string_view text);

// The first `most_bytes` bytes, cut between UTF-8 characters.
std::string_view cut_text(std::string_view text, std::size_t most_bytes);

}  // namespace envgen
