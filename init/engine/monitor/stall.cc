#include "init/engine/monitor/stall.h"

#include <cstdlib>

namespace engine {

StallJudge::Verdict StallJudge::look(const ActivitySample& sample, std::int64_t now_ms) {
  constexpr std::int64_t kIdleShare = 100;
  const bool first = !last_;
  const ActivitySample before = last_.value_or(sample);
  const std::int64_t used_ms = std::abs(sample.cpu_ms - before.cpu_ms);
  const bool busy = !rule_.by_output && used_ms * kIdleShare > now_ms - last_ms_;
  const bool unseen = rule_.by_output && !sample.output;
  const bool moves = first || busy || unseen || sample.output != before.output;
  last_ = sample;
  last_ms_ = now_ms;
  if (moves) {
    since_ms_ = now_ms;
    const bool again = stalled_ && !first;
    if (again) stalled_ = false;
    return again ? Verdict::kMoves : Verdict::kNothing;
  }
  if (stalled_ || now_ms - since_ms_ < rule_.timeout_ms) return Verdict::kNothing;
  stalled_ = true;
  return Verdict::kStalled;
}

void StallJudge::begin_anew() { last_.reset(); }

}  // namespace engine
