#pragma once
// A pool of worker processes, and the process that waits for them. The workers die with the waiting
// process, which takes none of their locks and never accesses a file system that may hang.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "init/copy/tree/worker_limit.h"

namespace copy {

// The first failure of a worker, in shared memory.
struct FailureSlot {
  std::atomic<std::uint32_t> claimed;
  std::atomic<std::uint32_t> ready;
  std::array<char, 20'000> text;  // the error's four parts, each ended by a NUL
};

inline constexpr int kMaxWorkers = 64;

// Returns the number of CPUs that this process may use, by affinity and the cgroup's quota.
int available_cpus();
// Returns the largest number of copying processes: `asked`; if that is 0, kMaxWorkers, and the load
// decides how many work (PoolLoad).
int pool_size(int asked);

struct Pool {
  int size = 1;
  // The number of workers at the beginning, 0 = all. More are started while the working ones wait
  // for storage longer than they compute, and paused while they wait for CPUs.
  int first = 0;
  WorkerLimit* worker_limit =
      nullptr;  // limit in memory that the processes share; needed with `first`
  std::function<bool()> useful = {};  // returns whether more workers would find work
  std::function<void()> begun = {};   // called when the first workers run
};
// Returns Pool::first: the number of CPUs, which suffices if no worker waits; 0 if `asked` is
// given.
int first_of_pool(int asked);

// Forks processes that run body(0), body(1), ... and blocks until all have exited. Calls `tick`
// several times a second; an error of `tick` ends the workers. Errors: the first one of a worker,
// tick's, a worker that was killed. Afterwards no worker runs, except one in D state.
base::Status run_worker_pool(const Pool& pool, FailureSlot& slot,
                             const std::function<base::Status(int worker)>& body,
                             const std::function<base::Status()>& tick);

}  // namespace copy
