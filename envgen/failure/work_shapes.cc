#include "envgen/failure/work_shapes.h"

#include <algorithm>
#include <utility>

namespace envgen {
namespace {

constexpr std::size_t kMaxShapes = 1024;
constexpr std::size_t kMaxShapeBytes = 160;
constexpr std::size_t kMaxNumbers = 8;
// Number of lines that prove progress: kAdvances lines in which a number increases, or kChanges
// lines in which numbers only differ. The latter are more, because ranks that print the same step
// also cause such lines.
constexpr std::size_t kAdvances = 3;
constexpr std::size_t kChanges = 8;
// Number of advances that a new shape needs. If the shape has only one number, it may be a list
// that a process prints at its exit, so more are needed.
constexpr std::size_t kFirstAdvances = 5;
constexpr std::size_t kListAdvances = 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the number at `at` ("1893", "13.66"), and moves `at` after it.
double take_number(std::string_view text, std::size_t& at) {
  double value = 0;
  double scale = 0;
  for (; at < text.size(); ++at) {
    if (is_digit(text[at])) {
      const double digit = text[at] - '0';
      value = scale == 0 ? value * 10 + digit : value + digit * scale;
      scale /= 10;
    } else if (text[at] == '.' && scale == 0 && at + 1 < text.size() && is_digit(text[at + 1])) {
      scale = 0.1;
    } else {
      break;
    }
  }
  return value;
}

// Returns the text with `#` for each number, and one character for each run of equal characters:
// progress bars grow, and columns are padded with blanks. A run of non-ASCII bytes becomes one `~`.
std::string shape_of(std::string_view text, std::vector<double>& numbers) {
  std::string shape;
  for (std::size_t at = 0; at < text.size() && shape.size() < kMaxShapeBytes;) {
    char c = text[at];
    if (is_digit(c)) {
      const double value = take_number(text, at);
      if (numbers.size() < kMaxNumbers) numbers.push_back(value);
      shape += '#';
      continue;
    }
    ++at;
    if ((static_cast<unsigned char>(c) & 0x80U) != 0) c = '~';
    if (!shape.ends_with(c)) shape += c;
  }
  return shape;
}

std::size_t count_in(const std::vector<std::size_t>& lines, std::size_t from, std::size_t to) {
  const auto first = std::ranges::upper_bound(lines, from);
  const auto end = std::ranges::lower_bound(lines, to);
  return first < end ? static_cast<std::size_t>(end - first) : 0;
}

}  // namespace

bool WorkShapes::take(std::string_view stream, std::string_view text, std::size_t line) {
  std::vector<double> numbers;
  const std::string shape = shape_of(text, numbers);
  const std::string key = std::string(stream) + '\n' + shape;
  const auto known = shapes_.find(key);
  if (known == shapes_.end()) {
    if (shapes_.size() < kMaxShapes && !numbers.empty()) {
      shapes_[key] = {
          .stream = std::string(stream), .first = line, .last = numbers, .top = std::move(numbers)};
    }
    return false;
  }
  Shape& seen = known->second;
  bool advanced = false;
  for (std::size_t i = 0; i < std::min(numbers.size(), seen.top.size()); ++i) {
    if (numbers[i] <= seen.top[i]) continue;
    seen.top[i] = numbers[i];
    advanced = true;
  }
  if (advanced) seen.advances.push_back(line);
  if (numbers != seen.last) seen.changes.push_back(line);
  seen.last = std::move(numbers);
  return advanced;
}

bool WorkShapes::went_on(std::size_t from, std::size_t to) const {
  return std::ranges::any_of(shapes_, [&](const auto& entry) {
    return count_in(entry.second.advances, from, to) >= kAdvances ||
           count_in(entry.second.changes, from, to) >= kChanges;
  });
}

bool WorkShapes::resumed(std::string_view stream, std::size_t from, std::size_t to) const {
  return std::ranges::any_of(shapes_, [&](const auto& entry) {
    const Shape& shape = entry.second;
    if (shape.stream != stream) return false;
    const std::size_t first = shape.last.size() > 1 ? kFirstAdvances : kListAdvances;
    return count_in(shape.advances, from, to) >= (shape.first < from ? kAdvances : first);
  });
}

}  // namespace envgen
