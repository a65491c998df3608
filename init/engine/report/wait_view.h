#pragma once
// The view of what the job waits for before it starts: the rank table, nodes, peers, devices or its
// data. On a screen it is one status line, redrawn until the job starts. Without a screen each
// change is a line in the log, with pauses between two lines that grow. After the first start the
// job owns the screen, so only log lines are written.

#include <cstdint>
#include <optional>
#include <string>

#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// Returns what the job waits for, for example "waiting for 2 of 4 nodes: job-2, job-3 (1m 20s)",
// with the progress of a copy of data if there is one. Returns "" if the job waits for nothing. The
// text has at most `columns` columns and no newline.
std::string wait_text(const Job& job, std::int64_t wall_ms, int columns);

class WaitView {
 public:
  // Shows the current state. Call it when something has changed, and at due_ms().
  void show(const Job& job, const lifecycle::Machine& machine);
  // Returns when show() is due, to redraw the times or to log the next line; monotonic clock.
  [[nodiscard]] std::optional<std::int64_t> due_ms() const { return due_ms_; }

 private:
  void say(const Job& job, std::int64_t now_ms);

  std::optional<std::int64_t> due_ms_;
  std::string said_;
  int lines_ = 0;
  std::int64_t pause_ms_ = 0;
  std::int64_t next_ms_ = 0;
};

}  // namespace engine
