#pragma once
// Copies the job's output to trainit's own stdout or stderr, without ever waiting for the reader.
// Bytes that the reader does not take at once are kept. If many bytes are kept,
// should_pause_input() tells the caller to read no more, which blocks the job as its own pipe
// would.
//
// Lines are lost only if the reader has read nothing for `reader_timeout_ms`
// (--log-reader-timeout). From then on, until it reads again, kMaxKept bytes are kept, and the
// oldest lines are dropped and counted. The stream then says, where the gap is, how many bytes are
// missing. missing() returns the number of bytes that it could not report.

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

  // `lost` also counts the lines that are dropped; it may be nullptr.
  StdoutMirror(int standard_fd, std::int64_t reader_timeout_ms, LostCount* lost = nullptr)
      : writer_(standard_fd), reader_timeout_ms_(reader_timeout_ms), lost_(lost) {}

  // Sets `inside` after each write: true if the last byte is not a line end.
  void show_line_state(std::atomic<bool>* inside) { inside_ = inside; }

  // Adds bytes to those that flush() writes.
  void put(std::string_view bytes);
  // Writes as much as the descriptor takes now.
  void flush();
  // Does the same as put() and flush(), but does not copy the bytes that are taken at once.
  void pass(std::string_view bytes);
  // Writes what is in `pipe` without a copy, if no earlier bytes are kept. Returns how many bytes
  // were written. They remain in the pipe: read them and call passed(). If it returns 0, use pass()
  // instead.
  std::size_t take_pages(int pipe, std::size_t most);
  void passed(std::string_view bytes);
  // Returns the descriptor to poll for POLLOUT; -1 if nothing is to be written now: no bytes are
  // kept, or another process writes first.
  [[nodiscard]] int waits_for() const { return pending() > 0 && !waits_ ? writer_.fd() : -1; }
  [[nodiscard]] std::size_t pending() const { return front_.size() + queue_.size() - head_; }
  // The number of bytes written so far, and the number of bytes dropped.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Returns how many bytes were neither written nor reported in the stream as missing.
  [[nodiscard]] std::uint64_t missing() const;
  // Ends all writing. Bytes that were not written yet are lost.
  void give_up_rest();

  // Returns true while the caller should read no more from the ranks (backpressure). Call it in
  // every loop iteration.
  bool should_pause_input(std::int64_t now_ms);
  // Returns for how long bytes have waited while the reader read nothing. 0: no bytes wait, or the
  // reader has read since the last call.
  std::int64_t unread_ms(std::int64_t now_ms);
  // Returns when the reader's time-out is over, if it reads nothing until then.
  [[nodiscard]] std::int64_t reader_timeout_ends_ms() const {
    return unread_since_ms_ + reader_timeout_ms_;
  }
  // Returns true if the reader's time-out is over. Ranks are then not blocked, and put() drops the
  // lines that exceed kMaxKept.
  [[nodiscard]] bool given_up() const { return given_up_; }
  void set_reader_timeout(std::int64_t reader_timeout_ms) {
    reader_timeout_ms_ = reader_timeout_ms;
  }
  [[nodiscard]] std::int64_t reader_timeout_ms() const { return reader_timeout_ms_; }
  // While `waits` is true, writes nothing, because another process still writes there.
  void wait_for_another(bool waits) { waits_ = waits; }

  // Returns true if the descriptor has lost its reader for good.
  [[nodiscard]] bool dead() const { return gone_; }
  // Returns true if bytes were dropped because the disk is full.
  [[nodiscard]] bool no_room() const { return no_room_; }

 private:
  // Writes to the descriptor and returns how many bytes were taken.
  std::size_t write(std::string_view bytes);
  void set_at_line_start(bool at_line_start);
  void note_gap();
  void make_room(std::size_t size);
  void drop_all();
  void count_lost(std::string_view bytes);

  sys::NonblockingWriter writer_;
  // The text that must be written first: the rest of a line of which a part was taken, or the note
  // about a gap.
  std::string front_;
  std::string queue_;
  std::size_t head_ = 0;  // index in queue_ of the first byte that was not written yet
  bool at_line_start_ = true;
  std::uint64_t unsaid_ = 0;  // number of bytes that were dropped between front_ and queue_
  // Number of missing bytes that the note in front_ reports; 0: front_ is not a note.
  std::uint64_t noted_ = 0;
  bool full_ = false;     // the disk was full at the last write
  bool no_room_ = false;  // the disk was full when bytes were dropped
  std::uint64_t written_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t reader_timeout_ms_;
  LostCount* lost_;
  std::atomic<bool>* inside_ = nullptr;
  std::int64_t unread_since_ms_ = 0;
  std::uint64_t written_then_ = 0;            // written_ at the last call of unread_ms()
  std::optional<std::size_t> unread_then_{};  // bytes in the pipe that the reader had not read then
  bool holds_ = false;
  bool given_up_ = false;
  bool waits_ = false;
  bool gone_ = false;
};

}  // namespace logtee
