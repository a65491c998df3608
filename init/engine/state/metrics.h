#pragma once
// The state of a job as metrics: RUN_DIR/metrics.prom, in OpenMetrics
// (https://prometheus.io/docs/specs/om/open_metrics_spec/), of which only what Prometheus's older
// text format has as well is used: node_exporter's textfile collector reads that.

#include <cstdint>
#include <string>

#include "init/engine/state/state.h"

namespace engine {

inline constexpr const char* kMetricsFile = "metrics.prom";

// As it is at `now_ms`, wall clock, UTC.
std::string metrics_text(const JobReport& report, std::int64_t now_ms);

}  // namespace engine
