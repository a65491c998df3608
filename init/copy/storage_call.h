#pragma once
// Calls of a copy at its source, or at the copy, whose storage may be another machine. A call that
// fails for the storage's sake is tried again with pauses, while other processes go on; and whoever
// waits for the processes sees which storage each of them waits for. The only place of both.

#include <atomic>
#include <cstdint>
#include <string>

#include "init/copy/stall.h"
#include "init/sys/fd.h"

namespace copy {

// The storage that a process of a copy waits for, in memory that it shares with the process that
// waits for it. A cache line of its own, as each call writes to it.
struct alignas(64) Waiting {
  std::atomic<CopySide> side;
  std::atomic<std::uint64_t> steps;  // calls that came back, and whatever else is progress

  void step() { steps.fetch_add(1, std::memory_order_relaxed); }
};

// Returns true for an errno that says something about the storage: not about the entry or its name,
// what a file system can do, or what the caller may.
bool is_storage_error(int error);

// Tries of a call that fails for the storage's sake.
inline constexpr int kMaxTries = 4;
// Text of the errno of a call that is not tried again any more; and what to do then.
std::string tried_text(int error);
inline constexpr const char* kCheckStorage =
    "check the storage and the network to it; run it again: it goes on";

// A call and its tries.
class StorageCall {
 public:
  // `waiting`: nullptr where no process looks.
  StorageCall(Waiting* waiting, CopySide side);
  StorageCall(const StorageCall&) = delete;
  StorageCall& operator=(const StorageCall&) = delete;
  ~StorageCall();
  // Returns true, after a pause, if another try is due. Call it after a try that failed with errno,
  // which stays.
  bool again();

 private:
  Waiting* waiting_;
  CopySide before_ = CopySide::kNone;
  int tries_ = 1;
};

inline bool has_failed(const sys::Fd& opened) { return !opened.valid(); }
inline bool has_failed(bool done) { return !done; }
template <typename Integer>
bool has_failed(Integer result) {
  return result < 0;
}

// Returns the last result of `call`, which sets errno when it fails.
template <typename Call>
auto ask_storage(Waiting* waiting, CopySide side, const Call& call) {
  StorageCall tries(waiting, side);
  for (;;) {
    auto result = call();
    if (!has_failed(result) || !tries.again()) return result;
  }
}
template <typename Call>
auto ask_source(Waiting* waiting, const Call& call) {
  return ask_storage(waiting, CopySide::kSource, call);
}

}  // namespace copy
