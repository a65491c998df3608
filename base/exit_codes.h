#pragma once
// The exit codes of trainit's own, for scripts and schedulers (docs/exit-codes.md). A job's own
// code is passed on as it is. Constants alone: what runs before libc includes this too.

namespace exit_code {

inline constexpr int kFailure = 1;  // rank that failed and was told to stop before it ended

// Starting the job again may help.
inline constexpr int kUnavailable = 69;  // EX_UNAVAILABLE of sysexits.h: not there in time
inline constexpr int kHangs = 70;        // a rank makes no progress
inline constexpr int kReschedule = 75;   // EX_TEMPFAIL: start it again, elsewhere
inline constexpr int kElsewhere = 76;    // the cause is on another node of the job
// It does not.
inline constexpr int kExpired = 124;     // the job's time is over (--max-duration); as timeout(1)
inline constexpr int kOwnFailure = 125;  // trainit's own failure, or bad input
inline constexpr int kCannotRun = 126;   // as shells: found, and no program that can be run here
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;  // and the signal's number
inline constexpr int kMax = 255;

}  // namespace exit_code
