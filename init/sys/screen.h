#pragma once
// The screen: stderr as a terminal for one person, whose last line can be drawn over.

#include <string_view>

namespace sys {

// The sequence that erases the cursor's line.
inline constexpr std::string_view kEraseLine = "\r\x1b[K";

// Returns whether stderr is a terminal that can erase a line.
bool is_screen();
// Returns the width of the screen; 80 if the terminal does not report it.
int screen_columns();

}  // namespace sys
