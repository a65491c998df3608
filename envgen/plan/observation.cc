#include "envgen/plan/observation.h"

#include <algorithm>
#include <string>

namespace envgen {

bool has_watches(const Observation& observe) {
  return reads_lines(observe) || observe.stall_ms > 0 || observe.health_interval_ms > 0;
}

namespace {

// Returns whether a pattern contains this number. Each has one of two (formats/progress_line.h).
bool has_pattern_of(const Observation& observe, std::string_view number) {
  return std::ranges::any_of(observe.progress, [number](const std::string& pattern) {
    return pattern.find(number) != std::string::npos;
  });
}

}  // namespace

bool tells_steps(const Observation& observe) { return has_pattern_of(observe, "{step}"); }
bool tells_saved(const Observation& observe) { return has_pattern_of(observe, "{saved}"); }

bool reads_lines(const Observation& observe) {
  return observe.perf_threshold_ppm > 0 || !observe.progress.empty();
}

}  // namespace envgen
