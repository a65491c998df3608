#pragma once
// The state of a job as metrics, in the file RUN_DIR/metrics.prom. The format is OpenMetrics
// (https://prometheus.io/docs/specs/om/open_metrics_spec/). node_exporter's textfile collector
// reads Prometheus's older text format, so only the common part of both formats is used.

#include <cstdint>
#include <string>

#include "init/engine/state/state.h"

namespace engine {

inline constexpr const char* kMetricsFile = "metrics.prom";

// Returns the metrics for the time `now_ms` (wall clock, UTC).
std::string metrics_text(const JobReport& report, std::int64_t now_ms);

}  // namespace engine
