#pragma once
// The text of a job's state for a person: the output of `trainit status`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "init/engine/state/state.h"

namespace engine {

struct TextStyle {
  bool colour = false;    // use terminal escapes for colours
  std::size_t width = 0;  // maximum of columns of a table row; 0 = no limit
  bool timeline = false;  // the run directory has a timeline, so the text may name `trainit report`
};

// Returns the state as a person reads it at `now_ms` (wall clock, UTC).
std::string state_to_text(const JobReport& report, std::int64_t now_ms, TextStyle style = {});

// Returns for example "median step 120, slowest rank-3 at 100, 20 behind" about the tasks that
// report steps, and the lowest saved step of all ranks. Returns "" if no task reports steps.
std::string steps_text(const std::vector<TaskReport>& tasks);

// Returns a span in its two largest units, rounded down: "2h 5m", "4m 10s", "12s". Returns "0s" for
// less than a second.
std::string span_text(std::int64_t ms);
// Returns the time since `since_ms` as " (1m 20s)". Returns "" for less than a second, or if
// `since_ms` is 0.
std::string since_text(std::int64_t since_ms, std::int64_t now_ms);
// Returns " in 8s" or " in 100 ms"; "" if `ms` is not positive.
std::string until_text(std::int64_t ms);

}  // namespace engine
