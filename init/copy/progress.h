#pragma once
// The progress of a copy: counters in memory that the copying processes share. Several times a
// second the counters are written to a file beside the copy, for other jobs that wait for it. The
// file is never mapped: another user could truncate it, and the reader would get SIGBUS.

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/stall.h"
#include "init/sys/fd.h"

namespace copy {

enum class Phase : std::uint32_t {
  kScanning,  // counting the source's entries
  kCopying,
  kChecking,  // comparing the source with the copy
  kSyncing,   // writing to the disk (--durable)
  kPublishing,
  kDone,
};
const char* phase_name(Phase phase);  // name for messages: "copying"

struct Counters {
  std::atomic<Phase> phase;
  std::atomic<std::int64_t> started_ms;  // wall clock, UTC
  std::atomic<std::uint64_t> entries;    // files, directories and links that are finished
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> kept_entries;  // the part of `entries` that an earlier run has copied
  std::atomic<std::uint64_t> kept_bytes;
  std::atomic<std::uint64_t> total_entries;  // 0 = not known yet
  std::atomic<std::uint64_t> total_bytes;
  std::atomic<CopySide> stalled_side;  // the side that the copy waits for in a stall; kNone: no
                                       // stall
  std::atomic<std::int64_t> stalled_ms;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// A holder of counters, which unmaps them at its end.
class SharedCounters {
 public:
  // Makes counters that this process shares with all processes that it forks afterwards.
  static base::Result<SharedCounters> anonymous();
  // Makes counters that are also written to the file `path`, which is created or emptied. Its space
  // is allocated at once, so a full disk is an error here.
  static base::Result<SharedCounters> create(const std::string& path);
  // Reads the counters in a file, which may be another user's. Fails if `path` is not a regular
  // file, or the file is shorter than Counters.
  static base::Result<SharedCounters> open(const std::string& path);

  SharedCounters(SharedCounters&& other) noexcept;
  SharedCounters& operator=(SharedCounters&& other) noexcept;
  ~SharedCounters();
  [[nodiscard]] Counters& get() const { return *counters_; }
  // Writes the counters to the file, if there is one.
  void save() const;

 private:
  explicit SharedCounters(Counters* counters) : counters_(counters) {}
  Counters* counters_ = nullptr;
  sys::Fd file_;
};

}  // namespace copy
