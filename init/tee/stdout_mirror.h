#pragma once
// The mirror of the job's output on our own stdout or stderr. It never waits for whoever reads
// that: what is not taken at once is kept, up to kMostKept, then the oldest lines are dropped and
// counted, and the count is said in the stream where they are missing. A reader that is only a
// little slower than the job costs no line: wants_pause() asks to read no more for a moment, which
// holds the job up as its own pipe would.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "init/sys/nonblocking_writer.h"

namespace logtee {

class StdoutMirror {
 public:
  static constexpr std::size_t kMostKept = 1U << 20;
  // A reader that takes less than a quarter of kMostKept in this time is too slow to be waited for,
  // until it has caught up.
  static constexpr std::int64_t kLongestPauseMs = 500;

  explicit StdoutMirror(int standard_fd) : writer_(standard_fd) {}

  // Keeps bytes for flush().
  void put(std::string_view bytes);
  // Writes what is taken now.
  void flush();
  // Both, without a copy of what is taken now.
  void pass(std::string_view bytes);
  // Nobody will ever read it.
  [[nodiscard]] bool dead() const { return dead_; }
  // There is something to write: what to poll for POLLOUT, or -1.
  [[nodiscard]] int waits_for() const { return pending() > 0 ? writer_.fd() : -1; }
  [[nodiscard]] std::size_t pending() const { return front_.size() + queue_.size() - head_; }
  // Bytes that were written so far, and those that were dropped.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Of the dropped ones, those that the stream does not tell of yet.
  [[nodiscard]] std::uint64_t unsaid() const { return unsaid_; }
  // Whether to read on would cost lines of a reader that is fast enough.
  bool wants_pause(std::int64_t now_ms);
  // When the pause is over at the latest.
  [[nodiscard]] std::optional<std::int64_t> pause_until() const;

 private:
  // How much of it was taken.
  std::size_t write(std::string_view bytes);
  void make_room(std::size_t size);
  void drop_all();

  sys::NonblockingWriter writer_;
  std::string front_;  // the rest of a line that was taken in part, or what is said of a gap
  std::string queue_;
  std::size_t head_ = 0;  // of queue_: what is before it was written
  bool at_line_start_ = true;
  std::uint64_t unsaid_ = 0;  // dropped between front_ and queue_
  std::uint64_t noted_ = 0;   // what front_ says of it; 0: front_ is no note
  bool full_ = false;         // the disk was, just now
  bool no_room_ = false;      // why it was dropped
  std::uint64_t written_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t full_since_ms_ = 0;  // 0: it is not
  bool slow_ = false;
  bool dead_ = false;
};

}  // namespace logtee
