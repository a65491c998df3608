#pragma once
// Lines of a fixed width for a terminal or a log, made of untrusted texts.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/shown_lines.h"

namespace envgen {

inline constexpr std::size_t kColumns = 80;

// Returns the number of columns that `text` takes on a terminal.
std::size_t columns_of(std::string_view text);

// Returns `text` in at most `columns` columns: "..." replaces its middle.
std::string shortened(std::string_view text, std::size_t columns);

// Returns `text` in at most `columns` columns: "..." replaces its end.
std::string cut_to(std::string_view text, std::size_t columns);

// The fate of a word that is wider than a line.
enum class LongWord : unsigned char { kShorten, kKeep };

// Adds `text` with `head` in front of its first line. The lines break at blanks, and the later ones
// begin below the text. Credentials are masked and control characters escaped before the text is
// broken, so that no line end hides a part of them.
void add_paragraph(base::ShownLines& lines, std::string_view head, std::string_view text,
                   LongWord long_word = LongWord::kShorten);

}  // namespace envgen
