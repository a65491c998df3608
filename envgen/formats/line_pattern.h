#pragma once
// Finds numbers in the lines that a job prints. A pattern is a text with names of numbers in
// braces, as in "iteration {step}/". Text must precede each number. A pattern matches anywhere in a
// line. Runs of blanks match whatever their length, and terminal escapes are ignored.
//
// A count has at most 18 digits, with or without a comma or an underscore between groups of three:
// 12500, 12,500. If the pattern continues with a comma, a comma in the line can belong to the
// number or to the pattern. The pattern gets it if the rest then fits. If that comma ends the
// pattern, it is the last one in "12,500, loss" and the first one in "12,500,0.25". A decimal has
// at most 9 digits before the point; only six of the digits after the point are used. A number must
// not be followed by a letter, a digit or another part of a number, unless the pattern continues
// with that.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

inline constexpr std::size_t kMaxPatternBytes = 512;
inline constexpr std::size_t kMaxWatchedLineBytes = 64U << 10;  // longer lines are ignored

struct LineNumber {
  std::string_view name;
  bool decimal = false;  // true: a decimal, whose value is in millionths; false: a count
};
inline constexpr std::size_t kMaxLineNumbers = 2;
// The numbers of a line, in the order of the names that parse_line_pattern() got.
using LineNumbers = std::array<std::int64_t, kMaxLineNumbers>;

struct LinePattern {
  struct Part {
    std::size_t number = 0;
    bool decimal = false;
    std::string behind;  // text after the number, up to the next one or to the end; blanks are
                         // single
  };
  std::string head;
  std::vector<Part> parts;
  std::string anchor;  // part of `head` by which lines are searched: every matching line contains
                       // it
  std::size_t anchor_at = 0;  // where `anchor` begins in `head`

  [[nodiscard]] bool has(std::size_t number) const;
};
// Parses a pattern. `text` must contain at least one of `known`, and each of them at most once. The
// error's `found` says what is wrong.
base::Result<LinePattern> parse_line_pattern(std::string_view text,
                                             std::span<const LineNumber> known);

// Converts "0.5" to 500000. Returns nullopt if `text` is not such a decimal, or too large.
std::optional<std::int64_t> parse_decimal(std::string_view text);

// Returns the numbers at the first match in the line, or nullopt. A number that the pattern lacks
// is 0.
std::optional<LineNumbers> match_line(const LinePattern& pattern, std::string_view line);

// Searches matches in bytes that arrive in pieces of any size, and reports them in the order of the
// lines. A line ends with "\n" or "\r".
class LineScanner {
 public:
  using Found = std::function<void(std::size_t pattern, const LineNumbers& numbers)>;

  explicit LineScanner(std::vector<LinePattern> patterns) : patterns_(std::move(patterns)) {}

  void add(std::string_view bytes, const Found& found);
  // Drops the incomplete line. The next bytes then begin a new line.
  void forget();

 private:
  void search(std::string_view lines, const Found& found) const;

  std::vector<LinePattern> patterns_;
  std::string begun_;     // the incomplete line so far
  bool passing_ = false;  // the current line is too long, and is skipped up to its end
};

}  // namespace envgen
