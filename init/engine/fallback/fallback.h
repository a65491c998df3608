#pragma once
// The fallback of an init whose own logic failed. It reaps children, forwards signals, and ends
// with the main tasks, because PID 1 must not exit by accident once a task has started.

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
    bool stop_sent = false;  // the task got a stop signal, and gets no second one of that kind
  };
  std::vector<Main> mains;  // the main tasks that are alive
  bool single = false;      // the job is one command, whose own exit code is the result of a stop
  int failure_code = 0;     // exit code of the failure before the fallback; 0: none
  int stop_signal = 0;      // signal of the stop request before the fallback; 0: none
  // The times of the stop, counted from its request. Only the main tasks are left, so no hook gets
  // a part of the grace.
  base::Budget stop = base::make_budget({}, {}, 0);
  std::vector<base::SignalRule> signals;  // rules of --signal; none saves or makes files now
  proc::JobControl job_control;
};

// Reaps and forwards until all main tasks have ended. Blocks until then, and allocates nothing. If
// a main task fails, the others are stopped; tasks still alive at stop.kill_at get KILL. Returns
// the exit code of the first failure. Without a failure, returns 0, or for a stopped job the single
// command's own code or 128 + n.
int reap_and_forward(proc::SignalSource& signals, FallbackJob job);

}  // namespace engine
