#pragma once
// The tee's view of each process's output: counts, times, and the last bytes of each stream. It is
// in memory that PID 1 maps before it forks. The only writer is the tee (after its death the next
// one). Any number of readers, in PID 1 and in workers forked from it, read without waiting or
// asking. A reader trusts only the sizes it knows, so a tee that misbehaves can at worst make it
// read wrong text.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace logtee {

// Size of the ring of a stream. It takes memory only where something was printed.
inline constexpr std::size_t kRingBytes = 256U << 10;

// A process whose two streams go to one place (a file, a terminal) has stdout only.
enum class Stream : unsigned char { kOut, kErr };

// Marks record the times at which bytes of a stream came: their resolution and their number.
inline constexpr std::int64_t kMarkMs = 250;
inline constexpr std::size_t kMarks = 16;
inline constexpr std::int64_t kTogetherMs = 1000;

struct Seen {
  std::uint64_t bytes = 0;  // bytes of both streams
  // Time of the last byte, sys::monotonic_ms(); 0: none has come.
  std::int64_t last_ms = 0;
};

struct Tail {
  std::string text;
  std::size_t fresh = 0;  // number of new bytes at the end of the text
};

class Shared {
 public:
  // Allocates the memory; an error if mmap fails. Both streams of each process are ended until
  // open().
  static base::Result<Shared> make(std::size_t processes);
  Shared(Shared&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Shared& operator=(Shared&& other) noexcept;
  ~Shared();

  // --- Readers: an unknown process has no output and has ended. ---
  [[nodiscard]] Seen seen(std::size_t process) const;
  [[nodiscard]] Seen seen(std::size_t process, Stream stream) const;
  // Returns the end of the process's stdout and stderr, together at most kRingBytes; each has at
  // least half of that if it needs it. The bytes are unchanged, so they may begin within a line or
  // a character.
  //
  // Stdout comes before stderr: stdout is buffered, so it often arrives after the message on stderr
  // that a program dies of. Lines of stderr that came kTogetherMs before the last of stdout are put
  // first, because the process has survived them.
  [[nodiscard]] std::string output_tail(std::size_t process) const;
  // Returns true if a reader of trainit's stdout or stderr that reads nothing blocks a process, now
  // or soon.
  [[nodiscard]] bool held() const;
  // Returns the last kRingBytes of one stream.
  [[nodiscard]] std::string output_tail(std::size_t process, Stream stream) const;
  // Returns the same, and how many bytes at its end were printed since `since_ms`
  // (sys::monotonic_ms()). The resolution is kMarkMs; only the last kMarks * kMarkMs are known.
  [[nodiscard]] Tail output_tail(std::size_t process, Stream stream, std::int64_t since_ms) const;
  // Returns true if the writer is not in the middle of a read of this stream.
  [[nodiscard]] bool is_whole(std::size_t process, Stream stream) const;
  // Returns true if the output goes through the tee.
  [[nodiscard]] bool has(std::size_t process) const;
  // Returns true if no process holds the write end of either stream, and all output has been seen.
  [[nodiscard]] bool ended(std::size_t process) const;

  // --- Writer: PID 1 calls open() before it starts the writer. ---
  void open(std::size_t process, Stream stream);
  // Completes what a previous writer left half done when it was killed.
  void take_over();
  // Returns where the next bytes of the stream can be read to without a copy, up to the end of the
  // ring. Call it before each read. add() must follow, even with no bytes. If the bytes are not at
  // that place, add() copies them. The bytes remain until the next begin() of the stream.
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

  void* memory_;  // two boards per process, then the rings of all processes
  std::size_t count_;
};

}  // namespace logtee
