#pragma once
// The shares of a node's time in a run, which add up to the whole time. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "init/report/chart.h"
#include "init/report/progress.h"

namespace report {

// The use of an instant. If several apply, the first one counts.
enum class TimeShare : unsigned char {
  kLost,     // lost steps; from the stop after a failure until the job runs again, or to the end
  kRunning,  // the main processes run
  kHooks,    // a hook runs
  kWaiting,  // waiting for nodes, peers, the rank table, devices
  kData,     // a dataset is copied
  kStarting,
  kStopping,
};
inline constexpr std::size_t kTimeShares = 7;

std::string_view share_name(TimeShare share);  // returns "lost to failures"
// Milliseconds, by TimeShare; their sum is the chart's end_ms - begin_ms.
using TimeShares = std::array<std::int64_t, kTimeShares>;

// `lost`: times in which the job did steps that a failure has made worthless.
TimeShares time_shares_of(const Chart& chart, const std::vector<Interval>& lost = {});

}  // namespace report
