#pragma once
// The mirror of the job's output on our own stdout or stderr. It never waits for whoever reads
// that: what is not taken at once is kept. While much is kept, should_pause_input() asks to read no
// more, which holds the job up as its own pipe would. Only a reader that has read nothing for the
// patience costs lines: from then on, and until it reads again, kMaxKept is kept and the oldest
// lines are dropped and counted. The count is said in the stream where they are missing; what could
// not be said there is missing().

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "init/sys/nonblocking_writer.h"
#include "init/tee/lost.h"

namespace logtee {

class StdoutMirror {
 public:
  static constexpr std::size_t kMaxKept = 1U << 20;

  // `lost`: what is dropped is counted there too; nullptr: it is not.
  StdoutMirror(int standard_fd, std::int64_t patience_ms, LostCount* lost = nullptr)
      : writer_(standard_fd), patience_ms_(patience_ms), lost_(lost) {}

  // From now on `inside` says whether the last byte that was written does not end a line.
  void show_line_state(std::atomic<bool>* inside) { inside_ = inside; }

  // Keeps bytes for flush().
  void put(std::string_view bytes);
  // Writes what is taken now.
  void flush();
  // Both, without a copy of what is taken now.
  void pass(std::string_view bytes);
  // Takes what `pipe` holds as it is, without a copy, where nothing has to go out before: how much,
  // while the pipe still holds it. 0: pass() it. passed() is to be told of it when it is read.
  std::size_t take_pages(int pipe, std::size_t most);
  void passed(std::string_view bytes);
  // There is something to write: what to poll for POLLOUT, or -1.
  [[nodiscard]] int waits_for() const { return pending() > 0 && !waits_ ? writer_.fd() : -1; }
  [[nodiscard]] std::size_t pending() const { return front_.size() + queue_.size() - head_; }
  // Bytes that were written so far, and those that were dropped.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Of all that was put, what was not written, and of which the stream does not tell.
  [[nodiscard]] std::uint64_t missing() const;
  // Nothing is written any more: what has not been is lost.
  void give_up_rest();

  // Whether what is put should wait until the reader has read. To be asked in each turn.
  bool should_pause_input(std::int64_t now_ms);
  // For how long something has waited and nothing was read; 0: it was, since this was last asked.
  std::int64_t unread_ms(std::int64_t now_ms);
  // When that is the patience, if nothing is read until then.
  [[nodiscard]] std::int64_t patience_ends_ms() const { return unread_since_ms_ + patience_ms_; }
  // Nothing was read for the patience; what is put does not wait.
  [[nodiscard]] bool given_up() const { return given_up_; }
  void set_patience(std::int64_t patience_ms) { patience_ms_ = patience_ms; }
  [[nodiscard]] std::int64_t patience_ms() const { return patience_ms_; }
  // Somebody else still writes there: nothing is written before that is over.
  void wait_for_another(bool waits) { waits_ = waits; }

  // Nobody will ever read it: the reader went away, or there never was one.
  [[nodiscard]] bool dead() const { return gone_; }
  // It is on a full disk.
  [[nodiscard]] bool no_room() const { return no_room_; }

 private:
  // How much of it was taken.
  std::size_t write(std::string_view bytes);
  void set_at_line_start(bool at_line_start);
  void note_gap();
  void make_room(std::size_t size);
  void drop_all();
  void count_lost(std::string_view bytes);

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
  std::int64_t patience_ms_;
  LostCount* lost_;
  std::atomic<bool>* inside_ = nullptr;
  std::int64_t unread_since_ms_ = 0;
  std::uint64_t written_then_ = 0;            // of written_
  std::optional<std::size_t> unread_then_{};  // in the pipe
  bool holds_ = false;
  bool given_up_ = false;
  bool waits_ = false;
  bool gone_ = false;
};

}  // namespace logtee
