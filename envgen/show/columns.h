#pragma once
// Columns of texts side by side, in lines of a terminal's width.

#include <cstddef>
#include <string>
#include <vector>

#include "base/shown_lines.h"

namespace envgen {

struct Column {
  std::string title;
  std::vector<std::string> cells;  // one for each row
};

// Returns the columns of a terminal that a line with all of `columns` takes.
std::size_t width_of(const std::vector<Column>& columns);

// Adds a line for the titles and for each row. If the columns need more than kColumns, the rest of
// them follows below, again behind the first column. A cell that is still too wide is continued in
// the next line. Requires columns, with the same number of cells.
void add_columns(base::ShownLines& lines, const std::vector<Column>& columns);

}  // namespace envgen
