#include "init/sshd/ending.h"

namespace peer {

namespace {
constexpr int kSignalBase = 128;
}

Ending::Ending(std::optional<std::int64_t> launcher_timeout_ms, std::int64_t now_ms)
    : launcher_timeout_ms_(launcher_timeout_ms), idle_since_ms_(now_ms) {}

void Ending::set_open(int open, std::int64_t now_ms) {
  if (open_ > 0 && open == 0) idle_since_ms_ = now_ms;
  open_ = open;
}

void Ending::tell(int exit_code, std::int64_t now_ms) {
  if (told_) return;
  told_ = exit_code;
  told_ms_ = now_ms;
}

void Ending::stop(int signal, std::int64_t now_ms) {
  if (signal_ != 0) return;
  signal_ = signal;
  at_once_ = open_ == 0 || !launcher_timeout_ms_;
  if (open_ == 0) idle_since_ms_ = now_ms;
}

std::optional<Verdict> Ending::verdict(std::int64_t now_ms) const {
  const auto due = deadline_ms();
  const bool over = due && now_ms >= *due;
  if (told_) {
    if (open_ == 0 || over) return Verdict{*told_, Why::kTold};
    return std::nullopt;
  }
  if (signal_ != 0) {
    if (at_once_ || over) return Verdict{kSignalBase + signal_, Why::kStopped};
    return std::nullopt;
  }
  if (over) return Verdict{kExpiredCode, Why::kExpired};
  return std::nullopt;
}

std::optional<std::int64_t> Ending::deadline_ms() const {
  if (told_) return told_ms_ + kClosingMs;
  if (open_ > 0) return std::nullopt;
  if (signal_ != 0) return idle_since_ms_ + kLingerMs;
  if (launcher_timeout_ms_.value_or(0) == 0) return std::nullopt;
  return idle_since_ms_ + *launcher_timeout_ms_;
}

}  // namespace peer
