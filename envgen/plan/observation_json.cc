#include "envgen/plan/observation_json.h"

#include "base/text.h"
#include "envgen/formats/perf_line.h"
#include "envgen/plan/policy_json.h"

namespace envgen {
namespace {

std::string lines_text(int count) {
  return count == 1 ? "a line" : std::to_string(count) + " lines in succession";
}

std::string rounds_text(int count) {
  return count == 1 ? "a failed round saves the job and ends it with exit code 75"
                    : std::to_string(count) +
                          " failed rounds in succession save the job and end it with exit code 75";
}

}  // namespace

void write_watches(base::json::Writer& out, const Observation& observe) {
  if (!has_watches(observe)) return;
  out.key("watches").begin_object();
  if (observe.perf_threshold_ppm > 0) {
    out.key("performance").begin_object();
    out.key("threshold").string(millionths_text(observe.perf_threshold_ppm));
    out.key("pattern").string(observe.perf_pattern.empty() ? kUsualPerfPattern
                                                           : observe.perf_pattern);
    out.key("count").integer(observe.perf_count);
    out.key("policy").string(observe.perf_reschedules ? "reschedule" : "alert");
    out.end_object();
  }
  if (!observe.progress.empty()) {
    out.key("progress").begin_array();
    for (const std::string& pattern : observe.progress) out.string(pattern);
    out.end_array();
  }
  if (observe.stall_ms > 0) {
    out.key("stall").begin_object();
    out.key("timeout_ms").integer(observe.stall_ms);
    out.key("on").string(observe.stall_by_output ? "output" : "both");
    out.key("action").string(observe.stall_ends ? "end" : "report");
    out.end_object();
  }
  if (observe.health_interval_ms > 0) {
    out.key("health").begin_object();
    out.key("interval_ms").integer(observe.health_interval_ms);
    out.key("checks").string(observe.health_checks);
    out.key("failures").integer(observe.health_failures);
    out.end_object();
  }
  out.end_object();
}

base::ShownLines watches_text(const Observation& observe) {
  base::ShownLines lines;
  if (observe.perf_threshold_ppm > 0) {
    lines.add({"watches performance: hardware / e2e above ",
               millionths_text(observe.perf_threshold_ppm), " in ", lines_text(observe.perf_count),
               observe.perf_reschedules ? " saves the job and ends it with exit code 75"
                                        : " is an alert"});
  }
  for (const std::string& pattern : observe.progress) {
    lines.add({"watches progress: lines with \"", pattern, "\""});
  }
  if (observe.stall_ms > 0) {
    lines.add({"watches for stalls: no output", observe.stall_by_output ? "" : " and no CPU time",
               observe.progress.empty() ? "" : ", of ranks that tell their steps no new one,",
               " for ", base::seconds(observe.stall_ms),
               observe.stall_ends ? " fails the job with exit code 70" : " is reported"});
  }
  if (observe.health_interval_ms > 0) {
    lines.add({"watches health: each ", base::seconds(observe.health_interval_ms),
               observe.health_checks.empty() ? "" : ", checks ", observe.health_checks, "; ",
               rounds_text(observe.health_failures)});
  }
  return lines;
}

}  // namespace envgen
