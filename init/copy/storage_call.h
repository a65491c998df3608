#pragma once
// Calls to the storage of a copy's source or of the copy, which may be another machine. A call that
// fails because of the storage is repeated after pauses, while the other processes continue. Each
// process shows which storage it waits for, so that the parent process can report a stall. Only
// this unit repeats calls and records waits.

#include <atomic>
#include <cstdint>
#include <string>

#include "init/copy/stall.h"
#include "init/sys/fd.h"

namespace copy {

// The call that a process of a copy waits for, in memory that the process shares with its parent,
// which reads it. Each process has its own cache line, because each call writes to it.
struct alignas(64) Waiting {
  std::atomic<CopySide> side;
  std::atomic<std::uint64_t> steps;  // number of finished calls and other steps of progress

  void step() { steps.fetch_add(1, std::memory_order_relaxed); }
};

// Returns true if an errno reports a fault of the storage. Returns false if it is about the entry
// or its name, about what the file system supports, or about the caller's rights and limits.
bool is_storage_error(int error);

// Maximum number of tries of a call that fails because of the storage.
inline constexpr int kMaxTries = 4;
// Returns the text of the errno of a call that has failed for good, with the number of tries.
std::string tried_text(int error);
inline constexpr const char* kCheckStorage =
    "check the storage and the network to it; run it again: it goes on";

// One call and its repetitions. While the object exists, `waiting` shows `side`.
class StorageCall {
 public:
  // `waiting` is nullptr if no process reads it.
  StorageCall(Waiting* waiting, CopySide side);
  StorageCall(const StorageCall&) = delete;
  StorageCall& operator=(const StorageCall&) = delete;
  ~StorageCall();
  // Returns true, after a pause, if the call should be repeated. Call it after a try that failed;
  // errno is its reason, and is the same afterwards.
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

// Makes `call`, which sets errno when it fails, with its repetitions. Returns the result of the
// last try.
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
