#pragma once
// The fallback of an init whose own logic failed: it reaps, forwards signals, and ends with the
// main tasks. Past the point of no return nothing exits by accident.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "envgen/plan/request.h"
#include "init/proc/signals.h"
#include "init/proc/terminal.h"

namespace engine {

// What is known of the job at that moment.
struct FallbackJob {
  struct Main {
    pid_t pid = 0;
    bool stop_sent = false;  // it has had a stop signal, and gets no second one of that kind
  };
  std::vector<Main> mains;  // the main tasks that are alive
  bool single = false;      // the job is one command: when it is stopped, its own code counts
  int failure_code = 0;     // of the failure that there was; 0: none
  int stop_signal = 0;      // the stop request that there was; 0: none
  // The stop, its request at 0. Nothing but the main tasks is left to be given a part of the grace.
  envgen::Budget stop = envgen::make_budget({}, {}, 0);
  std::vector<envgen::SignalRule> signals;  // of --signal; nothing saves or makes files any more
  proc::JobControl job_control;
};

// A main task that fails stops the others; what lives on at stop.kill_at is killed.
// Returns the exit code: the first failure's; of a stopped job the single command's own or 128 + n;
// else 0. Allocates nothing.
int reap_and_forward(proc::SignalSource& signals, FallbackJob job);

}  // namespace engine
