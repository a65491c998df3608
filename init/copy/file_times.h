#pragma once
// Detects invented times of files: some FUSE file systems show new times at each stat(), so their
// times mean nothing.

#include <sys/stat.h>

#include <cstdint>
#include <optional>

namespace copy {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t to_ns(const timespec& time) {
  return (std::int64_t{time.tv_sec} * kNsPerSecond) + time.tv_nsec;
}

// The times of a file system that one process has seen.
struct TimesOfDevice {
  std::optional<dev_t> device = {};
  bool looked = false;
  bool looked_young = false;  // a file was seen whose time was less than a moment old
  bool made_up = false;
};

// Calls stat() again to find times in `status` that change each time, and replaces them by
// constants. `name` is a regular file in `directory`; "" is the open file itself. Returns true if
// the mtime was replaced. Sleeps for some milliseconds once for each file system.
bool settle_times(TimesOfDevice& known, int directory, const char* name, struct stat& status);

// Returns whether settle_times() has replaced the ctime. Nothing can then prove that the file is
// unchanged.
bool is_time_made_up(const struct stat& status);

}  // namespace copy
