#pragma once
// Times of files. Some FUSE file systems invent new times at each stat(): these times mean nothing.

#include <sys/stat.h>

#include <cstdint>
#include <optional>

namespace copy {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t to_ns(const timespec& time) {
  return (std::int64_t{time.tv_sec} * kNsPerSecond) + time.tv_nsec;
}

// State of one process: the times that it has seen of the current file system.
struct TimesOfDevice {
  std::optional<dev_t> device = {};
  bool looked = false;
  bool looked_young = false;  // a file whose time is less than a moment old
  bool made_up = false;
};

// Replaces times in `status` that change at each stat() of the regular file by constants. `name`
// lies in `directory`; "" is the open file itself. Returns whether the mtime was replaced. Sleeps
// for some milliseconds once a file system.
bool settle_times(TimesOfDevice& known, int directory, const char* name, struct stat& status);

// Returns whether settle_times() replaced the ctime. Nothing proves then that the file is
// unchanged.
bool is_time_made_up(const struct stat& status);

}  // namespace copy
