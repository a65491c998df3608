#include "lifecycle/link_watch.h"

#include "lifecycle/node_words.h"
#include "lifecycle/nodes.h"

namespace lifecycle {
namespace {

using Kind = NodeFailure::Kind;

}  // namespace

void LinkWatch::connected(TimeMs now) {
  link_ = Link::kOpen;
  heard_at_ = now;
}

void LinkWatch::heard(TimeMs now) {
  if (link_ == Link::kOpen) heard_at_ = now;
}

void LinkWatch::closed(TimeMs now) {
  if (link_ != Link::kOpen) return;
  link_ = Link::kClosed;
  closed_at_ = now;
}

void LinkWatch::verdict(const Verdict& last) {
  restarts_ = last.restarts;
  ended_ = last.ended;
}

std::optional<TimeMs> LinkWatch::next_tick() const {
  if (link_ == Link::kNever || ended_) return std::nullopt;
  return link_ == Link::kClosed ? closed_at_ + kReconnectMs : heard_at_ + timeout_ms_;
}

std::optional<Verdict> LinkWatch::lost(TimeMs now) const {
  const auto at = next_tick();
  if (!at || now < *at) return std::nullopt;
  const bool closed = link_ == Link::kClosed;
  const Kind kind = closed ? Kind::kClosed : Kind::kSilent;
  Verdict verdict;
  verdict.state = counts_ ? Verdict::State::kFailed : Verdict::State::kTold;
  verdict.restarts = restarts_;
  verdict.again = true;  // as far as this node can know: its own limits decide
  verdict.by_itself = true;
  verdict.failure = {.kind = kind,
                     .age_ms = now - (closed ? closed_at_ : heard_at_),
                     .restarts = true,
                     .message = loss_message(node0_, kind, timeout_ms_),
                     .detail = {}};
  return verdict;
}

}  // namespace lifecycle
