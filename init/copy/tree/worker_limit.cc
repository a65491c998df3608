#include "init/copy/tree/worker_limit.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace copy {
namespace {

// Calls futex. It is not a private futex, because another process wakes this one.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  return ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

void WorkerLimit::wait_turn(std::uint32_t number) {
  for (std::uint32_t now = limit_; number >= now; now = limit_) {
    // Returns at once if the limit has changed since it was read.
    futex(limit_, FUTEX_WAIT, now);
  }
}

void WorkerLimit::set(std::uint32_t before, std::uint32_t limit) {
  if (limit_.compare_exchange_strong(before, limit)) wake();
}

void WorkerLimit::open() {
  if (limit_.exchange(kOpen) != kOpen) wake();
}

void WorkerLimit::wake() { futex(limit_, FUTEX_WAKE, INT_MAX); }

}  // namespace copy
