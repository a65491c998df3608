#pragma once
// The events of a job at which hooks run, and the hooks of one event.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace envgen {

enum class HookEvent : unsigned char {
  kPreStart,    // plan and data are ready; repeated before each start, also before restarts
  kPostStart,   // all processes of the job run
  kPreStop,     // a stop was requested; no process has received the stop signal yet
  kPostStop,    // the last event: the exit code is known
  kCheckpoint,  // a checkpoint is requested
  kOnFailure,   // the job has failed and is stopped; a restart or the debug window may follow
  kStall,       // a process of the job makes no progress
  kHealth,      // periodically while the job runs: checks whether the node is still healthy
};
inline constexpr std::size_t kHookEvents = 8;
inline constexpr std::array<std::string_view, kHookEvents> kHookEventNames = {
    "pre-start",  "post-start", "pre-stop", "post-stop",
    "checkpoint", "on-failure", "stall",    "health"};

// Returns true if the event belongs to a phase of the job. The other events can repeat within a
// phase.
inline constexpr bool is_phase_event(HookEvent event) { return event < HookEvent::kStall; }

inline std::string_view name_of(HookEvent event) {
  return kHookEventNames.at(static_cast<std::size_t>(event));
}

// Time limits for a hook of each event, in milliseconds. Unset = the user has not requested one.
using HookTimes = std::array<std::optional<std::int64_t>, kHookEvents>;

// The hooks of one event, in the order in which they run.
struct HookGroup {
  HookEvent event = HookEvent::kPreStart;
  std::vector<std::string> paths;  // absolute paths; the lifecycle script, if any, is the last one
  std::string script;  // the member of `paths` that gets the event's name as argument; "" = none
  std::int64_t timeout_ms = 0;  // time limit of one hook; a stop may shorten it (Policy)
  bool fatal = false;           // if a hook fails, the job ends with the hook's exit code

  bool operator==(const HookGroup&) const = default;
};
inline void fields(base::FieldVisitor& v, HookGroup& group) {
  v("event", group.event, HookEvent::kHealth);
  v("paths", group.paths);
  v("script", group.script);
  v("timeout_ms", group.timeout_ms);
  v("fatal", group.fatal);
}

}  // namespace envgen
