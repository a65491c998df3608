#pragma once
// What a terminal would show of bytes that a program printed.

#include <cstddef>
#include <string>
#include <string_view>

namespace envgen {

// A line without terminal escapes, control characters and blanks at its end; a tab is a space, what
// is no UTF-8 a '?'.
std::string plain_text(std::string_view line);

// The first `most_bytes` bytes, cut between UTF-8 characters.
std::string_view cut_text(std::string_view text, std::size_t most_bytes);

}  // namespace envgen
