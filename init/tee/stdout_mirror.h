#pragma once
// The mirror of the job's output on trainit's own stdout or stderr. The mirror never waits for the
// reader: bytes that are not taken at once are kept. If much is kept, should_pause_input() tells
// the caller to read no more, which blocks the job as its own pipe would.
//
// Lines are lost only if the reader has read nothing for `reader_timeout_ms`
// (--log-reader-timeout). From then on, and until it reads again, kMaxKept bytes are kept and the
// oldest lines are dropped and counted. The stream says at the gap how many bytes are missing.
// missing() returns those that it could not report.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "init/sys/nonblocking_writer.h"
#include "init/tee/output_totals.h"

namespace logtee {

class StdoutMirror {
 public:
  static constexpr std::size_t kMaxKept = 1U << 20;

  // `lost` also counts what is dropped; it may be nullptr.
  StdoutMirror(int standard_fd, std::int64_t reader_timeout_ms, LostCount* lost = nullptr)
      : writer_(standard_fd), reader_timeout_ms_(reader_timeout_ms), lost_(lost) {}

  // Keeps `inside` up to date: true if the last byte that was written does not end a line.
  void show_line_state(std::atomic<bool>* inside) { inside_ = inside; }

  // Keeps bytes for flush().
  void put(std::string_view bytes);
  // Writes what the descriptor takes now.
  void flush();
  // Does put() and flush(), without a copy of what is taken now.
  void pass(std::string_view bytes);
  // Writes what `pipe` holds without a copy, if nothing has to be written before. Returns how many
  // bytes were written; the pipe still holds them. Call passed() when they have been read. 0: use
  // pass().
  std::size_t take_pages(int pipe, std::size_t most);
  void passed(std::string_view bytes);
  // Returns the descriptor to poll for POLLOUT; -1 if nothing can be written now.
  [[nodiscard]] int waits_for() const { return pending() > 0 && !waits_ ? writer_.fd() : -1; }
  [[nodiscard]] std::size_t pending() const { return front_.size() + queue_.size() - head_; }
  // Bytes that were written, and bytes that were dropped, so far.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Returns how many bytes were neither written nor reported as lost in the stream.
  [[nodiscard]] std::uint64_t missing() const;
  // Ends all writing: bytes that have not been written are lost.
  void give_up_rest();

  // Returns true while the caller should read no more from the ranks (backpressure). Call it in
  // every turn.
  bool should_pause_input(std::int64_t now_ms);
  // Returns how long bytes have waited while nothing was read. 0: nothing waits, or the reader has
  // read since the last call.
  std::int64_t unread_ms(std::int64_t now_ms);
  // Returns when the time-out ends if nothing is read until then.
  [[nodiscard]] std::int64_t reader_timeout_ends_ms() const {
    return unread_since_ms_ + reader_timeout_ms_;
  }
  // Returns true if nothing was read for the time-out. The ranks are then not blocked, and put()
  // drops lines above kMaxKept.
  [[nodiscard]] bool given_up() const { return given_up_; }
  void set_reader_timeout(std::int64_t reader_timeout_ms) {
    reader_timeout_ms_ = reader_timeout_ms;
  }
  [[nodiscard]] std::int64_t reader_timeout_ms() const { return reader_timeout_ms_; }
  // Writes nothing while another process still writes there.
  void wait_for_another(bool waits) { waits_ = waits; }

  // Returns true if the descriptor has no reader and never will have one.
  [[nodiscard]] bool dead() const { return gone_; }
  // Returns true if bytes were dropped because the disk is full.
  [[nodiscard]] bool no_room() const { return no_room_; }

 private:
  // Returns how many bytes were taken.
  std::size_t write(std::string_view bytes);
  void set_at_line_start(bool at_line_start);
  void note_gap();
  void make_room(std::size_t size);
  void drop_all();
  void count_lost(std::string_view bytes);

  sys::NonblockingWriter writer_;
  // The rest of a line that was taken in part, or the note about a gap.
  std::string front_;
  std::string queue_;
  std::size_t head_ = 0;  // index in queue_: the bytes before it were written
  bool at_line_start_ = true;
  std::uint64_t unsaid_ = 0;  // bytes dropped between front_ and queue_
  // Number of bytes that the note in front_ reports; 0: front_ is no note.
  std::uint64_t noted_ = 0;
  bool full_ = false;     // the disk was full just now
  bool no_room_ = false;  // the disk was full when bytes were dropped
  std::uint64_t written_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t reader_timeout_ms_;
  LostCount* lost_;
  std::atomic<bool>* inside_ = nullptr;
  std::int64_t unread_since_ms_ = 0;
  std::uint64_t written_then_ = 0;            // value of written_ at the last unread_ms()
  std::optional<std::size_t> unread_then_{};  // unread bytes in the pipe
  bool holds_ = false;
  bool given_up_ = false;
  bool waits_ = false;
  bool gone_ = false;
};

}  // namespace logtee
