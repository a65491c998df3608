#include "envgen/resolve/watches.h"

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

}  // namespace

void plan_watches(const Request& request, Plan& plan) {
  plan.observe = request.observe;
  plan_health(plan);
  // An sshd, a parameter server: idle is what they are while nobody asks.
  if (plan.policy.success == SuccessPolicy::kServe) plan.observe.stall_ms = 0;
}

}  // namespace envgen
