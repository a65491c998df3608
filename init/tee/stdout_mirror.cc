#include "init/tee/stdout_mirror.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace logtee {
namespace {

constexpr std::size_t kFull = StdoutMirror::kMostKept / 2;  // then a pause is wanted,
constexpr std::size_t kCalm = StdoutMirror::kMostKept / 4;  // until no more than this is left
constexpr std::size_t kFlushAt = StdoutMirror::kMostKept / 8;
constexpr std::size_t kDropAtOnce = 64U << 10;

}  // namespace

std::size_t StdoutMirror::write(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !dead_ && !full_) {
    const ssize_t count = writer_.write(bytes.substr(taken));
    if (count > 0) {
      taken += static_cast<std::size_t>(count);
      continue;
    }
    if (count < 0 && errno == EAGAIN) break;
    // A file on a full disk: what comes later may find room.
    full_ = count < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
    dead_ = !full_;
  }
  written_ += taken;
  if (taken > 0) at_line_start_ = bytes[taken - 1] == '\n';
  return taken;
}

void StdoutMirror::flush() {
  full_ = false;
  while ((pending() > 0 || unsaid_ > 0) && !full_) {
    if (front_.empty() && unsaid_ > 0) {
      front_ = (at_line_start_ ? "" : "\n") + std::string("trainit: ") + std::to_string(unsaid_) +
               " bytes of output " +
               (no_room_ ? "could not be written here\n"
                         : "were dropped here: the reader was too slow\n");
      noted_ = std::exchange(unsaid_, 0);
      no_room_ = false;
    }
    if (!front_.empty()) {
      front_.erase(0, write(front_));
      if (!front_.empty()) break;
      noted_ = 0;
      continue;
    }
    head_ += write(std::string_view(queue_).substr(head_));
    break;
  }
  if (full_) drop_all();
  if (dead_) {
    front_.clear();
    queue_.clear();
    head_ = 0;
    unsaid_ = 0;
  }
  if (head_ == queue_.size()) {
    queue_.clear();
    head_ = 0;
    slow_ = slow_ && pending() > 0;
  } else if (head_ > kFull) {
    queue_.erase(0, head_);
    head_ = 0;
  }
}

void StdoutMirror::put(std::string_view bytes) {
  if (dead_) return;
  if (pending() + bytes.size() > kFlushAt) flush();
  if (pending() + bytes.size() > kMostKept) make_room(bytes.size());
  queue_ += bytes;
}

void StdoutMirror::pass(std::string_view bytes) {
  flush();
  if (pending() == 0 && unsaid_ == 0) bytes.remove_prefix(write(bytes));
  if (!bytes.empty()) put(bytes);
  if (full_) drop_all();
}

// To be told where there is room again; a note that did not fit is written anew then.
void StdoutMirror::drop_all() {
  const std::uint64_t lost = (noted_ == 0 ? front_.size() : 0) + queue_.size() - head_;
  unsaid_ += lost + std::exchange(noted_, 0);
  dropped_ += lost;
  no_room_ = true;
  front_.clear();
  queue_.clear();
  head_ = 0;
}

// Whole lines, the oldest first; what is left of a line that has begun to go out goes before.
void StdoutMirror::make_room(std::size_t size) {
  std::size_t begin = head_;
  if (front_.empty() && unsaid_ == 0 && !at_line_start_) {
    const std::size_t rest = queue_.find('\n', head_);
    if (rest != std::string::npos && rest - head_ < kDropAtOnce) {
      begin = rest + 1;
      front_ = queue_.substr(head_, begin - head_);
    }
  }
  const std::size_t least = std::min(begin + size + kDropAtOnce, queue_.size());
  std::size_t end = least == begin ? begin : queue_.find('\n', least - 1);
  end = end == std::string::npos ? queue_.size() : end + (least == begin ? 0 : 1);
  unsaid_ += end - begin;
  dropped_ += end - begin;
  queue_.erase(0, end);
  head_ = 0;
}

bool StdoutMirror::wants_pause(std::int64_t now_ms) {
  if (dead_ || slow_ || pending() <= (full_since_ms_ != 0 ? kCalm : kFull)) {
    full_since_ms_ = 0;
    return false;
  }
  if (full_since_ms_ == 0) full_since_ms_ = now_ms;
  if (now_ms - full_since_ms_ < kLongestPauseMs) return true;
  slow_ = true;
  full_since_ms_ = 0;
  return false;
}

std::optional<std::int64_t> StdoutMirror::pause_until() const {
  if (full_since_ms_ == 0) return std::nullopt;
  return full_since_ms_ + kLongestPauseMs;
}

}  // namespace logtee
