#include "envgen/resolve/watches.h"

#include "envgen/failure/python_hook.h"
#include "envgen/plan/inputs.h"

namespace envgen {
namespace {

constexpr std::int64_t kHealthMs = 5LL * 60 * 1000;

void plan_health(Plan& plan) {
  Observation& observe = plan.observe;
  const bool some = !observe.health_checks.empty() || has_hooks(plan, HookEvent::kHealth);
  if (!some && observe.health_interval_ms > 0) {
    plan.warnings.push_back(
        "--health-interval has nothing to run: there are no health hooks and no --health-checks");
  }
  if (!some || observe.health_interval_ms == kNoHealth) {
    observe.health_interval_ms = 0;
    return;
  }
  if (observe.health_interval_ms == 0) observe.health_interval_ms = kHealthMs;
  if (plan.policy.max_restarts > 0) {
    plan.warnings.push_back(
        "what the health watch finds is only reported: the job restarts by itself "
        "(--max-restarts), and is not saved to be scheduled again");
  }
}

// Where ranks may wait for one another, or somebody wants to know why one stands still. The only
// thing that a single command would have of it is another PYTHONPATH.
void plan_stacks(const Inputs& inputs, Plan& plan) {
  const bool several = plan.processes.size() > 1 || plan.world_size > 1;
  const std::string& run_dir = inputs.facts().run_dir;
  if (run_dir.empty() || (!several && plan.observe.stall_ms == 0)) return;
  plan.observe.stacks = true;
  const std::string hooks = join_path(run_dir, "stacks/" + std::string(kHookDirectory));
  for (Process& process : plan.processes) {
    process.env.push_back({EnvEdit::Kind::kPutInFront, "PYTHONPATH", hooks});
  }
}

}  // namespace

void plan_watches(const Inputs& inputs, Plan& plan) {
  plan.observe = inputs.request().observe;
  plan_health(plan);
  // An sshd, a parameter server: idle is what they are while nobody asks.
  if (plan.policy.success == SuccessPolicy::kServe) plan.observe.stall_ms = 0;
  plan_stacks(inputs, plan);
}

}  // namespace envgen
