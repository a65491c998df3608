#pragma once
// The judgement whether a restart can help after a failure. In case of doubt, a restart is assumed
// to help.

#include <cstdint>
#include <optional>
#include <string>

#include "lifecycle/task.h"

namespace lifecycle {

// The facts about a failure that the output of the failed task shows.
struct FailureSign {
  // The failure catalogue's answer whether a restart helps: "unknown", "yes" or "no".
  enum class Prospect : std::uint8_t { kUnknown, kHelps, kUseless };

  std::string key;  // equal for equal failures; "": the failure cannot be identified
  Prospect prospect = Prospect::kUnknown;
  TimeMs after_ms = -1;  // time from the task's start to the failure; -1: not known
};

enum class RestartProspect : std::uint8_t {
  kOpen,
  kUseless,   // a restart cannot help, because failures of this kind are permanent
  kRepeated,  // the previous start had the same failure, and both came within kStartPhaseMs
};

inline constexpr TimeMs kStartPhaseMs = 600'000;

// Judges the failure `now`. `before`: the failure that led to this start; nullopt: no failure did.
RestartProspect judge(const FailureSign& now, const std::optional<FailureSign>& before);

}  // namespace lifecycle
