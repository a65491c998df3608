#include <algorithm>
#include <initializer_list>

#include "envgen/plan/dataset.h"
#include "envgen/plan/policy_json.h"
#include "envgen/resolve/resolve.h"
#include "init/cli/options.h"
#include "init/cli/values.h"
#include "init/copy/path_filter.h"

namespace cli {
namespace {

using envgen::Request;
using envgen::seconds;

const Given* find_given(const Options& options, std::string_view name) {
  const auto found = std::find_if(options.given.rbegin(), options.given.rend(),
                                  [name](const Given& one) { return one.name == name; });
  return found == options.given.rend() ? nullptr : &*found;
}

envgen::Status contradiction(const Given& given, std::string found, std::string fix) {
  return envgen::fail("reading the options", given.where, std::move(found), std::move(fix));
}

// Of two flags. A variable is another matter: the flag says what is meant.
envgen::Status check_fan_out(const Options& options) {
  const Given* fan_out = find_given(options, "fan-out");
  const Given* framework = find_given(options, "framework");
  if (fan_out == nullptr || framework == nullptr) return {};
  bool on = false;
  set_switch(fan_out->value, on);
  if (!on || fan_out->layer == 0 || fan_out->layer != framework->layer) return {};
  if (framework->value == "pytorch") return {};
  return contradiction(*fan_out, framework->where + " " + framework->value + " beside it",
                       "leave one of them out: --fan-out starts the ranks of pytorch");
}

// A job that saves and is rescheduled does not restart by itself. Parameters of the weaker side are
// dropped; a signal that the platform sends is not: unmapped it would kill the job.
envgen::Status check_restarts_or_checkpoints(Options& options) {
  Request& request = options.request;
  const Given* restarts = find_given(options, "max-restarts");
  if (restarts == nullptr || request.max_restarts.value_or(0) == 0) return {};
  bool dropped = false;
  for (const char* name : {"signal", "checkpoint-signal", "checkpoint-timeout"}) {
    const Given* other = find_given(options, name);
    const bool is_map = other != nullptr && other->name == "signal";
    if (other == nullptr || (is_map && !envgen::asks_for_checkpoint(request.signals))) continue;
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
      request.checkpoint_timeout_ms.reset();
    }
  }
  if (dropped) request.max_restarts.reset();
  return {};
}

struct Need {
  std::string_view name;
  bool used;  // it has a value that would do something
  std::initializer_list<std::string_view> any_of;
  bool met;
};

// An option that does nothing without another one. Where that one was turned off at least as
// strongly (--max-restarts 0), nothing is what was meant.
envgen::Status check_need(const Options& options, const Need& need) {
  const Given* given = find_given(options, need.name);
  if (given == nullptr || !need.used || need.met) return {};
  std::string wanted;
  for (const std::string_view name : need.any_of) {
    const Given* other = find_given(options, name);
    if (other != nullptr && other->layer >= given->layer) return {};
    wanted += (wanted.empty() ? "--" : " or --") + std::string(name);
  }
  return contradiction(*given, given->value + " without " + wanted,
                       "give " + wanted + " too, or leave it out");
}

envgen::Status check_needs(Options& options) {
  Request& request = options.request;
  const bool restarts = request.max_restarts.value_or(0) > 0;
  const bool meets = request.restart_across_nodes || request.elastic;
  const Need needs[] = {
      {"min-nodes", true, {"elastic"}, request.elastic},
      {"restart-across-nodes",
       request.restart_across_nodes,
       {"max-restarts", "elastic"},
       restarts || request.elastic},
      {"log-keep", true, {"log-max-size"}, request.observe.log_max_bytes > 0},
      {"no-restart-on", true, {"max-restarts"}, restarts},
      {"restart-delay", true, {"max-restarts"}, restarts},
      {"restart-window", true, {"restart-across-nodes", "elastic"}, meets},
  };
  for (const Need& need : needs) {
    if (auto status = check_need(options, need); !status) return status;
  }
  if (!request.elastic) request.min_nodes.reset();
  if (!restarts && !request.elastic) request.restart_across_nodes = false;
  return {};
}

// What only has a meaning with another option, and a save with nobody to go on for it.
envgen::Status check_watches(Options& options) {
  envgen::Observation& observe = options.request.observe;
  const bool perf = observe.perf_threshold_ppm > 0;
  const bool stall = observe.stall_ms > 0;
  const Need needs[] = {
      {"perf-policy", observe.perf_reschedules, {"perf-threshold"}, perf},
      {"perf-pattern", true, {"perf-threshold"}, perf},
      {"perf-count", true, {"perf-threshold"}, perf},
      {"stall-on", observe.stall_by_output, {"stall-timeout"}, stall},
      {"stall-action", observe.stall_ends, {"stall-timeout"}, stall},
  };
  for (const Need& need : needs) {
    if (auto status = check_need(options, need); !status) return status;
  }
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

// What is asked of a copy without anything to copy. As a variable it is the default of an image or
// a platform, for the jobs that have datasets; and a variable for these that is empty says that
// this one has none.
envgen::Status check_data(const Options& options, const envgen::Environ& env) {
  const envgen::DataRequest& data = options.request.data;
  const bool met = !data.specs.empty() || env.get("TRAINIT_DATA");
  for (const char* name : {"data-root", "data-version", "include", "exclude", "verify", "durable",
                           "data-link", "data-on-failure", "data-timeout", "data-workers",
                           "data-headroom", "cache-ttl", "cache-max-size"}) {
    const Given* given = find_given(options, name);
    const bool flag = given != nullptr && given->layer > 0;
    if (auto status = check_need(options, {name, flag, {"data"}, met}); !status) {
      return status;
    }
  }
  const auto patterns = envgen::PathFilter::make(data.include, data.exclude);
  if (!patterns) return std::unexpected(patterns.error());
  const auto datasets = envgen::datasets_of(data);
  if (!datasets) return std::unexpected(datasets.error());
  return {};
}

// The grace counts from the stop request: a drain as long would leave the job nothing of it.
envgen::Status check_drain(const Options& options, const envgen::Environ& env) {
  const Given* drain = find_given(options, "drain");
  const std::int64_t drain_ms = options.request.drain_ms;
  const std::int64_t grace_ms = envgen::early_policy(env, options.request).grace_ms;
  if (drain == nullptr || drain_ms == 0 || drain_ms < grace_ms) return {};
  const Given* grace = find_given(options, "grace");
  return contradiction(
      *drain,
      seconds(drain_ms) + ", and " + (grace != nullptr ? grace->where : std::string("the grace")) +
          " is " + seconds(grace_ms),
      "give a longer --grace or a shorter --drain: the drain is part of the grace");
}

}  // namespace

envgen::Status check_options(Options& options, const envgen::Environ& env) {
  if (auto status = check_fan_out(options); !status) return status;
  if (auto status = check_restarts_or_checkpoints(options); !status) return status;
  if (auto status = check_watches(options); !status) return status;
  if (auto status = check_needs(options); !status) return status;
  if (auto status = check_data(options, env); !status) return status;
  return check_drain(options, env);
}

}  // namespace cli
