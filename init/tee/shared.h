#pragma once
// The tee's view of each process's output, in memory that PID 1 maps before it forks: counts,
// times, and the last bytes of each stream. One writer, the tee (after its death the next one); any
// number of readers, in PID 1 and in workers forked from it, none of which ever waits or asks. A
// reader trusts nothing but the sizes it knows: the worst that a tee gone mad can do to it is
// nonsense in the text.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace logtee {

// Of a stream. It takes memory only where something was printed.
inline constexpr std::size_t kRingBytes = 256U << 10;

// A process whose two streams go to one place (a file, a terminal) has stdout only.
enum class Stream : unsigned char { kOut, kErr };

// The times at which bytes of a stream came are kept so finely, and so many of them.
inline constexpr std::int64_t kMarkMs = 250;
inline constexpr std::size_t kMarks = 16;
inline constexpr std::int64_t kTogetherMs = 1000;

struct Seen {
  std::uint64_t bytes = 0;   // of both streams
  std::int64_t last_ms = 0;  // when the last of them came, sys::monotonic_ms(); 0: none has
};

struct Tail {
  std::string text;
  std::size_t fresh = 0;  // bytes at its end
};

class Shared {
 public:
  // Both streams of each process are at their end until open() says otherwise.
  static envgen::Result<Shared> make(std::size_t processes);
  Shared(Shared&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Shared& operator=(Shared&& other) noexcept;
  ~Shared();

  // --- Anybody; a process that is not there has seen nothing and has ended. ---
  [[nodiscard]] Seen seen(std::size_t process) const;
  [[nodiscard]] Seen seen(std::size_t process, Stream stream) const;
  // The end of its stdout, then that of its stderr, together at most kRingBytes, of which each has
  // at least half where it needs that. Bytes as they came: they may begin in the middle of a line
  // or a character. What a program dies of stands on stderr, though stdout, which is buffered,
  // often comes behind it. Lines of stderr that came kTogetherMs before the last of stdout go
  // first: the process has survived them.
  [[nodiscard]] std::string output_tail(std::size_t process) const;
  // A reader of ours that reads nothing holds some process up: it prints, or soon will, in vain.
  [[nodiscard]] bool held() const;
  // The last kRingBytes of one of them.
  [[nodiscard]] std::string output_tail(std::size_t process, Stream stream) const;
  // The same with the part at its end that was printed since then (sys::monotonic_ms()), to
  // kMarkMs; at most that of the last kMarks * kMarkMs.
  [[nodiscard]] Tail output_tail(std::size_t process, Stream stream, std::int64_t since_ms) const;
  // The writer is not in the middle of a read of this stream.
  [[nodiscard]] bool is_whole(std::size_t process, Stream stream) const;
  // It goes through the tee.
  [[nodiscard]] bool has(std::size_t process) const;
  // Nobody holds the writing end of either stream any more, and all of it has been seen.
  [[nodiscard]] bool ended(std::size_t process) const;

  // --- The writer; open() is PID 1's, before there is one. ---
  void open(std::size_t process, Stream stream);
  // Makes whole what a writer before us, which was killed, left half done.
  void take_over();
  // Before each read: where it puts the next bytes, so that they need not be copied there, up to
  // the end of the ring. add(), with nothing if need be, comes behind it, and takes them as they
  // lie there or copies what lies elsewhere. They stay until the next begin() of the stream.
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

  void* memory_;  // two boards a process, and behind all of them the rings
  std::size_t count_;
};

}  // namespace logtee
