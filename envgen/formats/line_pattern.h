#pragma once
// Numbers in the lines that a job prints. A pattern is a literal with the names of numbers in
// braces, as in "iteration {step}/", each behind a text; it fits anywhere in a line. Runs of blanks
// are equal whatever their length, and terminal escapes are as if they were not there.
//
// A count is digits, at most 18 of them, with a comma or an underscore between groups of three or
// without: 12500, 12,500. Where the pattern goes on with a comma, one is the pattern's if that
// fits; at the pattern's end it is the last of "12,500, loss" and the first of "12,500,0.25". A
// decimal has at most 9 digits before the point; of those behind it six count. A number that a
// letter, a digit or another part of a number follows is none, unless the pattern goes on with
// that.

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
inline constexpr std::size_t kMaxWatchedLineBytes = 64U << 10;  // a longer line is passed over

struct LineNumber {
  std::string_view name;
  bool decimal = false;  // in millionths; else a count
};
inline constexpr std::size_t kMaxLineNumbers = 2;
// By the place of the number's name in the list that the pattern was read with.
using LineNumbers = std::array<std::int64_t, kMaxLineNumbers>;

struct LinePattern {
  struct Part {
    std::size_t number = 0;
    bool decimal = false;
    std::string behind;  // the text up to the next number, or to the end; blanks are single
  };
  std::string head;
  std::vector<Part> parts;
  std::string anchor;         // a piece of `head`: a line without it is none
  std::size_t anchor_at = 0;  // in `head`

  [[nodiscard]] bool has(std::size_t number) const;
};
// `text` names each of `known` once at most, and one of them at least. An error says what is wrong
// as `found`.
Result<LinePattern> parse_line_pattern(std::string_view text, std::span<const LineNumber> known);

// "0.5" -> 500000. nullopt: no such decimal, or too large.
std::optional<std::int64_t> parse_decimal(std::string_view text);

// The first place of a line where the pattern fits. Numbers that it does not name are 0.
std::optional<LineNumbers> match_line(const LinePattern& pattern, std::string_view line);

// Bytes in, matches out, in the order of their lines, wherever the bytes are cut. A line ends with
// "\n" or "\r".
class LineScanner {
 public:
  using Found = std::function<void(std::size_t pattern, const LineNumbers& numbers)>;

  explicit LineScanner(std::vector<LinePattern> patterns) : patterns_(std::move(patterns)) {}

  void add(std::string_view bytes, const Found& found);
  // What came is not continued by what comes next.
  void forget();

 private:
  void search(std::string_view lines, const Found& found) const;

  std::vector<LinePattern> patterns_;
  std::string begun_;     // of a line, without its end
  bool passing_ = false;  // a line that is too long: to its end
};

}  // namespace envgen
