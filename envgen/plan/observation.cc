#include "envgen/plan/observation.h"

namespace envgen {

bool has_watches(const Observation& observe) {
  return observe.perf_threshold_ppm > 0 || observe.stall_ms > 0 || observe.health_interval_ms > 0;
}

}  // namespace envgen
