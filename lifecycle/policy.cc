#include "lifecycle/policy.h"

#include <algorithm>

namespace lifecycle {

namespace {

// Eleven days: more is the same, and products of two stay below 2^63.
constexpr TimeMs kMaxMs = 1'000'000'000;

TimeMs sane(TimeMs duration_ms) { return std::clamp<TimeMs>(duration_ms, 0, kMaxMs); }

}  // namespace

Budget make_budget(const Policy& policy, Hooks hooks, TimeMs start) {
  const TimeMs grace = sane(policy.grace_ms);
  TimeMs reserve = sane(policy.kill_reserve_ms);
  TimeMs post = hooks.post_stop ? sane(policy.post_stop_ms) : 0;
  TimeMs drain = sane(policy.drain_ms);
  TimeMs before = std::max(drain, hooks.pre_stop ? sane(policy.pre_stop_ms) : 0);
  const TimeMs wanted = reserve + post + before;
  const TimeMs allowed = grace - grace / 4;
  if (wanted > allowed) {
    reserve = reserve * allowed / wanted;
    post = post * allowed / wanted;
    before = before * allowed / wanted;
    drain = std::min(drain, before);
  }
  const TimeMs deadline = start + grace;
  Budget budget;
  budget.drained_at = start + drain;
  budget.notify_at = start + before;
  budget.kill_at = deadline - post - reserve;
  budget.sweep_kill_at = budget.kill_at + reserve / 2;
  budget.post_kill_at = deadline - reserve / 4;
  budget.post_term_at = budget.post_kill_at - post / 4;
  budget.reap_ms = std::max(kReapMs, reserve / 4);
  return budget;
}

bool in_time(const EscalationStep& step, const Budget& budget, TimeMs start) {
  return start + sane(step.after_ms) < budget.kill_at;
}

void allow_post_stop(const Policy& policy, TimeMs now, Budget* budget) {
  const TimeMs post = std::max(sane(policy.post_stop_ms), sane(policy.post_stop_alone_ms));
  if (now + post <= budget->post_kill_at) return;
  budget->post_kill_at = now + post;
  budget->post_term_at = budget->post_kill_at - post / 4;
}

TimeMs restart_delay(const Policy& policy, std::uint32_t failures) {
  TimeMs delay = failures == 0 ? 0 : sane(policy.restart_delay_ms);
  const TimeMs most = std::max(delay, sane(policy.restart_delay_max_ms));
  for (std::uint32_t i = 1; i < failures && delay > 0 && delay < most; ++i) {
    delay = std::min(2 * delay, most);
  }
  return delay;
}

bool restarts_on(const Policy& policy, int exit_code) {
  return std::none_of(policy.no_restart_on.begin(), policy.no_restart_on.end(),
                      [exit_code](const CodeRange& range) {
                        return range.first <= exit_code && exit_code <= range.last;
                      });
}

}  // namespace lifecycle
