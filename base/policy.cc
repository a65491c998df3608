#include "base/policy.h"

#include <algorithm>

namespace base {
namespace {

constexpr Rule kSignalNumber{.least = 0, .most = 64};
constexpr Rule kExitCode{.least = 0, .most = 255};

}  // namespace

void fields(FieldVisitor& v, EscalationStep& step) {
  v("signal", step.signal, kSignalNumber);
  v("after_ms", step.after_ms);
}

void fields(FieldVisitor& v, ExitCodeRule& rule) {
  v("first", rule.first, kExitCode);
  v("last", rule.last, kExitCode);
  v("to", rule.to, kExitCode);
}

void fields(FieldVisitor& v, CodeRange& range) {
  v("first", range.first, kExitCode);
  v("last", range.last, kExitCode);
}

void fields(FieldVisitor& v, SignalRule& rule) {
  v("from", rule.from, kSignalNumber);
  v("kind", rule.kind, SignalRule::Kind::kForward);
  v("to", rule.to, kSignalNumber);
  v("path", rule.path);
}

bool asks_for_checkpoint(const std::vector<SignalRule>& rules) {
  return std::ranges::find(rules, SignalRule::Kind::kCheckpoint, &SignalRule::kind) != rules.end();
}

int given_code(const std::vector<ExitCodeRule>& rules, int code) {
  for (const ExitCodeRule& rule : rules) {
    if (rule.first <= code && code <= rule.last) return rule.to;
  }
  return code;
}

std::int64_t bounded_ms(std::int64_t duration_ms) {
  return std::clamp<std::int64_t>(duration_ms, 0, 1'000'000'000);
}

Budget make_budget(const Policy& policy, StopHooks hooks, std::int64_t start) {
  const std::int64_t grace = bounded_ms(policy.grace_ms);
  std::int64_t reserve = bounded_ms(policy.kill_reserve_ms);
  std::int64_t post = hooks.post_stop ? bounded_ms(policy.post_stop_ms) : 0;
  std::int64_t drain = bounded_ms(policy.drain_ms);
  std::int64_t before = std::max(drain, hooks.pre_stop ? bounded_ms(policy.pre_stop_ms) : 0);
  const std::int64_t wanted = reserve + post + before;
  const std::int64_t allowed = grace - grace / 4;
  if (wanted > allowed) {
    reserve = reserve * allowed / wanted;
    post = post * allowed / wanted;
    before = before * allowed / wanted;
    drain = std::min(drain, before);
  }
  Budget budget;
  budget.exit_at = start + grace;
  budget.drained_at = start + drain;
  budget.notify_at = start + before;
  budget.kill_at = budget.exit_at - post - reserve;
  budget.sweep_kill_at = budget.kill_at + reserve / 2;
  budget.post_kill_at = budget.exit_at - reserve / 4;
  budget.post_term_at = budget.post_kill_at - post / 4;
  budget.reap_ms = std::max(kReapMs, reserve / 4);
  budget.term_phase_ms = budget.kill_at - budget.notify_at;
  budget.post_stop_run_ms =
      std::max<std::int64_t>(budget.post_term_at - budget.sweep_kill_at - budget.reap_ms, 0);
  return budget;
}

Budget kill_sooner(Budget budget, std::int64_t kill_at) {
  const std::int64_t sooner = std::max<std::int64_t>(budget.kill_at - kill_at, 0);
  budget.kill_at -= sooner;
  budget.sweep_kill_at -= sooner;
  return budget;
}

std::int64_t post_stop_share_ms(std::int64_t run_ms) {
  const std::int64_t run = bounded_ms(run_ms);
  return run + (run + 2) / 3;
}

bool in_time(const EscalationStep& step, const Budget& budget, std::int64_t notified) {
  return notified + bounded_ms(step.after_ms) < budget.kill_at;
}

void allow_post_stop(const Policy& policy, std::int64_t now, Budget* budget) {
  const std::int64_t post =
      std::max(bounded_ms(policy.post_stop_ms), bounded_ms(policy.post_stop_alone_ms));
  if (now + post <= budget->post_kill_at) return;
  budget->post_kill_at = now + post;
  budget->post_term_at = budget->post_kill_at - post / 4;
}

}  // namespace base
