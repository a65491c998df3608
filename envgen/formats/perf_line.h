#pragma once
// The line by which a training job tells how long an iteration took, found in what a rank prints.
// A pattern is a literal with {hardware} and {e2e}, each once, behind a text. Runs of blanks are
// equal whatever their length. The two are decimal numbers with at most 9 digits before the point;
// of those behind it six count. An e2e of 0, or a number with anything else in it, is no match.
//
// Source: the task-training platform's performance check, whose line is kUsualPerfPattern.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

inline constexpr std::string_view kUsualPerfPattern =
    "this iteration hardware time is {hardware} and e2e time is {e2e} ms.";
inline constexpr std::size_t kMostPatternBytes = 512;
inline constexpr std::size_t kMostPerfLineBytes = 64U << 10;  // a longer line is passed over

// In millionths of the line's unit.
struct PerfTimes {
  std::int64_t hardware = 0;
  std::int64_t e2e = 1;

  // hardware / e2e in parts per million, rounded down; at most a million of millions.
  [[nodiscard]] std::int64_t ratio_ppm() const;
  bool operator==(const PerfTimes&) const = default;
};

// "0.5" -> 500000. nullopt: no such number, or too large.
std::optional<std::int64_t> parse_millionths(std::string_view text);
// 663500 -> "0.6635"; at least one digit behind the point.
std::string millionths_text(std::int64_t value);

struct PerfPattern {
  bool hardware_first = true;
  std::string head;    // before the first number; blanks are single
  std::string middle;  // between them
  std::string tail;    // behind the second
  std::string anchor;  // a word of `head`: a line without it is none
};
// "" = the usual one.
Result<PerfPattern> parse_perf_pattern(std::string_view text);

// The first place of a line where the pattern fits.
std::optional<PerfTimes> match_perf_line(const PerfPattern& pattern, std::string_view line);

// Bytes in, matches out, wherever the bytes are cut. A line ends with "\n" or "\r".
class PerfScanner {
 public:
  explicit PerfScanner(PerfPattern pattern) : pattern_(std::move(pattern)) {}

  void add(std::string_view bytes, const std::function<void(const PerfTimes&)>& found);
  // What came is not continued by what comes next.
  void forget();

 private:
  void search(std::string_view lines, const std::function<void(const PerfTimes&)>& found) const;

  PerfPattern pattern_;
  std::string begun_;     // of a line, without its end
  bool passing_ = false;  // a line that is too long: to its end
};

}  // namespace envgen
