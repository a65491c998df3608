#pragma once
// The proof that a file of an earlier, unfinished copy can be kept without reading it. The earlier
// processes may have been killed at any instant. A complete file has the source's mtime, because
// setting the mtime is the last act on it. A half-written file has the time of its last write.

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
  bool same_boot = false;     // no boot since the first run; a crash may lose written data
  std::int64_t begun_ns = 0;  // when the first run began, wall clock
  bool owners = false;        // the file system keeps owners
  bool modes = true;          // the file system keeps permissions
  bool exact_times = true;    // mtimes are kept to the nanosecond, not rounded
};

// Returns the step of a file system that shows `shown_ns` for `wanted_ns`: one of the steps in use,
// from 1 ns to the 2 s of FAT. 0 = `shown_ns` is not `wanted_ns` rounded.
std::int64_t time_step_of(std::int64_t wanted_ns, std::int64_t shown_ns);
inline bool is_rounding_of(std::int64_t wanted_ns, std::int64_t shown_ns) {
  return time_step_of(wanted_ns, shown_ns) != 0;
}
// The mtime in a manifest whose file system keeps none.
inline constexpr std::int64_t kNoMtime = INT64_MIN;
// Returns whether some file systems do not have this date: before 1980, or after 2038.
bool is_wide_date(std::int64_t ns);
// Returns whether a file system can show `shown_ns` for an mtime `wanted_ns`; for kNoMtime, always.
bool may_be_mtime(std::int64_t wanted_ns, std::int64_t shown_ns);

// Returns whether the copy has the contents that the source has now. `wanted`: the source's state,
// with the owner that the copy is to have.
bool is_proven(const FileState& wanted, const FileState& copy, const ProofRules& rules);

}  // namespace copy
