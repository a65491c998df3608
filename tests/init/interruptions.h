#pragma once
// Signals that interrupt a blocking call: a timer's, each millisecond, with a handler.

#include <sys/time.h>

#include <csignal>

namespace child {

class Interruptions {
 public:
  static constexpr int kCount = 20;

  // From signal kCount on, each calls `last`, which must be safe in a handler, until it returns
  // true.
  explicit Interruptions(bool (*last)()) {
    remaining = kCount;
    is_last = last;
    struct sigaction action{};
    action.sa_handler = handle;
    ::sigaction(SIGALRM, &action, &before_);
    set_timer(1000);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions() {
    set_timer(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

  static int left() { return remaining; }

 private:
  static void set_timer(int us) {
    const itimerval interval{{0, us}, {0, us}};
    ::setitimer(ITIMER_REAL, &interval, nullptr);
  }
  static void handle(int /*signal*/) {
    if (remaining > 1) remaining = remaining - 1;
    if (remaining != 1 || !is_last()) return;
    remaining = 0;
    set_timer(0);
  }

  static inline volatile std::sig_atomic_t remaining = 0;
  static inline bool (*is_last)() = nullptr;
  struct sigaction before_{};
};

}  // namespace child
