#include "lifecycle/policy.h"

#include <algorithm>

namespace lifecycle {

namespace {

// Eleven days: more is the same, and products of two stay below 2^63.
constexpr TimeMs kMaxMs = 1'000'000'000;

TimeMs sane(TimeMs duration_ms) { return std::clamp<TimeMs>(duration_ms, 0, kMaxMs); }

}  // namespace

Budget make_budget(const Policy& policy, bool has_post_stop, TimeMs start) {
  const TimeMs grace = sane(policy.grace_ms);
  TimeMs reserve = sane(policy.kill_reserve_ms);
  TimeMs post = has_post_stop ? sane(policy.post_stop_ms) : 0;
  const TimeMs wanted = reserve + post;
  const TimeMs allowed = grace - grace / 4;
  if (wanted > allowed) {
    reserve = reserve * allowed / wanted;
    post = post * allowed / wanted;
  }
  const TimeMs deadline = start + grace;
  Budget budget;
  budget.kill_at = deadline - post - reserve;
  budget.sweep_kill_at = budget.kill_at + reserve / 2;
  budget.post_kill_at = deadline - reserve / 4;
  budget.post_term_at = budget.post_kill_at - post / 4;
  budget.reap_ms = std::max(kReapMs, reserve / 4);
  return budget;
}

void allow_post_stop(const Policy& policy, TimeMs now, Budget* budget) {
  const TimeMs post = sane(policy.post_stop_ms);
  if (now + post <= budget->post_kill_at) return;
  budget->post_kill_at = now + post;
  budget->post_term_at = budget->post_kill_at - post / 4;
}

TimeMs restart_delay(const Policy& policy, std::uint32_t restarts) {
  const TimeMs most = sane(policy.restart_backoff_max_ms);
  TimeMs delay = std::min(sane(policy.restart_backoff_ms), most);
  for (std::uint32_t i = 0; i < restarts && delay > 0 && delay < most; ++i) {
    delay = std::min(2 * delay, most);
  }
  return delay;
}

}  // namespace lifecycle
