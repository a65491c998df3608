#pragma once
// A pool of worker processes, and the process that waits for them. If the waiting process dies, the
// workers die too. The waiting process takes none of their locks and accesses no file system that
// may hang.

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
  std::array<char, 20'000> text;  // the four texts of the error, each ended by a NUL
};

inline constexpr int kMaxWorkers = 64;

// Returns the number of CPUs that this process may use, by affinity and the cgroup's quota.
int available_cpus();
// Returns the maximum number of copying processes: `asked`, or kMaxWorkers if that is 0. With 0,
// the load decides how many of them work (PoolLoad).
int pool_size(int asked);

struct Pool {
  int size = 1;
  // Number of workers at the beginning; 0 = all. If the working ones wait for storage longer than
  // they compute, more are started. If they wait for CPUs, some are paused.
  int first = 0;
  // the shared limit by which workers are paused; required with `first`
  WorkerLimit* worker_limit = nullptr;
  std::function<bool()> useful = {};  // returns whether further workers would find work
  std::function<void()> begun = {};   // called when the first workers run
};
// Returns Pool::first. If the load decides, this is the number of CPUs, which suffices if no worker
// waits. Returns 0 if `asked` is given.
int first_of_pool(int asked);

// Forks processes that run body(0), body(1), ... and blocks until all have exited. Calls `tick`
// several times a second; if it fails, the workers are ended. Returns the first error of a worker,
// the error of `tick`, or an error for a worker that was killed. No worker runs afterwards, except
// one in D state.
base::Status run_worker_pool(const Pool& pool, FailureSlot& slot,
                             const std::function<base::Status(int worker)>& body,
                             const std::function<base::Status()>& tick);

}  // namespace copy
