#pragma once
// Escapes for HTML and SVG, in content and in values of attributes.

#include <string>
#include <string_view>

namespace report {

// Returns the text with markup characters escaped. Control characters except newlines become "?";
// bytes that are not UTF-8 become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace report
