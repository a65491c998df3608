#include "init/sshd/peer_exit.h"

#include <algorithm>

#include "base/exit_codes.h"

namespace sshd {

PeerExitRule::PeerExitRule(std::optional<std::int64_t> launcher_timeout_ms, std::int64_t now_ms)
    : launcher_timeout_ms_(launcher_timeout_ms), idle_since_ms_(now_ms) {}

void PeerExitRule::set_open(int open, std::int64_t now_ms) {
  if (open_ > 0 && open == 0) idle_since_ms_ = now_ms;
  open_ = open;
}

void PeerExitRule::notify(int exit_code, std::int64_t now_ms) {
  if (notified_code_) return;
  notified_code_ = exit_code;
  notified_ms_ = now_ms;
}

void PeerExitRule::set_launcher_gone(bool gone, std::int64_t now_ms) {
  if (!gone) {
    launcher_gone_ms_.reset();
  } else if (!launcher_gone_ms_) {
    launcher_gone_ms_ = now_ms;
  }
}

void PeerExitRule::stop(int signal, std::int64_t now_ms) {
  if (signal_ != 0) return;
  signal_ = signal;
  at_once_ = open_ == 0 || !launcher_timeout_ms_;
  if (open_ == 0) idle_since_ms_ = now_ms;
}

std::optional<PeerExit> PeerExitRule::verdict(std::int64_t now_ms) const {
  const auto due = deadline_ms();
  const bool over = due && now_ms >= *due;
  if (notified_code_) {
    if (open_ == 0 || over) return PeerExit{*notified_code_, Why::kNotified};
    return std::nullopt;
  }
  if (signal_ != 0) {
    if (at_once_ || over) return PeerExit{exit_code::kSignalBase + signal_, Why::kStopped};
    return std::nullopt;
  }
  if (over) {
    const bool given_up = now_ms >= idle_since_ms_ + *launcher_timeout_ms_;
    return PeerExit{exit_code::kUnavailable, given_up ? Why::kNoLauncher : Why::kLauncherGone};
  }
  return std::nullopt;
}

std::optional<std::int64_t> PeerExitRule::deadline_ms() const {
  if (notified_code_) return notified_ms_ + kClosingMs;
  if (open_ > 0) return std::nullopt;
  if (signal_ != 0) return idle_since_ms_ + kLingerMs;
  if (launcher_timeout_ms_.value_or(0) == 0) return std::nullopt;
  const std::int64_t timeout_at = idle_since_ms_ + *launcher_timeout_ms_;
  if (!launcher_gone_ms_) return timeout_at;
  return std::min(timeout_at, std::max(idle_since_ms_, *launcher_gone_ms_) + kLauncherGoneMs);
}

}  // namespace sshd
