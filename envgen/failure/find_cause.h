#pragma once
// Finds the line that says why a process failed, in the last part of its output.
//
// The search starts at the end: at an exception that nothing caught, or at a fatal message after
// which only the end of the process was printed. From there it goes backwards. An earlier line
// replaces the found line in three cases:
// - It ended a process too.
// - It is the first mention of the same event.
// - The catalogue says that it is the reason of the found line (FailureRow::by).
//
// The job must not have made progress between the two lines. The catalogue only explains the found
// line, it does not select it. If no line indicates a failure that ended the job, no cause is
// found.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/failure_catalog.h"

namespace envgen {

// The exit of the process that printed the text, as far as it is known. It is not the exit of a
// launcher above that process.
struct HowEnded {
  int exit_code = -1;   // -1: not known
  bool killed = false;  // killed by SIGKILL, so the process could not print anything about it
  // True if the process still runs. Whether a restart can help is then not judged, and an error
  // that it may have survived is not `certain`.
  bool lives = false;
};

struct FoundCause {
  std::string line;                    // as printed, with prefixes; at most 400 bytes
  std::vector<std::string> traceback;  // the lines up to `line`; empty without a traceback
  std::string failure_class;           // "cuda-oom"; "script-error" for an unknown exception
  FailureRole role = FailureRole::kRoot;
  // kNo only if the line ended the process and no other line explains the end.
  RestartHelps restart = RestartHelps::kUnknown;
  std::string advice;    // "": no advice
  bool certain = false;  // a root cause that ended the process, or that a logger marks as an error

  bool operator==(const FoundCause&) const = default;
};

inline constexpr std::size_t kMaxSearchedBytes = 256U << 10;

// Finds the cause in the last kMaxSearchedBytes of `printed`; the first line may be incomplete.
// `printed` may hold the output of several processes, with or without prefixes that distinguish
// them. Returns nullopt if no cause is found. Credentials in the result are masked.
std::optional<FoundCause> find_cause(std::string_view printed, const FailureCatalog& catalog,
                                     const HowEnded& how = {});

// Returns the words of a line without numbers, addresses and times. Two lines of the same failure
// have the same key.
std::string cause_key(std::string_view line);

}  // namespace envgen
