#pragma once
// The resolver: a forked child that reads and parses everything that comes from outside, waits for
// the rank table, writes the plan's files and hands PID 1 a flat plan over a pipe. Its crash, a
// hang or a table of any size costs an error, never the container.
//
// Wire: messages of {u32 kind, u32 size, bytes}, little endian.

#include <sys/types.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "envgen/plan.h"
#include "envgen/request.h"
#include "envgen/result.h"
#include "envgen/snapshot.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"

namespace engine {

struct ResolverWaits {  // said when the reason changes
  std::string reason;
};
struct ResolverFailed {
  int exit_code = 125;  // 124: the rank table was not ready in time
  std::string message;
};
using ResolverNews = std::variant<ResolverWaits, ResolverFailed, envgen::Plan>;

class Resolver {
 public:
  // `base` has argv, environment and facts; the child looks at paths anew at each poll.
  static envgen::Result<Resolver> start(const envgen::Snapshot& base,
                                        const envgen::Request& request,
                                        const proc::SavedSignals& saved);

  // Of a child that writes such messages into `pipe`, which does not block.
  Resolver(pid_t pid, sys::Fd pipe) : pid_(pid), pipe_(std::move(pipe)) {}

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const sys::Fd& pipe() const { return pipe_; }
  // What has arrived and is complete; never blocks, and reads a few megabytes at most. A damaged
  // message is a ResolverFailed.
  std::vector<ResolverNews> read_news();
  // Nothing more will come: the child closed its end, or gave its answer.
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  bool take_message(std::vector<ResolverNews>& news);

  pid_t pid_;
  sys::Fd pipe_;
  std::string buffer_;
  bool at_end_ = false;
};

// The child's work, without the fork: `send` takes each message. Returns the exit code.
int resolve_and_prepare(envgen::Snapshot snapshot, const envgen::Request& request,
                        const std::function<bool(const ResolverNews&)>& send);

// Makes the plan's directories and files.
envgen::Status carry_out_files(const envgen::Plan& plan);

}  // namespace engine
