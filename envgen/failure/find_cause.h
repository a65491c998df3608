#pragma once
// The line that says why a process failed, out of all that it printed last.
//
// The evidence decides: what the process ended with is the cause, which is an exception that
// nothing caught, or a fatal message, behind which only the end itself was printed. From there the
// search goes back. An earlier line takes its place only if it ended a process too, if it is the
// first mention of the same event, or if the catalogue calls it a reason of that line
// (FailureRow::by), and the job did not go on between the two. The catalogue says what the found
// line means; it never elects one. Nothing is found where nothing speaks of a failure that the job
// did not survive.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/failure_catalog.h"

namespace envgen {

// How the process ended that printed it, as far as that is known and is its own.
struct HowEnded {
  int exit_code = -1;   // -1: not known
  bool killed = false;  // SIGKILL, of which no process can speak
  bool lives = false;   // had not ended: no verdict, and nothing that it survived is certain
};

struct FoundCause {
  std::string line;                    // as it was printed, prefixes too; at most 400 bytes
  std::vector<std::string> traceback;  // what led to it, ends with the line; empty without one
  std::string failure_class;           // "cuda-oom"; "script-error" for an exception nobody knows
  FailureRole role = FailureRole::kRoot;
  // kNo only of what the process ended with, and where nothing else explains the end.
  RestartHelps restart = RestartHelps::kUnknown;
  std::string advice;    // "": none
  bool certain = false;  // a root that ended the process, or that a logger marks as an error

  bool operator==(const FoundCause&) const = default;
};

inline constexpr std::size_t kMaxSearchedBytes = 256U << 10;

// `printed`: its last kMaxSearchedBytes are looked at, of which the first line may be torn; of
// several processes, too, with or without prefixes that tell them apart. Credentials are masked.
std::optional<FoundCause> find_cause(std::string_view printed, const FailureCatalog& catalog,
                                     const HowEnded& how = {});

// The same failure, whatever numbers, addresses and times are in it: a line's words.
std::string cause_key(std::string_view line);

}  // namespace envgen
