#pragma once
// Text in HTML and SVG, where it is content or the value of an attribute.

#include <string>
#include <string_view>

namespace report {

// Control characters but newlines become "?", bytes that are no UTF-8 U+FFFD.
std::string escaped(std::string_view text);

}  // namespace report
