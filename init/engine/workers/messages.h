#pragma once
// Messages that a forked worker writes into a pipe and PID 1 reads without ever blocking, however
// the worker behaves: {u32 kind, u32 size, bytes}, little endian.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"

namespace engine {

// As it is in the pipe, for those that may not block.
std::string message_of(std::uint32_t kind, std::string_view bytes);
// Blocks until all of it is in the pipe; false when nobody reads it.
bool send_message(int fd, std::uint32_t kind, std::string_view bytes);

class MessagePipe {
 public:
  // Takes messages of the kinds 1 .. `kinds` with at most `most_bytes`. `pipe` does not block.
  MessagePipe(sys::Fd pipe, std::uint32_t kinds, std::uint32_t most_bytes)
      : pipe_(std::move(pipe)), kinds_(kinds), most_bytes_(most_bytes) {}

  [[nodiscard]] const sys::Fd& pipe() const { return pipe_; }
  // Gives the descriptor away: whoever has it sees the worker's end.
  [[nodiscard]] sys::Fd release() { return std::move(pipe_); }
  // Hands each message that has arrived and is complete to `take`, which returns false when nothing
  // may follow it; of one call a few megabytes at most. False: a damaged one came.
  bool read(const std::function<bool(std::uint32_t kind, std::string_view bytes)>& take);
  // Nothing more will come: the worker closed its end, gave its last message, or a damaged one.
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  enum class Next : unsigned char { kTaken, kIncomplete, kDamaged };
  Next take_next(const std::function<bool(std::uint32_t kind, std::string_view bytes)>& take);

  sys::Fd pipe_;
  std::uint32_t kinds_;
  std::uint32_t most_bytes_;
  std::string buffer_;
  bool at_end_ = false;
};

struct Messenger {
  pid_t pid = -1;
  sys::Fd pipe;  // the end to read
};

// proc::fork_worker with a pipe, whose other end `body` gets to send messages with; it keeps the
// descriptors of `keep` too. `what` is the beginning of an error: "starting the resolver".
envgen::Result<Messenger> fork_messenger(const std::string& what, const proc::SavedSignals& saved,
                                         const std::function<int(int fd)>& body,
                                         std::span<const int> keep = {});

}  // namespace engine
