#pragma once
// Output of programs as a terminal would show it.

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

// Returns a line without terminal escapes, control characters and blanks at its end. A tab becomes
// a space, and a byte that is not UTF-8 becomes '?'.
std::string plain_text(std::string_view line);

// Appends the first character of `text` to `out` and returns its size in `text`. `text` must not be
// empty. A control character, or a byte that is not UTF-8, is appended as an escape: "\n", "\x1b",
// "\u202e". So the result cannot begin, end, repaint or reverse a line of a log.
std::size_t append_escaped(std::string_view text, std::string& out);
// Returns `text` with the escapes of append_escaped() for each character.
std::string escaped_text(std::string_view text);

// Returns at most 300 bytes of the last line that is not blank. Blanks at its ends are removed, and
// control characters are escaped as in escaped_text().
std::string last_line(std::string_view text);

// Returns the beginning of `text`, at most `most_bytes` long, without cutting a UTF-8 character.
std::string_view cut_text(std::string_view text, std::size_t most_bytes);

}  // namespace base
