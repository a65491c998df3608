#include "init/engine/policies.h"

#include <csignal>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "envgen/resolve/hooks.h"
#include "envgen/resolve/resolve.h"
#include "envgen/resolve/restart_policy.h"
#include "init/engine/resolve/collect.h"
#include "init/engine/tasks/job.h"
#include "init/proc/signals.h"
#include "init/sys/log.h"

namespace engine {
namespace {

std::string step_text(const base::EscalationStep& step) {
  return "--escalate: " + proc::signal_name(step.signal) + " after " + base::seconds(step.after_ms);
}

// Adds a warning for each step that a stop leaves out, or only the end after a failure. A rank that
// writes moves the KILL after a failure, so the step can still come.
void warn_of_late_steps(const base::Policy& policy, const base::Budget& stop,
                        std::vector<std::string>& warnings) {
  // If pre-stop hooks end early, more time is left, and the step can still come.
  const std::string left_out = stop.notify_at > stop.drained_at ? "can be left out" : "is left out";
  const bool fails_sooner = policy.failure_grace_ms > 0 && policy.failure_grace_ms < stop.kill_at;
  bool killed = false;
  for (const base::EscalationStep& step : policy.escalation) {
    if (killed || !in_time(step, stop, stop.notify_at)) {
      warnings.push_back(step_text(step) + " " + (killed ? "is left out" : left_out) +
                         ", because SIGKILL comes " +
                         (killed ? "before it"
                                 : base::seconds(stop.term_phase_ms) +
                                       " after the stop signal: give a longer --grace"));
      continue;
    }
    killed = step.signal == SIGKILL;
    if (fails_sooner && !killed && step.after_ms >= policy.failure_grace_ms) {
      warnings.push_back(step_text(step) +
                         " can be left out after a failure, because SIGKILL comes " +
                         base::seconds(policy.failure_grace_ms) +
                         " after the stop signal then: give a longer --failure-grace");
    }
  }
}

}  // namespace

std::vector<std::string> policy_warnings(const envgen::Plan& plan) {
  const base::Policy& policy = plan.policy;
  const base::Budget stop = stop_budget(plan);
  std::vector<std::string> warnings;
  if (policy.drain_ms > stop.drained_at) {
    warnings.push_back("--drain: " + base::seconds(policy.drain_ms) + " is shortened to " +
                       base::seconds(stop.drained_at) +
                       ", so that the job keeps a quarter of the grace (" +
                       base::seconds(stop.exit_at) + "): give a longer --grace");
  }
  warn_of_late_steps(policy, stop, warnings);
  return warnings;
}

lifecycle::event::ClusterReady cluster_ready(const envgen::Plan& plan) {
  using lifecycle::TaskKind;
  lifecycle::event::ClusterReady ready;
  ready.policy = plan.policy;
  ready.part_of_job = plan.node_count > 1;
  // Services come first, because the main process may use them from its beginning.
  ready.tasks.assign(plan.services.size(), TaskKind::kService);
  ready.tasks.insert(ready.tasks.end(), plan.processes.size(), TaskKind::kMain);
  ready.tasks.insert(ready.tasks.end(), plan.post_stop.size(), TaskKind::kPostStop);
  for (const envgen::HookGroup& group : plan.hooks) {
    if (envgen::is_phase_event(group.event)) ready.tasks.push_back(kind_of(group.event));
  }
  return ready;
}

base::Policy early_policy_of(const Setup& setup) {
  if (!setup.planner) return envgen::policy_of(setup.base.env, setup.request);
  envgen::Snapshot bare;
  bare.env = setup.base.env;
  envgen::Answer answer = setup.planner(bare, setup.request);
  const auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
  return planned != nullptr ? planned->plan.policy : base::Policy{};
}

envgen::Plan plan_of_pass_through(const Setup& setup) {
  envgen::Snapshot snapshot = setup.base;
  if (setup.has_hooks) {
    envgen::Answer answer = collect_and_resolve(snapshot, setup.request);
    if (auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) {
      std::erase_if(planned->plan.hooks, [](const envgen::HookGroup& group) {
        return group.event != envgen::HookEvent::kOnFailure;
      });
      return std::move(planned->plan);
    }
    if (const auto* error = std::get_if<base::Error>(&answer.outcome)) {
      sys::log::warning(to_line(*error) + "; going on without hooks");
    }
    snapshot.paths = {{envgen::kHooksDirectory, {}}};
  }
  envgen::Answer answer = envgen::resolve(snapshot, setup.request);
  return std::move(std::get<envgen::Planned>(answer.outcome).plan);
}

}  // namespace engine
