#include "init/tee/stdout_mirror.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace logtee {
namespace {

constexpr std::size_t kFull = StdoutMirror::kMaxKept / 2;  // with more kept bytes the job is
                                                           // blocked ...
constexpr std::size_t kCalm = StdoutMirror::kMaxKept / 4;  // ... until no more than this is left
constexpr std::size_t kFlushAt = StdoutMirror::kMaxKept / 8;
constexpr std::size_t kDropAtOnce = 64U << 10;

}  // namespace

std::size_t StdoutMirror::write(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !gone_ && !full_) {
    const ssize_t count = writer_.write(bytes.substr(taken));
    if (count > 0) {
      taken += static_cast<std::size_t>(count);
      continue;
    }
    if (count < 0 && errno == EAGAIN) break;
    // The disk is full. There may be room for later output.
    full_ = count < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
    gone_ = !full_;
  }
  written_ += taken;
  if (taken > 0) set_at_line_start(bytes[taken - 1] == '\n');
  return taken;
}

void StdoutMirror::set_at_line_start(bool at_line_start) {
  at_line_start_ = at_line_start;
  if (inside_ != nullptr) *inside_ = !at_line_start;
}

// Puts a note about a gap in front of the bytes that follow the gap.
void StdoutMirror::note_gap() {
  front_ = (at_line_start_ ? "" : "\n") + std::string("trainit: ") + std::to_string(unsaid_) +
           " bytes of output ";
  front_ += no_room_
                ? "could not be written here\n"
                : "were dropped here: nobody read for " + base::seconds(reader_timeout_ms_) + "\n";
  noted_ = std::exchange(unsaid_, 0);
  no_room_ = false;
}

void StdoutMirror::flush() {
  if (waits_) return;
  full_ = false;
  while (!gone_ && !full_ && (pending() > 0 || unsaid_ > 0)) {
    if (front_.empty() && unsaid_ > 0) note_gap();
    if (!front_.empty()) {
      front_.erase(0, write(front_));
      if (!front_.empty()) break;
      noted_ = 0;
      continue;
    }
    head_ += write(std::string_view(queue_).substr(head_));
    break;
  }
  if (full_ || gone_) drop_all();
  if (head_ == queue_.size()) {
    queue_.clear();
    head_ = 0;
  } else if (head_ > kFull) {
    queue_.erase(0, head_);
    head_ = 0;
  }
}

void StdoutMirror::put(std::string_view bytes) {
  if (gone_) {
    count_lost(bytes);
    unsaid_ += bytes.size();
    return;
  }
  if (pending() + bytes.size() > kFlushAt) flush();
  if (given_up_ && pending() + bytes.size() > kMaxKept) make_room(bytes.size());
  queue_ += bytes;
}

void StdoutMirror::pass(std::string_view bytes) {
  flush();
  if (pending() == 0 && unsaid_ == 0 && !waits_) bytes.remove_prefix(write(bytes));
  if (!bytes.empty()) put(bytes);
  if (full_ || gone_) drop_all();
}

std::size_t StdoutMirror::take_pages(int pipe, std::size_t most) {
  if (pending() > 0 || unsaid_ > 0 || waits_ || gone_) return 0;
  const ssize_t count = writer_.tee(pipe, most);
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

void StdoutMirror::passed(std::string_view bytes) {
  written_ += bytes.size();
  set_at_line_start(bytes.ends_with('\n'));
}

void StdoutMirror::count_lost(std::string_view bytes) {
  dropped_ += bytes.size();
  if (lost_ != nullptr) lost_->add(bytes);
}

void StdoutMirror::give_up_rest() {
  if (noted_ == 0) count_lost(front_);
  count_lost(std::string_view(queue_).substr(head_));
}

// Drops everything, and counts it for a note that is written when there is room again. If front_ is
// a note that did not fit, its number is counted again.
void StdoutMirror::drop_all() {
  const std::uint64_t before = dropped_;
  give_up_rest();
  unsaid_ += dropped_ - before + std::exchange(noted_, 0);
  no_room_ = !gone_;
  front_.clear();
  queue_.clear();
  head_ = 0;
}

// Drops whole lines, the oldest first. The rest of a line of which a part was written is kept.
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
  count_lost(std::string_view(queue_).substr(begin, end - begin));
  queue_.erase(0, end);
  head_ = 0;
}

std::uint64_t StdoutMirror::missing() const {
  return unsaid_ + noted_ + (noted_ == 0 ? front_.size() : 0) + queue_.size() - head_;
}

std::int64_t StdoutMirror::unread_ms(std::int64_t now_ms) {
  const bool read = written_ != std::exchange(written_then_, written_);
  if (read || pending() == 0 || waits_) {
    unread_since_ms_ = now_ms;
    unread_then_ = pending() > 0 ? writer_.unread() : std::nullopt;
    return 0;
  }
  if (reader_timeout_ms_ > 0 && now_ms >= reader_timeout_ends_ms()) {
    // A pipe takes more bytes only if one of its pages is free. So a slow reader may have read
    // bytes although nothing could be written.
    const auto unread = writer_.unread();
    const bool less = unread && unread_then_ && *unread < *unread_then_;
    unread_then_ = unread;
    if (less) unread_since_ms_ = now_ms;
  }
  return now_ms - unread_since_ms_;
}

bool StdoutMirror::should_pause_input(std::int64_t now_ms) {
  const bool patient = unread_ms(now_ms) < reader_timeout_ms_ || waits_;
  given_up_ = given_up_ && !patient;
  holds_ = !given_up_ && pending() > (holds_ ? kCalm : kFull);
  if (!holds_ || patient) return holds_;
  given_up_ = true;
  return holds_ = false;
}

}  // namespace logtee
