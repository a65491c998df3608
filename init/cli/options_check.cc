#include <tuple>

#include "base/text.h"
#include "envgen/plan/dataset.h"
#include "envgen/resolve/restart_policy.h"
#include "init/cli/options.h"
#include "init/cli/values/values.h"
#include "init/copy/path_filter.h"

namespace cli {
namespace {

using envgen::Request;

base::Status contradiction(const Given& given, std::string found, std::string fix) {
  return base::fail("reading the options", given.where, std::move(found), std::move(fix));
}

// Refuses two flags that contradict each other. With a variable there is no contradiction, because
// the flag has priority.
base::Status check_fan_out(const Options& options) {
  const Given* fan_out = find_given(options, "fan-out");
  const Given* framework = find_given(options, "framework");
  if (fan_out == nullptr || framework == nullptr) return {};
  if (!parse_switch(fan_out->value).value_or(false) || fan_out->layer == 0 ||
      fan_out->layer != framework->layer)
    return {};
  if (framework->value == "pytorch") return {};
  return contradiction(*fan_out, framework->where + " " + framework->value + " beside it",
                       "leave one of them out: --fan-out starts the ranks of pytorch");
}

// A job that saves and is rescheduled is not also restarted. Parameters of the lower layer are
// dropped. A mapped signal is not dropped: the platform sends it, and unmapped it would kill the
// job.
base::Status check_restarts_or_checkpoints(Options& options) {
  Request& request = options.request;
  const Given* restarts = find_given(options, "max-restarts");
  if (restarts == nullptr || request.max_restarts.value_or(0) == 0) return {};
  bool dropped = false;
  for (const char* name : {"signal", "checkpoint-signal", "checkpoint-timeout"}) {
    const Given* other = find_given(options, name);
    const bool is_map = other != nullptr && other->name == "signal";
    if (other == nullptr || (is_map && !base::asks_for_checkpoint(request.policy.signals)))
      continue;
    if (other->layer > restarts->layer) {
      dropped = true;
    } else if (other->layer == restarts->layer || is_map) {
      return contradiction(
          *restarts, other->where + " " + other->value + " beside it",
          is_map
              ? "choose: restarts of the job, or checkpoint and continue; --max-restarts 0, or "
                "a --signal without checkpoint"
              : "choose: restarts of the job, or checkpoint and continue; leave one of them out");
    } else if (other->name == "checkpoint-signal") {
      request.checkpoint_signal.reset();
    } else {
      request.policy.checkpoint_ms = base::Policy{}.checkpoint_ms;
    }
  }
  if (dropped) request.max_restarts.reset();
  return {};
}

// Refuses an option that has no effect without another option. If the other one was turned off in
// the same or a higher layer (--max-restarts 0), no effect is intended, and there is no error.
base::Status check_need(const Options& options, const Given& given, const Need& need) {
  std::string wanted;
  for (const std::string_view name : need.any_of) {
    if (name.empty()) continue;
    const Given* other = find_given(options, name);
    if (other != nullptr && other->layer >= given.layer) return {};
    wanted += (wanted.empty() ? "--" : " or --") + std::string(name);
  }
  return contradiction(given, given.value + " without " + wanted,
                       "give " + wanted + " too, or leave it out");
}

base::Status check_needs(Options& options, const base::Environ& env) {
  for (const Option& option : option_table()) {
    if (option.need == nullptr) continue;
    const Given* given = find_given(options, option.name);
    if (given == nullptr || given->layer == 0) continue;  // a variable waits for its condition
    const auto is_on = option.kind().is_on;
    const bool off = is_on != nullptr && !is_on(options);
    if (off || option.need->met(options, env)) continue;
    TRY(check_need(options, *given, *option.need));
  }
  Request& request = options.request;
  if (request.policy.elastic) return {};
  request.min_nodes.reset();
  if (request.max_restarts.value_or(0) == 0) request.restart_across_nodes = false;
  return {};
}

// Refuses a save after which the job would not continue.
base::Status check_watches(Options& options) {
  envgen::Observation& observe = options.request.observe;
  const bool perf = observe.perf_threshold_ppm > 0;
  const Given* policy = find_given(options, "perf-policy");
  const Given* restarts = find_given(options, "max-restarts");
  const bool both = perf && observe.perf_reschedules && policy != nullptr &&
                    options.request.max_restarts.value_or(0) > 0 && restarts != nullptr;
  if (!both) return {};
  if (policy->layer == restarts->layer) {
    return contradiction(*policy, "reschedule, and " + restarts->where + " beside it",
                         "choose: restarts of the job, or checkpoint and continue; or give "
                         "--perf-policy alert");
  }
  if (policy->layer > restarts->layer) {
    options.request.max_restarts.reset();
  } else {
    observe.perf_reschedules = false;
  }
  return {};
}

base::Status check_data(const Options& options) {
  const envgen::DataRequest& data = options.request.data;
  TRY_ASSIGN(std::ignore, copy::PathFilter::make(data.include, data.exclude));
  TRY_ASSIGN(std::ignore, envgen::datasets_of(data));
  return {};
}

// Refuses a drain that is not shorter than the grace. Both begin at the stop request, so the job
// would have no time left.
base::Status check_drain(const Options& options, const base::Environ& env) {
  const Given* drain = find_given(options, "drain");
  const std::int64_t drain_ms = options.request.policy.drain_ms;
  const std::int64_t grace_ms = envgen::policy_of(env, options.request).grace_ms;
  if (drain == nullptr || drain_ms == 0 || drain_ms < grace_ms) return {};
  const Given* grace = find_given(options, "grace");
  return contradiction(
      *drain,
      base::seconds(drain_ms) + ", and " +
          (grace != nullptr ? grace->where : std::string("the grace")) + " is " +
          base::seconds(grace_ms),
      "give a longer --grace or a shorter --drain: the drain is part of the grace");
}

}  // namespace

base::Status check_options(Options& options, const base::Environ& env) {
  TRY(check_fan_out(options));
  TRY(check_restarts_or_checkpoints(options));
  TRY(check_watches(options));
  TRY(check_needs(options, env));
  TRY(check_data(options));
  return check_drain(options, env);
}

}  // namespace cli
