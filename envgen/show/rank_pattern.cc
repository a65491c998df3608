#include "envgen/show/rank_pattern.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace envgen {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Splits a value into its runs of digits and of other characters.
std::vector<std::string_view> runs_of(std::string_view value) {
  std::vector<std::string_view> runs;
  for (std::size_t at = 0; at < value.size();) {
    std::size_t end = at + 1;
    while (end < value.size() && is_digit(value[end]) == is_digit(value[at])) ++end;
    runs.push_back(value.substr(at, end - at));
    at = end;
  }
  return runs;
}

// Returns the number that `run` is written as, without leading zeros.
std::optional<std::uint32_t> number_of(std::string_view run) {
  if (!is_digit(run[0]) || (run.size() > 1 && run[0] == '0')) return std::nullopt;
  return base::parse_count<std::uint32_t>(run);
}

}  // namespace

std::string pattern_of(const std::vector<std::string>& values) {
  std::vector<std::vector<std::string_view>> rows;
  rows.reserve(values.size());
  for (const std::string& value : values) rows.push_back(runs_of(value));
  std::string pattern;
  const std::size_t count = rows.empty() ? 0 : rows[0].size();
  for (std::size_t column = 0; column < count; ++column) {
    const std::string_view first = rows[0][column];
    const auto number = number_of(first);
    bool equal = true;
    bool counts = number.has_value();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].size() != count) return {};
      const std::string_view run = rows[i][column];
      equal = equal && run == first;
      counts = counts && number_of(run) == *number + i;
    }
    if (!equal && !counts) return {};
    if (equal) {
      pattern += first;
    } else {
      const bool alone = count == 1;
      pattern += base::concat(
          {alone ? "" : "{", first, alone ? "-" : "..", rows.back()[column], alone ? "" : "}"});
    }
  }
  const bool fit =
      std::ranges::all_of(rows, [count](const auto& row) { return row.size() == count; });
  return fit ? pattern : std::string();
}

std::vector<std::string> differing_words(const std::vector<std::string>& values,
                                         std::string& common) {
  std::vector<std::vector<std::string_view>> rows;
  rows.reserve(values.size());
  for (const std::string& value : values) rows.push_back(base::split(value, ' '));
  common.clear();
  std::vector<std::string> others(values.size());
  const std::size_t count = rows.empty() ? 0 : rows[0].size();
  for (const auto& row : rows) {
    if (row.size() != count) return values;
  }
  for (std::size_t column = 0; column < count; ++column) {
    const std::string_view first = rows[0][column];
    const bool equal =
        std::ranges::all_of(rows, [&](const auto& row) { return row[column] == first; });
    common += column == 0 ? "" : " ";
    common += equal ? first : "...";
    for (std::size_t i = 0; !equal && i < rows.size(); ++i) {
      if (!others[i].empty()) others[i] += ' ';
      others[i] += rows[i][column];
    }
  }
  return others;
}

}  // namespace envgen
