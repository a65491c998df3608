#pragma once
// Output of programs as a terminal would show it.

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

// Returns a line without terminal escapes, control characters and trailing blanks. A tab becomes a
// space, and bytes that are not UTF-8 become '?'.
std::string plain_text(std::string_view line);

// Appends the first character of `text`, which must not be empty, and returns its size in bytes. A
// control character or a byte that is not UTF-8 is written as "\n", "\x1b" or "\u202e". The result
// therefore cannot end, begin, repaint or reverse a line.
std::size_t append_escaped(std::string_view text, std::string& out);
// Returns all of `text` with the escapes of append_escaped().
std::string escaped_text(std::string_view text);

// Returns at most 300 bytes of the last line that is not blank. Blanks at its ends are removed, and
// control characters are escaped as in escaped_text().
std::string last_line(std::string_view text);

// Returns at most the first `most_bytes` bytes, cut between UTF-8 characters.
std::string_view cut_text(std::string_view text, std::size_t most_bytes);

}  // namespace base
