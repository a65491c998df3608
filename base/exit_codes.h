#pragma once
// trainit's own exit codes, for scripts and schedulers (docs/exit-codes.md). The job's own exit
// code is passed on unchanged. This header contains only constants, because code that runs before
// libc includes it.

namespace exit_code {

inline constexpr int kFailure = 1;  // code of a rank that failed and got a stop signal before its
                                    // exit

// Exit codes after which another start of the job can succeed.
inline constexpr int kUnavailable = 69;  // EX_UNAVAILABLE of sysexits.h: time-out of a resource
inline constexpr int kHangs = 70;        // a rank makes no progress
inline constexpr int kReschedule = 75;   // EX_TEMPFAIL: start the job again, on other nodes
inline constexpr int kElsewhere = 76;    // the cause is on another node of the job
// Exit codes after which another start of the job does not help.
inline constexpr int kExpired = 124;     // time limit of the job (--max-duration); as timeout(1)
inline constexpr int kOwnFailure = 125;  // trainit's own failure, or bad input
inline constexpr int kCannotRun = 126;   // as in shells: the file exists but cannot be run here
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;  // plus the signal's number
inline constexpr int kMax = 255;

}  // namespace exit_code
