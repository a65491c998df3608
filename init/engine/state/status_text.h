#pragma once
// The state of a job as a person reads it: what `trainit status` prints.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "init/engine/state/state.h"

namespace engine {

struct TextStyle {
  bool colour = false;    // by terminal escapes
  std::size_t width = 0;  // columns that a row of the table may have; 0 = any number
  bool timeline = false;  // there is one of this run, which `trainit report` tells
};

// For a person who reads it at `now_ms` (wall clock, UTC).
std::string state_to_text(const JobReport& report, std::int64_t now_ms, TextStyle style = {});

// "median step 120, slowest rank-3 at 100, 20 behind", of the tasks that tell their steps; "" where
// none does. The saved one is that of the rank which is the least far.
std::string steps_text(const std::vector<TaskReport>& tasks);

// "2h 5m", "4m 10s", "12s": a span by its two largest units, rounded down. 0s for less, or none.
std::string span_text(std::int64_t ms);
// " (1m 20s)": for how long; "" for less than a second, or where `since_ms` is 0.
std::string since_text(std::int64_t since_ms, std::int64_t now_ms);
// " in 8s", " in 100 ms", "" where it is now.
std::string until_text(std::int64_t ms);

}  // namespace engine
