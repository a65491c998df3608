#pragma once
// The line that says why a process failed, out of all that it printed last: the end of a traceback,
// the message of a fatal signal, a line that the catalogue knows. Warnings, progress and launchers'
// tables are passed over; a root beats a victim, and of equals the first is the cause, unless the
// job went on after it as if nothing had been. Without any of these: an exception that stands
// alone, or a line that a logger marks as an error, if no progress follows it; such a one never
// says that a restart is useless. Where nothing speaks of a failure there is none.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/failure_catalog.h"

namespace envgen {

struct FoundCause {
  std::string line;                    // as it was printed, prefixes too; at most 400 bytes
  std::vector<std::string> traceback;  // what led to it, ends with the line; empty without one
  std::string failure_class;           // "cuda-oom"; "script-error" for an exception nobody knows
  FailureRole role = FailureRole::kRoot;
  RestartHelps restart = RestartHelps::kUnknown;
  std::string advice;  // "": none
  int weight = 0;      // FailureRow::weight

  bool operator==(const FoundCause&) const = default;
};

inline constexpr std::size_t kMostSearchedBytes = 256U << 10;

// `printed`: its last kMostSearchedBytes are looked at, of which the first line may be torn; of
// several processes, too, with or without prefixes that tell them apart. Credentials are masked.
std::optional<FoundCause> find_cause(std::string_view printed, const FailureCatalog& catalog);

// The same failure, whatever numbers, addresses and times are in it: a line's words.
std::string cause_key(std::string_view line);

}  // namespace envgen
