#include "lifecycle/link_watch.h"

#include "lifecycle/coordinator.h"
#include "lifecycle/node_names.h"

namespace lifecycle {
namespace {

using Kind = NodeFailure::Kind;

}  // namespace

void LinkWatch::resume(std::uint64_t instance, std::uint32_t restarts, TimeMs now) {
  link_ = Link::kClosed;
  closed_at_ = now;
  instance_ = instance;
  restarts_ = restarts;
}

void LinkWatch::connected(TimeMs now) {
  // The new connection replaces one that was silent.
  if (link_ == Link::kOpen) closed_at_ = heard_at_;
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

NodeVerdict LinkWatch::verdict(const NodeVerdict& last, const NodeReport& own, TimeMs now) {
  using Stage = NodeReport::Stage;
  const bool takes_part = own.stage == Stage::kRunning || own.stage == Stage::kStopping;
  if (instance_ != 0 && last.instance != instance_ && !ended_)
    replaced_ = {closed_at_, own.restarts};
  instance_ = last.instance;
  if (!takes_part || (replaced_ && replaced_->restarts != own.restarts)) replaced_.reset();
  restarts_ = takes_part ? own.restarts : last.restarts;
  ended_ = last.ended;
  if (!replaced_ || !counts_) return last;
  NodeVerdict lost = loss(Kind::kClosed, replaced_->at, now);
  lost.ended = last.ended;
  lost.exit_code = last.exit_code;
  return lost;
}

std::optional<TimeMs> LinkWatch::next_tick() const {
  if (link_ == Link::kNever || ended_) return std::nullopt;
  return link_ == Link::kClosed ? closed_at_ + kReconnectMs : heard_at_ + timeout_ms_;
}

std::optional<NodeVerdict> LinkWatch::lost(TimeMs now) const {
  const auto at = next_tick();
  if (!at || now < *at) return std::nullopt;
  return link_ == Link::kClosed ? loss(Kind::kClosed, closed_at_, now)
                                : loss(Kind::kSilent, heard_at_, now);
}

NodeVerdict LinkWatch::loss(Kind kind, TimeMs at, TimeMs now) const {
  NodeVerdict verdict;
  verdict.state = counts_ ? NodeVerdict::State::kFailed : NodeVerdict::State::kTold;
  verdict.restarts = restarts_;
  verdict.again = true;  // node 0 cannot forbid a restart: only this node's own limits decide
  verdict.by_itself = true;
  verdict.failure = {.kind = kind,
                     .age_ms = now - at,
                     .restarts = true,
                     .message = loss_message(node0_, kind, timeout_ms_),
                     .detail = {}};
  return verdict;
}

}  // namespace lifecycle
