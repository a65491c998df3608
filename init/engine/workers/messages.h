#pragma once
// The messages of a forked worker. The worker writes them into a pipe, and PID 1 reads them without
// ever blocking, however the worker behaves. Format: {u32 kind, u32 size, bytes}, little endian.

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

// Returns an encoded message, for callers that must not block and write it themselves.
std::string message_of(std::uint32_t kind, std::string_view bytes);
// Blocks until the whole message is in the pipe. Returns false if the pipe has no reader.
bool send_message(int fd, std::uint32_t kind, std::string_view bytes);

class MessagePipe {
 public:
  // Accepts messages of the kinds 1 to `kinds`, of at most `most_bytes` each. `pipe`: non-blocking.
  MessagePipe(sys::Fd pipe, std::uint32_t kinds, std::uint32_t most_bytes)
      : pipe_(std::move(pipe)), kinds_(kinds), most_bytes_(most_bytes) {}

  [[nodiscard]] const sys::Fd& pipe() const { return pipe_; }
  // Releases the descriptor to the caller, who can poll it for the end of the worker.
  [[nodiscard]] sys::Fd release() { return std::move(pipe_); }
  // Passes each complete message that has arrived to `take`, a few megabytes per call at most.
  // `take` returns false if no message may follow. Returns false if a damaged message came.
  bool read(const std::function<bool(std::uint32_t kind, std::string_view bytes)>& take);
  // Returns true if no more messages will come: the worker closed its end, or sent its last or a
  // damaged message.
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
  sys::Fd pipe;  // read end of the pipe with the worker's messages
};

// Forks a worker (proc::fork_worker) that runs `body`. `body` gets the write end of a pipe for its
// messages. The worker also keeps the descriptors in `keep`. `what` is the first part of an error
// message: "starting the resolver".
base::Result<Messenger> fork_messenger(const std::string& what, const proc::SavedSignals& saved,
                                       const std::function<int(int fd)>& body,
                                       std::span<const int> keep = {});

}  // namespace engine
