#pragma once
// A pool of workers: several processes that do one thing together, and the one that waits for them.
// They die with it. It holds no lock that they hold, and never touches what may hang.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "init/copy/tree/gate.h"

namespace copy {

// In shared memory: the first failure of a process, for the one that waits.
struct FailureSlot {
  std::atomic<std::uint32_t> claimed;
  std::atomic<std::uint32_t> ready;
  std::array<char, 20'000> text;  // the error's four parts, each ended by a NUL
};

// CPUs that this process may use.
int available_cpus();
// How many are to copy at most: several for each CPU, from 8 to 32; `asked` (up to 64) where it is
// not 0.
int pool_size(int asked);

struct Pool {
  int size = 1;
  // So many begin, 0 = all, and others come while these wait for storage more than they compute.
  // Those that only wait for CPUs are held at the gate again.
  int first = 0;
  Gate* gate = nullptr;               // in memory that the processes share; needed with `first`
  std::function<bool()> useful = {};  // there is something to do for more than there are
  std::function<void()> begun = {};   // called once they run
};
// How many are to begin: as many as there are CPUs, which are enough where nobody waits; or all
// that were asked for.
int first_of_pool(int asked);

// Forks processes that run body(0), body(1), ... and waits until all are done. `tick` is called
// several times a second meanwhile; its error ends them. Errors: theirs (the first), tick's, a
// process that was killed. Afterwards none of them runs, but one that hangs in the kernel.
envgen::Status run_worker_pool(const Pool& pool, FailureSlot& slot,
                               const std::function<envgen::Status(int worker)>& body,
                               const std::function<envgen::Status()>& tick);

}  // namespace copy
