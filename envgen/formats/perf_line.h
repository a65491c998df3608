#pragma once
// The line by which a training job tells how long an iteration took: a LinePattern with {hardware}
// and {e2e}, both decimals. An e2e of 0 is no time.
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

// In millionths of the line's unit.
struct PerfTimes {
  std::int64_t hardware = 0;
  std::int64_t e2e = 1;

  // hardware / e2e in parts per million, rounded down; at most a million of millions.
  [[nodiscard]] std::int64_t ratio_ppm() const;
  bool operator==(const PerfTimes&) const = default;
};

// 663500 -> "0.6635"; at least one digit behind the point.
std::string millionths_text(std::int64_t value);

// "" = the usual one.
Result<LinePattern> parse_perf_pattern(std::string_view text);
// Of what such a pattern has found.
std::optional<PerfTimes> perf_times(const LineNumbers& numbers);

}  // namespace envgen
