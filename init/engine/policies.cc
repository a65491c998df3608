#include "init/engine/policies.h"

#include <csignal>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "envgen/resolve/hooks.h"
#include "envgen/resolve/resolve.h"
#include "envgen/resolve/restart_policy.h"
#include "init/engine/resolve/collect.h"
#include "init/engine/tasks/job.h"
#include "init/proc/signals.h"
#include "init/sys/log.h"

namespace engine {

std::vector<std::string> policy_warnings(const envgen::Plan& plan) {
  const lifecycle::Hooks hooks{
      .pre_stop = has_hooks(plan, envgen::HookEvent::kPreStop),
      .post_stop = has_hooks(plan, envgen::HookEvent::kPostStop) || !plan.post_stop.empty()};
  const lifecycle::Budget budget = lifecycle::make_budget(plan.policy, hooks, 0);
  std::vector<std::string> warnings;
  bool killed = false;
  for (const lifecycle::EscalationStep& step : plan.policy.escalation) {
    if (!killed && lifecycle::in_time(step, budget, 0)) {
      killed = step.signal == SIGKILL;
      continue;
    }
    warnings.push_back(
        "--escalate: " + proc::signal_name(step.signal) + " after " +
        std::to_string(step.after_ms) + " ms is left out, because SIGKILL comes " +
        (killed ? "before it"
                : "at " + std::to_string(budget.kill_at) + " ms: give a longer --grace"));
  }
  return warnings;
}

lifecycle::event::ClusterReady cluster_ready(const envgen::Plan& plan) {
  using lifecycle::TaskKind;
  lifecycle::event::ClusterReady ready;
  ready.policy = plan.policy;
  ready.part_of_job = plan.node_count > 1;
  // Services first: the main process may use them from its first moment.
  ready.tasks.assign(plan.services.size(), TaskKind::kService);
  ready.tasks.insert(ready.tasks.end(), plan.processes.size(), TaskKind::kMain);
  ready.tasks.insert(ready.tasks.end(), plan.post_stop.size(), TaskKind::kPostStop);
  for (const envgen::HookGroup& group : plan.hooks) {
    if (envgen::is_phase_event(group.event)) ready.tasks.push_back(kind_of(group.event));
  }
  return ready;
}

envgen::Policy early_policy_of(const Setup& setup) {
  if (!setup.planner) return envgen::policy_of(setup.base.env, setup.request);
  envgen::Snapshot bare;
  bare.env = setup.base.env;
  envgen::Answer answer = setup.planner(bare, setup.request);
  const auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
  return planned != nullptr ? planned->plan.policy : envgen::Policy{};
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
    if (const auto* error = std::get_if<envgen::Error>(&answer.outcome)) {
      sys::log::warning(to_line(*error) + "; going on without hooks");
    }
    snapshot.paths = {{envgen::kHooksDirectory, {}}};
  }
  envgen::Answer answer = envgen::resolve(snapshot, setup.request);
  return std::move(std::get<envgen::Planned>(answer.outcome).plan);
}

}  // namespace engine
