#pragma once
// The output of each process that the tee has seen: counts, times, the last bytes of each stream.
// It is in memory that PID 1 maps before it forks. Only the tee writes (after its death, the next
// tee). Any number of readers, in PID 1 and in workers forked from it, read without waiting for the
// tee. A reader trusts only the sizes that it knows itself, so a tee that misbehaves can at worst
// make it read wrong text.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace logtee {

// Size of the ring buffer of a stream. Parts that were never written take no memory.
inline constexpr std::size_t kRingBytes = 256U << 10;

// A stream of a process. If its two streams go to one place (a file, a terminal), it has only kOut.
enum class Stream : unsigned char { kOut, kErr };

// Resolution and number of the marks, which record when bytes of a stream arrived.
inline constexpr std::int64_t kMarkMs = 250;
inline constexpr std::size_t kMarks = 16;
inline constexpr std::int64_t kTogetherMs = 1000;

struct Seen {
  std::uint64_t bytes = 0;  // bytes of both streams
  // Time of the last byte (sys::monotonic_ms()); 0: no byte has arrived.
  std::int64_t last_ms = 0;
};

struct Tail {
  std::string text;
  std::size_t fresh = 0;  // how many bytes at the end of the text are new
};

class Shared {
 public:
  // Maps the memory; fails if mmap fails. All streams count as ended until open().
  static base::Result<Shared> make(std::size_t processes);
  Shared(Shared&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Shared& operator=(Shared&& other) noexcept;
  ~Shared();

  // Functions for readers. An unknown process has no output and has ended.
  [[nodiscard]] Seen seen(std::size_t process) const;
  [[nodiscard]] Seen seen(std::size_t process, Stream stream) const;
  // Returns the end of the process's stdout and stderr, together at most kRingBytes. Each of the
  // two gets at least half of that if it has as much. The bytes are unchanged, so they may begin
  // within a line or a character.
  //
  // stdout comes before stderr. Reason: stdout is buffered, so it often arrives after the message
  // on stderr of which a program dies. But lines of stderr that came more than kTogetherMs before
  // the end of stdout are put first, because the process has survived them.
  [[nodiscard]] std::string output_tail(std::size_t process) const;
  // Returns true if a process is blocked, or will soon be, because a reader of trainit's stdout or
  // stderr does not read.
  [[nodiscard]] bool held() const;
  // Returns the last kRingBytes of one stream.
  [[nodiscard]] std::string output_tail(std::size_t process, Stream stream) const;
  // Returns the last kRingBytes of one stream, and how many bytes at their end were printed since
  // `since_ms` (sys::monotonic_ms()). The resolution is kMarkMs, and only the last kMarks * kMarkMs
  // are known.
  [[nodiscard]] Tail output_tail(std::size_t process, Stream stream, std::int64_t since_ms) const;
  // Returns true if the tee is not in the middle of a read of this stream.
  [[nodiscard]] bool is_whole(std::size_t process, Stream stream) const;
  // Returns true if the output of the process goes through the tee.
  [[nodiscard]] bool has(std::size_t process) const;
  // Returns true if no process holds the write end of either stream any more, and all output was
  // seen.
  [[nodiscard]] bool ended(std::size_t process) const;

  // Functions for the writer. PID 1 calls open() before it starts the writer.
  void open(std::size_t process, Stream stream);
  // Repairs what a previous writer left unfinished when it was killed.
  void take_over();
  // Returns where in the ring the next bytes of the stream should be read to, so that no copy is
  // needed. The span ends at the ring's end. Call begin() before each read, and add() after it,
  // even if no bytes were read. If the bytes are elsewhere, add() copies them. They remain in the
  // ring until the next begin() of the stream.
  std::span<char> begin(std::size_t process, Stream stream);
  void add(std::size_t process, Stream stream, std::string_view bytes, std::int64_t now_ms);
  void hold(std::size_t process, Stream stream, bool held);
  void end(std::size_t process, Stream stream);

 private:
  struct Board;
  Shared(void* memory, std::size_t count) : memory_(memory), count_(count) {}
  [[nodiscard]] Board* board(std::size_t process, Stream stream) const;
  [[nodiscard]] char* ring(std::size_t process, Stream stream) const;
  std::string read_ring(std::size_t process, Stream stream, std::uint64_t& total) const;

  void* memory_;  // for each process two boards, then the rings of all processes
  std::size_t count_;
};

}  // namespace logtee
