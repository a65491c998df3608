#pragma once
// What the job waits for before it starts, for whoever looks at the log: the rank table, nodes,
// peers, devices, its data. On a screen one line that is drawn over until there is something to
// start; otherwise lines when it changes, at most one in so long. After the first start the screen
// is the job's: then there are lines only.

#include <cstdint>
#include <optional>
#include <string>

#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// "waiting for 2 of 4 nodes: job-2, job-3 (1m 20s)", with how far the data is where that is being
// copied; "" when nothing is waited for. Of at most `columns` columns, without an end of line.
std::string wait_text(const Job& job, std::int64_t wall_ms, int columns);

class WaitView {
 public:
  // To be called when something has changed, and when it is due.
  void show(const Job& job, const lifecycle::Machine& machine);
  // When the times in it are to be drawn anew, or the next line may be said: sys::monotonic_ms().
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
