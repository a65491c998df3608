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
    left_ = kCount;
    last_ = last;
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

  static int left() { return left_; }

 private:
  static void set_timer(int us) {
    const itimerval interval{{0, us}, {0, us}};
    ::setitimer(ITIMER_REAL, &interval, nullptr);
  }
  static void handle(int /*signal*/) {
    if (left_ > 1) left_ = left_ - 1;
    if (left_ != 1 || !last_()) return;
    left_ = 0;
    set_timer(0);
  }

  static inline volatile std::sig_atomic_t left_ = 0;
  static inline bool (*last_)() = nullptr;
  struct sigaction before_{};
};

}  // namespace child
