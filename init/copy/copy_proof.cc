#include "init/copy/copy_proof.h"

namespace envgen {
namespace {

// Clocks of files tick every few milliseconds, those of some file systems every second or two.
constexpr std::int64_t kFileTickNs = 2'000'000'000;
// The kernel stamps with the last tick (at 100 Hz every 10 ms), which lies before the time that is
// read.
constexpr std::int64_t kClockTickNs = 20'000'000;

bool same_attributes(const FileState& wanted, const FileState& copy, const ProofRules& rules) {
  if (wanted.mode != copy.mode || wanted.size != copy.size || wanted.mtime_ns != copy.mtime_ns) {
    return false;
  }
  return !rules.owners || (wanted.uid == copy.uid && wanted.gid == copy.gid);
}

// A mtime that could be that of a write of ours.
bool could_be_ours(std::int64_t mtime_ns, const FileState& copy, const ProofRules& rules) {
  const bool of_this_copy =
      mtime_ns >= rules.begun_ns - kFileTickNs && mtime_ns <= copy.ctime_ns + kFileTickNs;
  // The same by the file alone, for a clock that has been set.
  const std::int64_t age = copy.ctime_ns - mtime_ns;
  return of_this_copy || (age >= -kFileTickNs && age <= kFileTickNs);
}

}  // namespace

bool is_proven(const FileState& wanted, const FileState& copy, const ProofRules& rules) {
  if (!rules.same_boot || !same_attributes(wanted, copy, rules)) return false;
  // What somebody changed after the copy began may have been read before, whatever its mtime says.
  if (wanted.ctime_ns >= rules.begun_ns - kClockTickNs) return false;
  return !could_be_ours(copy.mtime_ns, copy, rules);
}

}  // namespace envgen
