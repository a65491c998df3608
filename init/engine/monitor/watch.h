#pragma once
// The watcher of an elastic job: a forked worker that reads the list of nodes again and again while
// the job runs, tells PID 1 once when it has become another one for good, and ends. It decides
// nothing, and its crash, a hang or a list of any size costs the job nothing.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"
#include "init/engine/resolve/resolver.h"
#include "init/engine/workers/messages.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"

namespace engine {

struct WatchTimes {
  std::int64_t look_ms = 2000;
  std::int64_t stable_ms = 4000;  // for so long a new list has to stay as it is
};

class Watcher {
 public:
  // `running_id`: the running plan's cluster_id. With 0 the first list that it reads counts as
  // that.
  static envgen::Result<Watcher> start(const envgen::Snapshot& base, const envgen::Request& request,
                                       std::uint64_t running_id, const proc::SavedSignals& saved,
                                       const Planner& planner = {}, WatchTimes times = {});

  // Of a child that writes such messages into `pipe`, which does not block.
  Watcher(pid_t pid, sys::Fd pipe);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const sys::Fd& pipe() const { return messages_.pipe(); }
  // "membership changed: 3 nodes -> 2 (gone: c)" when that has arrived; never blocks. A damaged
  // message is no news.
  std::optional<std::string> read_news();
  // Nothing more will come. Without news: it failed, and the list is no longer watched.
  [[nodiscard]] bool at_end() const { return messages_.at_end(); }

 private:
  pid_t pid_;
  MessagePipe messages_;
};

// The child's work, without the fork: returns when it has sent its message, or could not. A list
// that cannot be read or used, or that waits for more nodes, is no change, and begins the time
// anew.
int watch(envgen::Snapshot snapshot, const envgen::Request& request, std::uint64_t running_id,
          const std::function<bool(const std::string&)>& send, const Planner& planner = {},
          WatchTimes times = {});

}  // namespace engine
