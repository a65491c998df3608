#pragma once
// The fallback if trainit's own logic fails (an exception) after a task has started. PID 1 must not
// exit by accident then, because its exit would kill the job. The fallback reaps children, forwards
// signals, and ends with the main tasks.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "envgen/plan/request.h"
#include "init/proc/signals.h"
#include "init/proc/terminal.h"

namespace engine {

// The state of the job when the fallback begins.
struct FallbackJob {
  struct Main {
    pid_t pid = 0;
    bool stop_sent = false;  // the task got a stop signal before the fallback
  };
  std::vector<Main> mains;  // the main tasks that are alive
  bool single = false;      // the job is one command, whose exit code is that of a stopped job
  int failure_code = 0;     // exit code of the failure before the fallback; 0: none
  int stop_signal = 0;      // signal of the stop request before the fallback; 0: none
  // The times of a stop, counted from its request. No hooks run any more, so the main tasks have
  // the whole grace.
  base::Budget stop = base::make_budget({}, {}, 0);
  // Rules of --signal; no rule requests a checkpoint or makes a file now.
  std::vector<base::SignalRule> signals;
  proc::JobControl job_control;
};

// Reaps children and forwards signals. Blocks until all main tasks have ended, and allocates
// nothing. If a main task fails, the others are stopped; tasks still alive at stop.kill_at get
// KILL. Returns the exit code of the first failure. Without a failure, returns 0, or for a stopped
// job the single command's own code or 128 + n.
int reap_and_forward(proc::SignalSource& signals, FallbackJob job);

}  // namespace engine
