#pragma once
// Decides whether a file of an earlier, unfinished copy can be kept without reading it, although
// the earlier processes may have been killed at any instant. Setting the mtime is the last act on a
// file. So a complete file has the source's mtime, and a half-written file has the time of its last
// write.

#include <cstdint>

namespace copy {

struct FileState {
  std::uint32_t mode = 0;  // type and permissions
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
};

struct ProofRules {
  bool same_boot = false;     // the machine has not booted since the first run; at a boot, written
                              // data may have been lost
  std::int64_t begun_ns = 0;  // start of the first run, wall clock
  bool owners = false;        // the file system keeps owners
  bool modes = true;          // the file system keeps permissions
  bool exact_times = true;    // the file system keeps mtimes to the nanosecond, without rounding
};

// Returns the step to which a file system rounds mtimes, if it shows `shown_ns` after `wanted_ns`
// was set: one of the known steps, from 1 ns to the 2 s of FAT. Returns 0 if `shown_ns` is not
// `wanted_ns` rounded by such a step.
std::int64_t time_step_of(std::int64_t wanted_ns, std::int64_t shown_ns);
inline bool is_rounding_of(std::int64_t wanted_ns, std::int64_t shown_ns) {
  return time_step_of(wanted_ns, shown_ns) != 0;
}
// The mtime in the manifest of a copy whose file system keeps no mtimes.
inline constexpr std::int64_t kNoMtime = INT64_MIN;
// Returns whether some file systems cannot store this date: before 1980, or after 2038.
bool is_wide_date(std::int64_t ns);
// Returns whether a file system can show `shown_ns` after the mtime `wanted_ns` was set. Always
// true for kNoMtime.
bool may_be_mtime(std::int64_t wanted_ns, std::int64_t shown_ns);

// Returns whether `copy` certainly has the contents of the source. `wanted` is the state of the
// source now, with the owner that the copy should have.
bool is_proven(const FileState& wanted, const FileState& copy, const ProofRules& rules);

}  // namespace copy
