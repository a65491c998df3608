#include "envgen/show/columns.h"

#include <algorithm>

#include "envgen/show/paragraph.h"

namespace envgen {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;

using Part = std::vector<const Column*>;

std::size_t width_of(const Column& column) {
  std::size_t width = columns_of(column.title);
  for (const std::string& cell : column.cells) width = std::max(width, columns_of(cell));
  return width;
}

void add_part(base::ShownLines& lines, const Part& part) {
  for (std::size_t row = 0; row <= part[0]->cells.size(); ++row) {
    const auto text_in = [row](const Column* column) -> const std::string& {
      return row == 0 ? column->title : column->cells[row - 1];
    };
    std::string head(kIndent, ' ');
    for (const Column* column : part) {
      if (column == part.back()) continue;
      const std::string& text = text_in(column);
      head += text;
      head.append(width_of(*column) - columns_of(text) + kGap, ' ');
    }
    add_paragraph(lines, head, text_in(part.back()));
  }
}

}  // namespace

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t width = kIndent;
  for (const Column& column : columns) width += width_of(column) + kGap;
  return width - kGap;
}

void add_columns(base::ShownLines& lines, const std::vector<Column>& columns) {
  const std::size_t first = kIndent + width_of(columns[0]);
  Part part{columns.data()};
  std::size_t used = first;
  for (std::size_t at = 1; at < columns.size(); ++at) {
    const std::size_t more = kGap + width_of(columns[at]);
    if (part.size() > 1 && used + more > kColumns) {
      add_part(lines, part);
      part.resize(1);
      used = first;
    }
    part.push_back(&columns[at]);
    used += more;
  }
  add_part(lines, part);
}

}  // namespace envgen
