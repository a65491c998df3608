#pragma once
// Progress of a copy: counters that the copying processes share in memory. Several times a second
// they are written to a file beside the copy, for other jobs that wait for the copy. The file is
// never mapped: another user could truncate it, and the reader would get SIGBUS.

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
  kChecking,  // comparing the source with what was copied
  kSyncing,   // --durable
  kPublishing,
  kDone,
};
const char* phase_name(Phase phase);  // "copying"

struct Counters {
  std::atomic<Phase> phase;
  std::atomic<std::int64_t> started_ms;  // wall clock, UTC
  std::atomic<std::uint64_t> entries;    // finished files, directories and links
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> kept_entries;  // the part of `entries` that an earlier run has copied
  std::atomic<std::uint64_t> kept_bytes;
  std::atomic<std::uint64_t> total_entries;  // 0 = not known yet
  std::atomic<std::uint64_t> total_bytes;
  std::atomic<CopySide> stalled_side;  // kNone: it does not stall
  std::atomic<std::int64_t> stalled_ms;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Owns the counters.
class SharedCounters {
 public:
  // Makes counters that this process shares with the processes that it forks from now on.
  static base::Result<SharedCounters> anonymous();
  // Makes such counters with a file, which is created or emptied. Its space is allocated at once: a
  // full disk fails here.
  static base::Result<SharedCounters> create(const std::string& path);
  // Reads a file, which may be another user's. Errors: a file that is shorter than Counters, a path
  // that is not a file.
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
