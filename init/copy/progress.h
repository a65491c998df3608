#pragma once
// Progress of a copy: counters that the copying processes share in memory, and that are written to
// a file beside the copy several times a second, so that who waits for it sees them too. The file
// is never mapped: whoever truncates it would end who looks with SIGBUS.

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/sys/fd.h"

namespace copy {

enum class Phase : std::uint32_t {
  kScanning,  // counting, to know what is to be done
  kCopying,
  kChecking,  // that the source is still what was copied
  kSyncing,   // --durable
  kPublishing,
  kDone,
};
const char* phase_name(Phase phase);  // "copying"

struct Counters {
  std::atomic<Phase> phase;
  std::atomic<std::int64_t> started_ms;  // wall clock, UTC
  std::atomic<std::uint64_t> entries;    // done: files, directories, links
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> kept_entries;  // of these, there before and proven
  std::atomic<std::uint64_t> kept_bytes;
  std::atomic<std::uint64_t> total_entries;  // 0 = not known yet
  std::atomic<std::uint64_t> total_bytes;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The counters; they stay valid as long as it lives.
class SharedCounters {
 public:
  // For the processes forked from here on.
  static envgen::Result<SharedCounters> anonymous();
  // And for a file, made or emptied; its space is taken at once, so that a full disk fails here.
  static envgen::Result<SharedCounters> create(const std::string& path);
  // What somebody's file says now: also another user's. Fails also for a file that is shorter than
  // Counters, and for what is none.
  static envgen::Result<SharedCounters> open(const std::string& path);

  SharedCounters(SharedCounters&& other) noexcept;
  SharedCounters& operator=(SharedCounters&& other) noexcept;
  ~SharedCounters();
  [[nodiscard]] Counters& get() const { return *counters_; }
  // Into the file, where there is one.
  void save() const;

 private:
  explicit SharedCounters(Counters* counters) : counters_(counters) {}
  Counters* counters_ = nullptr;
  sys::Fd file_;
};

}  // namespace copy
