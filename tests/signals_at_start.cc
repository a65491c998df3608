// Gives a test program default actions and an empty mask: whoever starts it, a CI runner say, may
// have ignored or blocked signals, also those that glibc keeps to itself (32 and 33).

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace {

// Sanitizers put their handlers in before any constructor of a program runs.
struct KernelAction {
  std::uint64_t handler = 0;
  std::uint64_t flags = 0;
  std::uint64_t restorer = 0;
  std::uint64_t mask = 0;
};

constexpr std::uint64_t kIgnored = 1;
constexpr int kSignals = 64;

[[maybe_unused]] const bool kReset = [] {
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction action;
    if (::syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof action.mask) != 0) continue;
    if (action.handler != kIgnored) continue;
    constexpr KernelAction kDefault;
    ::syscall(SYS_rt_sigaction, signal, &kDefault, nullptr, sizeof kDefault.mask);
  }
  constexpr std::uint64_t kNone = 0;
  constexpr int kSetMask = 2;  // SIG_SETMASK
  ::syscall(SYS_rt_sigprocmask, kSetMask, &kNone, nullptr, sizeof kNone);
  return true;
}();

}  // namespace
