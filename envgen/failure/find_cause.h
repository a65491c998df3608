#pragma once
// Finds the line that says why a process failed, in the last part of its output.
//
// The evidence decides. The cause is what the process ended with. That is an exception that nothing
// caught, or a fatal message with only the end of the process printed after it. From there the
// search goes backwards. An earlier line replaces the found one in three cases:
// - It ended a process too.
// - It is the first mention of the same event.
// - The catalogue calls it a reason of the found line (FailureRow::by).
//
// The job must not have continued between the two lines. The catalogue explains the
// found line; it never selects one. If no line indicates a failure that the job did not survive, no
// cause is found.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/failure_catalog.h"

namespace envgen {

// The exit of the process that printed the text, as far as it is known. The exit of a launcher
// above it is not meant.
struct HowEnded {
  int exit_code = -1;   // -1: not known
  bool killed = false;  // killed by SIGKILL, so the process printed nothing about it
  // The process is still running: no verdict, and an error that it survived is not certain.
  bool lives = false;
};

struct FoundCause {
  std::string line;                    // as printed, with prefixes; at most 400 bytes
  std::vector<std::string> traceback;  // the lines up to `line`; empty without a traceback
  std::string failure_class;           // "cuda-oom"; "script-error" for an unknown exception
  FailureRole role = FailureRole::kRoot;
  // kNo only for the line that ended the process, and only if no other line explains the end.
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

// Returns the words of a line without its numbers, addresses and times: equal for the same failure.
std::string cause_key(std::string_view line);

}  // namespace envgen
