#pragma once
// What two texts have differently, as diff -u shows it, and the comparison of a text with a golden
// file.

#include <string>

namespace golden {

// Returns "" for equal texts. Otherwise returns the lines that only `old` ("-") or only `now` ("+")
// has, with three lines around them and the place of each part.
std::string difference(const std::string& old, const std::string& now);

// Compares `text` with the file of this path below the golden files, and shows the difference. With
// TRAINIT_UPDATE_GOLDEN=1 writes the file first.
void expect_file(const std::string& name, const std::string& text);

}  // namespace golden
