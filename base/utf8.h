#pragma once
// Characters of bytes that may be anything: what a log shows of them.

#include <cstddef>
#include <string>
#include <string_view>

namespace sys {

// Bytes of the UTF-8 character that `text`, which is not empty, starts with; 0 when it starts with
// none.
std::size_t utf8_length(std::string_view text);

// `text` starts with a control character: C0, DEL, or C1 in UTF-8.
bool is_control(std::string_view text);

// For a terminal, which would obey them: a "?" for each control character.
std::string printable(std::string_view text);

}  // namespace sys
