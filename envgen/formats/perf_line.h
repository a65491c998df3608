#pragma once
// The line in which a training job reports the time of an iteration: a LinePattern with {hardware}
// and {e2e}, both decimals. An e2e of 0 is not a time.
//
// Source: the task-training platform's performance check, whose line is kUsualPerfPattern.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/formats/line_pattern.h"

namespace envgen {

inline constexpr std::string_view kUsualPerfPattern =
    "this iteration hardware time is {hardware} and e2e time is {e2e} ms.";

// The two times of an iteration, in millionths of the unit that the line uses.
struct PerfTimes {
  std::int64_t hardware = 0;
  std::int64_t e2e = 1;

  // Returns hardware / e2e in parts per million, rounded down and limited to 10^12.
  [[nodiscard]] std::int64_t ratio_ppm() const;
  bool operator==(const PerfTimes&) const = default;
};

// Formats 663500 as "0.6635", with at least one digit after the point.
std::string millionths_text(std::int64_t value);

// Parses the value of --perf-pattern; "" means kUsualPerfPattern.
base::Result<LinePattern> parse_perf_pattern(std::string_view text);
// Returns the times in the numbers that a pattern of parse_perf_pattern() has matched. Returns
// nullopt if e2e is 0.
std::optional<PerfTimes> perf_times(const LineNumbers& numbers);

}  // namespace envgen
