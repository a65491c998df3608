#pragma once
// The proof that something of an earlier, unfinished run of a copy may be kept unread. Its
// processes may have been killed at any instant, so a file of the copy proves itself: its mtime is
// set as the last act on it, and one that is only half written has that of its last write.

#include <cstdint>

namespace envgen {

struct FileState {
  std::uint32_t mode = 0;  // type and permissions
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
};

struct ProofRules {
  bool same_boot = false;     // since the first run: else what was written may be lost
  std::int64_t begun_ns = 0;  // when the first run began, wall clock
  bool owners = false;        // they are kept
};

// Whether the copy has the contents that the source has now. `wanted`: the source, with the owner
// that the copy is to have.
bool is_proven(const FileState& wanted, const FileState& copy, const ProofRules& rules);

}  // namespace envgen
