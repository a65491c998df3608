#pragma once
// The resolver: a forked child that reads and parses everything that comes from outside, waits for
// the rank table, sources scripts, writes the plan's files, waits for the peers, meets the other
// nodes before a restart, and hands PID 1 a flat plan over a pipe. Its crash, a hang or a table of
// any size costs an error, never the container.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"
#include "init/engine/workers/messages.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"

namespace engine {

struct ResolverWaits {  // said when the reason changes
  std::string reason;
};
struct ResolverFailed {
  int exit_code = 125;  // 124: the rank table, a peer or another node was not ready in time
  std::string message;
};
using ResolverNews = std::variant<ResolverWaits, ResolverFailed, envgen::Plan>;

// Fills the snapshot's paths and gives the answer; collect_and_resolve is the one that ships.
using Planner =
    std::function<envgen::Answer(envgen::Snapshot& snapshot, const envgen::Request& request)>;

class Resolver {
 public:
  // `base` has argv, environment and facts; the child looks at paths anew at each poll. `restarts`:
  // of this node so far, the one ahead included; 0 for its first start.
  static envgen::Result<Resolver> start(const envgen::Snapshot& base,
                                        const envgen::Request& request,
                                        const proc::SavedSignals& saved,
                                        const Planner& planner = {}, std::uint32_t restarts = 0);

  // Of a child that writes such messages into `pipe`, which does not block.
  Resolver(pid_t pid, sys::Fd pipe);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const sys::Fd& pipe() const { return messages_.pipe(); }
  // What has arrived and is complete; never blocks, and reads a few megabytes at most. A damaged
  // message is a ResolverFailed.
  std::vector<ResolverNews> read_news();
  // Nothing more will come: the child closed its end, or gave its answer.
  [[nodiscard]] bool at_end() const { return messages_.at_end(); }

 private:
  pid_t pid_;
  MessagePipe messages_;
};

// The child's work, without the fork: `send` takes each message. Returns the exit code.
int resolve_and_prepare(envgen::Snapshot snapshot, const envgen::Request& request,
                        const std::function<bool(const ResolverNews&)>& send,
                        const Planner& planner = {}, std::uint32_t restarts = 0);

// Makes the plan's directories and files.
envgen::Status carry_out_files(const envgen::Plan& plan);

}  // namespace engine
