#include "init/copy/copy_proof.h"

#include <array>

namespace copy {
namespace {

// The clocks of some file systems tick only every second or two.
constexpr std::int64_t kFileTickNs = 2'000'000'000;
// The kernel stamps files with the time of its last tick (every 10 ms at 100 Hz), so a stamp can be
// older than the clock that a process reads.
constexpr std::int64_t kClockTickNs = 20'000'000;

bool same_attributes(const FileState& wanted, const FileState& copy, const ProofRules& rules) {
  constexpr std::uint32_t kPermissions = 07777;
  const std::uint32_t other = wanted.mode ^ copy.mode;
  if ((rules.modes ? other : other & ~kPermissions) != 0 || wanted.size != copy.size) {
    return false;
  }
  if (rules.exact_times ? wanted.mtime_ns != copy.mtime_ns
                        : !is_rounding_of(wanted.mtime_ns, copy.mtime_ns)) {
    return false;
  }
  return !rules.owners || (wanted.uid == copy.uid && wanted.gid == copy.gid);
}

// Returns whether an mtime can be that of a write by trainit, instead of one that trainit has set.
bool could_be_ours(std::int64_t mtime_ns, const FileState& copy, const ProofRules& rules) {
  const bool of_this_copy =
      mtime_ns >= rules.begun_ns - kFileTickNs && mtime_ns <= copy.ctime_ns + kFileTickNs;
  // The same test with the times of this file alone, in case the clock was set.
  const std::int64_t age = copy.ctime_ns - mtime_ns;
  return of_this_copy || (age >= -kFileTickNs && age <= kFileTickNs);
}

}  // namespace

std::int64_t time_step_of(std::int64_t wanted_ns, std::int64_t shown_ns) {
  const auto wanted = static_cast<std::uint64_t>(wanted_ns);
  const auto shown = static_cast<std::uint64_t>(shown_ns);
  const std::uint64_t off = wanted_ns < shown_ns ? shown - wanted : wanted - shown;
  constexpr auto kSteps = std::to_array<std::int64_t>(
      {1, 100, 1000, 1'000'000, 10'000'000, 1'000'000'000, kFileTickNs});
  for (const std::int64_t step : kSteps) {
    if (off < static_cast<std::uint64_t>(step) && shown_ns % step == 0) return step;
  }
  return 0;
}

bool is_wide_date(std::int64_t ns) {
  constexpr std::int64_t kFirst = 315'619'200'000'000'000;   // 1980-01-02, in any time zone
  constexpr std::int64_t kLast = 2'147'400'000'000'000'000;  // 2038-01-18
  return ns < kFirst || ns > kLast;
}

bool may_be_mtime(std::int64_t wanted_ns, std::int64_t shown_ns) {
  return wanted_ns == kNoMtime || is_rounding_of(wanted_ns, shown_ns);
}

bool is_proven(const FileState& wanted, const FileState& copy, const ProofRules& rules) {
  if (!rules.same_boot || !same_attributes(wanted, copy, rules)) return false;
  // A file whose ctime is after the begin of the copy may have been read before it changed,
  // whatever its mtime is.
  if (wanted.ctime_ns >= rules.begun_ns - kClockTickNs) return false;
  return !could_be_ours(copy.mtime_ns, copy, rules);
}

}  // namespace copy
