#include "init/engine/monitor/stall.h"

#include <cstdlib>

namespace engine {

StallJudge::StallState StallJudge::look(const ActivitySample& sample, std::int64_t now_ms) {
  constexpr std::int64_t kIdleShare = 100;
  constexpr std::int64_t kTickMs = 10;
  const bool first = !last_;
  const ActivitySample before = last_.value_or(sample);
  const auto counts = [&](std::int64_t cpu_ms, std::int64_t then_ms) {
    return (std::abs(sample.cpu_ms - cpu_ms) - kTickMs) * kIdleShare > now_ms - then_ms;
  };
  const bool waits = sample.runnable && before.runnable;
  const bool computes =
      waits || counts(before.cpu_ms, last_ms_) || counts(since_cpu_ms_, cpu_since_ms_);
  const bool busy = !rule_.by_output && computes;
  const bool unseen = rule_.by_output && !sample.output;
  const bool moves = first || busy || unseen || sample.output != before.output;
  const bool told = !first && !sample.blind && sample.steps != before.steps;
  last_ = sample;
  last_ms_ = now_ms;
  if (moves) since_ms_ = now_ms;
  if (moves || stalled_) {
    cpu_since_ms_ = now_ms;
    since_cpu_ms_ = sample.cpu_ms;
  }
  if (first || sample.blind || told) stepless_since_ms_ = now_ms;
  if (stalled_) {
    const bool again = !first && (by_steps_ ? told : moves || told);
    if (!again) return StallState::kNothing;
    stalled_ = false;
    return StallState::kMoves;
  }
  const bool tells = sample.steps > 0 && !sample.blind;
  const std::int64_t most_ms = tells ? rule_.timeout_ms : rule_.first_step_ms;
  by_steps_ = most_ms > 0 && now_ms - stepless_since_ms_ >= most_ms;
  const bool silent = !tells && now_ms - since_ms_ >= rule_.timeout_ms;
  stalled_ = by_steps_ || silent;
  by_steps_ = by_steps_ && !silent;
  return stalled_ ? StallState::kStalled : StallState::kNothing;
}

void StallJudge::begin_anew() { last_.reset(); }

}  // namespace engine
