#pragma once
// A pool of workers: several processes that do one thing together, and the one that waits for them.
// They die with it. It holds no lock that they hold, and never touches what may hang.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace copy {

// In shared memory: the first failure of a process, for the one that waits.
struct FailureSlot {
  std::atomic<std::uint32_t> claimed;
  std::atomic<std::uint32_t> ready;
  std::array<char, 20'000> text;  // the error's four parts, each ended by a NUL
};

// CPUs that this process may use.
int available_cpus();
// How many are to copy: several for each CPU, from 8 to 32; `asked` (up to 64) where it is not 0.
int pool_size(int asked);

// Forks `size` processes that run body(0), body(1), ... and waits until all are done. `tick` is
// called several times a second meanwhile; its error ends them. `begun` is called once they run.
// Errors: theirs (the first), tick's, a process that was killed. Afterwards none of them runs, but
// one that hangs in the kernel.
envgen::Status run_worker_pool(int size, FailureSlot& slot,
                               const std::function<envgen::Status(int worker)>& body,
                               const std::function<envgen::Status()>& tick,
                               const std::function<void()>& begun = {});

}  // namespace copy
