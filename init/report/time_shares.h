#pragma once
// Where the time of a run went, on one node: shares that add up to the whole. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "init/report/chart.h"

namespace report {

// Each instant has one: the first of these that holds.
enum class TimeShare : unsigned char {
  kLost,     // from the stop for a failure until the job runs again, or to the end
  kRunning,  // the main processes run
  kHooks,    // any hook
  kWaiting,  // for nodes, peers, the rank table, devices
  kData,     // a dataset is copied
  kStarting,
  kStopping,
};
inline constexpr std::size_t kTimeShares = 7;

std::string_view share_name(TimeShare share);  // "lost to failures"
// By TimeShare, in milliseconds; their sum is the chart's end_ms - begin_ms.
using TimeShares = std::array<std::int64_t, kTimeShares>;

TimeShares time_shares_of(const Chart& chart);

}  // namespace report
