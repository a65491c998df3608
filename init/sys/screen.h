#pragma once
// The screen: stderr, if it is a terminal on which the last line can be redrawn.

#include <string_view>

namespace sys {

// The escape sequence that erases the line of the cursor.
inline constexpr std::string_view kEraseLine = "\r\x1b[K";

// Returns whether stderr is a terminal that can erase a line.
bool is_screen();
// Returns the width of the screen; 80 if the terminal does not report it.
int screen_columns();

}  // namespace sys
