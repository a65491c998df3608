#include "lifecycle/hang_side.h"

#include <utility>

namespace lifecycle {

bool HangSide::stalled(TimeMs silent_ms, TimeMs now) {
  if (!linked_) return false;
  if (fails_at_) return true;
  fails_at_ = now + kHangWaitMs;
  const bool judged =
      verdict_.look != 0 && verdict_.look == look_ && verdict_at_ >= now - silent_ms;
  if (judged) {
    if (verdict_.suspects.empty()) fails_at_ = now;
    return true;
  }
  if (owes_ || (look_ > verdict_.look && !places_.empty())) return true;  // it is being judged
  ++look_;
  owes_ = places_.empty();
  return true;
}

void HangSide::let_go() {
  fails_at_.reset();
  if (verdict_.look == look_) places_.clear();
}

void HangSide::looked(std::string places) {
  if (places.size() > kMostPlacesBytes) places.clear();
  places_ = std::move(places);
  owes_ = false;
}

void HangSide::heed(const Verdict& verdict, TimeMs now) {
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
  told_ = first && !fails_at_;  // an old one
  if (fails_at_ && verdict_.suspects.empty()) fails_at_ = now;
}

void HangSide::add_to(NodeReport& report) const {
  report.look = look_;
  report.places = places_;
}

std::optional<TimeMs> HangSide::next_at() const {
  if (!told_) return verdict_at_;
  return fails_at_ && !linked_ ? verdict_at_ : fails_at_;
}

HangSide::Next HangSide::next(TimeMs now) {
  if (!std::exchange(told_, true)) return Next::kTell;
  if (!fails_at_ || (linked_ && now < *fails_at_)) return Next::kNothing;
  fails_at_.reset();
  return Next::kFail;
}

}  // namespace lifecycle
