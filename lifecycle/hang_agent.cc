#include "lifecycle/hang_agent.h"

#include <algorithm>
#include <utility>

namespace lifecycle {

bool HangAgent::stalled(TimeMs silent_ms, TimeMs now) {
  if (!linked_) return false;
  if (fails_at_) return true;
  fails_at_ = now + kHangWaitMs;
  const bool known = verdict_counts() && verdict_.look == look_ && verdict_at_ >= now - silent_ms;
  if (known) {
    if (verdict_.suspects.empty()) fails_at_ = now;
    return true;
  }
  const bool open = look_ > std::max(verdict_.look, forgotten_);
  if (open && (owes_ || !places_.empty())) return true;  // node 0 is about to judge this hang
  ++look_;
  owes_ = places_.empty();
  return true;
}

// If a look is open, this node must take its places again: they show node 0 that the ranks make
// progress.
void HangAgent::forget() {
  fails_at_.reset();
  places_.clear();
  owes_ = look_ > std::max(verdict_.look, forgotten_) && linked_;
  forgotten_ = look_;
}

void HangAgent::looked(std::string places) {
  if (places.size() > kMaxPlacesBytes) places.clear();
  places_ = std::move(places);
  owes_ = false;
}

void HangAgent::apply_verdict(const NodeVerdict& verdict, TimeMs now) {
  const bool first = !std::exchange(heard_, true);
  if (verdict.look > look_) {
    look_ = verdict.look;
    places_.clear();
    owes_ = !verdict.hang;
  }
  if (!verdict.hang || verdict.hang->look != look_ || verdict.hang->look <= verdict_.look) return;
  verdict_ = *verdict.hang;
  verdict_at_ = now;
  places_.clear();
  owes_ = false;
  // The first message of node 0 has an old verdict, which is not logged.
  told_ = first && !fails_at_;
  if (told_) forgotten_ = look_;
  if (fails_at_ && verdict_.suspects.empty()) fails_at_ = now;
}

void HangAgent::add_to(NodeReport& report) const {
  report.look = look_;
  report.places = places_;
  report.judged = std::max(verdict_.look, forgotten_);
}

std::optional<TimeMs> HangAgent::next_at() const {
  if (!told_) return verdict_at_;
  return fails_at_ && !linked_ ? verdict_at_ : fails_at_;
}

HangAgent::Next HangAgent::next(TimeMs now) {
  if (!std::exchange(told_, true)) return Next::kLog;
  if (!fails_at_ || (linked_ && now < *fails_at_)) return Next::kNothing;
  fails_at_.reset();
  return Next::kFail;
}

}  // namespace lifecycle
