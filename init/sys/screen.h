#pragma once
// stderr as a screen for one person: whether a line there can be drawn over, and how wide it is.

#include <string_view>

namespace sys {

// Takes the line away on which the cursor is.
inline constexpr std::string_view kEraseLine = "\r\x1b[K";

// A terminal that knows how to erase a line.
bool is_screen();
// 80 where it does not say.
int screen_columns();

}  // namespace sys
