#include "init/engine/cluster/link_pipes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/wire.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

constexpr std::int64_t kSayMs = 2000;
constexpr std::size_t kMaxWarnings = 16;

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// Returns the verdict without the age of its failure, which grows all the time and is no change.
lifecycle::NodeVerdict without_age(lifecycle::NodeVerdict verdict) {
  if (verdict.failure) verdict.failure->age_ms = 0;
  return verdict;
}

bool same_but_missing(lifecycle::NodeVerdict one, lifecycle::NodeVerdict other) {
  one.missing = other.missing;
  one.waits_for = other.waits_for;
  return without_age(std::move(one)) == without_age(std::move(other));
}

}  // namespace

LinkPipes::LinkPipes(int down, int up)
    : down_(sys::Fd(down), kLinkReport, kMaxLinkMessage), up_(up) {
  set_nonblocking(down);
  set_nonblocking(up);
}

std::optional<lifecycle::NodeReport> LinkPipes::read() {
  std::optional<lifecycle::NodeReport> latest;
  down_.read([&latest](std::uint32_t /*kind*/, std::string_view bytes) {
    if (auto report = base::from_wire<lifecycle::NodeReport>(bytes)) latest = std::move(report);
    return true;
  });
  if (down_.at_end()) closed_ = true;
  return latest;
}

void LinkPipes::verdict(const lifecycle::NodeVerdict& verdict) {
  verdict_.reset();
  if (told_ != without_age(verdict)) verdict_ = verdict;
  tick();
}

void LinkPipes::state(LinkState state) {
  state_ = std::move(state);
  tick();
}

void LinkPipes::tick() {
  const std::int64_t now_ms = sys::monotonic_ms();
  if (state_ms().value_or(now_ms + 1) <= now_ms) {
    told_state_ = state_;
    told_state_ms_ = now_ms;
    state_due_ = true;
  }
  if (verdict_ms().value_or(now_ms + 1) <= now_ms) verdict_due_ = true;
  if (state_due_ || verdict_due_) flush();
}

std::optional<std::int64_t> LinkPipes::state_ms() const {
  if (state_ == told_state_) return std::nullopt;
  const bool at_once = state_.up != told_state_.up ||
                       state_.all_connected != told_state_.all_connected || told_state_ms_ == 0;
  return at_once ? 0 : told_state_ms_ + kSayMs;
}

std::optional<std::int64_t> LinkPipes::verdict_ms() const {
  if (!verdict_ || verdict_due_) return std::nullopt;
  if (!told_ || !same_but_missing(*told_, *verdict_)) return 0;
  return told_ms_ + kSayMs;
}

std::optional<std::int64_t> LinkPipes::next_ms() const {
  const auto state = state_ms();
  const auto verdict = verdict_ms();
  return state && verdict ? std::min(*state, *verdict) : state ? state : verdict;
}

void LinkPipes::warn(const std::string& text) {
  if (warnings_.size() < kMaxWarnings) warnings_.push_back(text);
  flush();
}

void LinkPipes::fill() {
  if (std::exchange(state_due_, false)) {
    unsent_ = message_of(kLinkState, base::to_wire(told_state_));
  } else if (!warnings_.empty()) {
    unsent_ = message_of(kLinkWarning, warnings_.front());
    warnings_.pop_front();
  } else if (std::exchange(verdict_due_, false) && verdict_) {
    unsent_ = message_of(kLinkVerdict, base::to_wire(*verdict_));
    told_ = without_age(*std::exchange(verdict_, std::nullopt));
    told_ms_ = sys::monotonic_ms();
  }
}

void LinkPipes::flush() {
  while (!closed_) {
    if (unsent_.empty()) fill();
    if (unsent_.empty()) {
      std::string().swap(unsent_);  // frees the memory, which an assignment would keep
      return;
    }
    const ssize_t count = ::write(up_.get(), unsent_.data(), unsent_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) closed_ = true;
    if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
  }
}

}  // namespace engine
