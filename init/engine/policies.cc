#include "init/engine/policies.h"

#include <algorithm>
#include <csignal>
#include <string>

#include "envgen/resolve/resolve.h"
#include "init/engine/tasks/job.h"
#include "init/proc/signals.h"

namespace engine {
namespace {

// Only these have peers whose sshd is awaited; which one it is may be known by the plan alone.
bool may_wait_for_peers(const std::string& framework) {
  return framework.empty() || framework == "mpi" || framework == "horovod" ||
         framework == "deepspeed";
}

}  // namespace

lifecycle::Policy machine_policy(const envgen::PlanPolicy& plan, std::int64_t resolve_timeout_ms) {
  lifecycle::Policy policy;
  policy.grace_ms = plan.grace_ms;
  policy.resolve_timeout_ms = resolve_timeout_ms;
  policy.hold_ms = plan.hold_ms;
  policy.drain_ms = plan.drain_ms;
  policy.pre_stop_ms = plan.pre_stop_ms;
  policy.post_stop_ms = plan.post_stop_ms;
  policy.second_term_hurries = plan.second_term_kills;
  policy.checkpoint_ms = plan.checkpoint_ms;
  policy.checkpoint_signal = plan.checkpoint_signal != 0;
  policy.max_duration_ms = plan.max_duration_ms;
  policy.max_restarts = static_cast<std::uint32_t>(std::max(plan.max_restarts, 0));
  // Each start costs a resolver and a fork of everything.
  constexpr std::int64_t kLeastDelayMs = 100;
  policy.restart_backoff_ms = std::max(plan.restart_delay_ms, kLeastDelayMs);
  policy.restart_least_ms = plan.restart_least_ms;
  for (const envgen::CodeRange& range : plan.no_restart_on) {
    policy.no_restart_on.push_back({range.first, range.last});
  }
  for (const envgen::Escalation& step : plan.escalation) {
    policy.escalation.push_back({step.signal, step.after_ms});
  }
  return policy;
}

std::vector<std::string> policy_warnings(const envgen::Plan& plan) {
  const lifecycle::Policy policy = machine_policy(plan.policy, 0);
  const lifecycle::Hooks hooks{
      .pre_stop = has_hooks(plan, envgen::HookEvent::kPreStop),
      .post_stop = has_hooks(plan, envgen::HookEvent::kPostStop) || !plan.post_stop.empty()};
  const lifecycle::Budget budget = lifecycle::make_budget(policy, hooks, 0);
  std::vector<std::string> warnings;
  bool killed = false;
  for (const lifecycle::EscalationStep& step : policy.escalation) {
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

lifecycle::event::ClusterReady cluster_ready(const envgen::Plan& plan,
                                             std::int64_t resolve_timeout_ms) {
  using lifecycle::TaskKind;
  lifecycle::event::ClusterReady ready;
  ready.success = success_of(plan.policy.success);
  ready.policy = machine_policy(plan.policy, resolve_timeout_ms);
  // Twice the hooks' own time, which their worker keeps them to: for one that hangs itself.
  for (const envgen::HookGroup& group : plan.hooks) {
    if (group.event != envgen::HookEvent::kPostStop) continue;
    const auto count = static_cast<std::int64_t>(group.paths.size());
    ready.policy->post_stop_alone_ms = plan.policy.post_stop_ms + 2 * count * group.timeout_ms;
  }
  ready.part_of_job = plan.node_count > 1;
  // Services first: the main process may use them from its first moment.
  ready.tasks.assign(plan.services.size(), TaskKind::kService);
  ready.tasks.insert(ready.tasks.end(), plan.processes.size(), TaskKind::kMain);
  ready.tasks.insert(ready.tasks.end(), plan.post_stop.size(), TaskKind::kPostStop);
  for (const envgen::HookGroup& group : plan.hooks) {
    if (envgen::is_of_course(group.event)) ready.tasks.push_back(kind_of(group.event));
  }
  return ready;
}

lifecycle::SuccessPolicy success_of(envgen::Success success) {
  switch (success) {
    case envgen::Success::kAll:
      return lifecycle::SuccessPolicy::kAll;
    case envgen::Success::kFirst:
      return lifecycle::SuccessPolicy::kFirst;
    case envgen::Success::kServe:
      return lifecycle::SuccessPolicy::kServe;
  }
  return lifecycle::SuccessPolicy::kAll;
}

envgen::PlanPolicy early_policy_of(const Setup& setup) {
  if (!setup.planner) return envgen::early_policy(setup.base.env, setup.request);
  envgen::Snapshot bare;
  bare.env = setup.base.env;
  envgen::Answer answer = setup.planner(bare, setup.request);
  const auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
  return planned != nullptr ? planned->plan.policy : envgen::PlanPolicy{};
}

std::int64_t hang_timeout_ms(const envgen::Request& request) {
  constexpr std::int64_t kLeastMs = 2000;
  constexpr std::int64_t kMostMs = 60'000;
  constexpr std::int64_t kLongestWaitMs = 1'000'000'000;  // the machine's is no longer
  std::int64_t wait_ms = std::min(request.rank_table_timeout_ms, kLongestWaitMs);
  if (may_wait_for_peers(request.framework)) {
    wait_ms += std::min(request.peer_timeout_ms, kLongestWaitMs);
  }
  // The nodes may have to meet before they start.
  if (request.restart_across_nodes || request.elastic) {
    wait_ms += std::min(request.restart_window_ms, kLongestWaitMs);
  }
  constexpr std::int64_t kPreflightMs = 40'000;
  if (request.observe.preflight != envgen::Preflight::kOff) wait_ms += kPreflightMs;
  return std::min(request.script_timeout_ms, kLongestWaitMs) + wait_ms +
         std::clamp(wait_ms / 10, kLeastMs, kMostMs);
}

}  // namespace engine
