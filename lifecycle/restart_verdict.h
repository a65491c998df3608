#pragma once
// Whether starting again can end otherwise than a failure that there was. In doubt it can.

#include <cstdint>
#include <optional>
#include <string>

#include "lifecycle/task.h"

namespace lifecycle {

// What is known of a failure by what it printed.
struct FailureSign {
  enum class Prospect : std::uint8_t { kUnknown, kHelps, kUseless };  // as the catalogue says

  std::string key;  // the same for the same failure; "": nothing tells one from another
  Prospect prospect = Prospect::kUnknown;
  TimeMs after_ms = -1;  // since the start; -1: not known
};

enum class RestartProspect : std::uint8_t {
  kOpen,
  kUseless,   // such a failure does not go away by itself
  kRepeated,  // it is the one of the start before, and both came within kStartPhaseMs
};

inline constexpr TimeMs kStartPhaseMs = 600'000;

// `before`: the failure that this start was the answer to.
RestartProspect judge(const FailureSign& now, const std::optional<FailureSign>& before);

}  // namespace lifecycle
