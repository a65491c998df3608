#pragma once
// The events of a job at which hooks run, and the hooks of one.

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
  kPreStart,    // planned, and the data is there; before each start, restarts included
  kPostStart,   // all processes of the job run
  kPreStop,     // a stop was asked for; the job has not been told yet
  kPostStop,    // last of all, with the exit code known
  kCheckpoint,  // a checkpoint is asked for
  kOnFailure,   // the job has failed and is stopped; before a restart or the debug window
  kStall,       // a process of the job makes no progress
  kHealth,      // now and then while the job runs: whether the node is still fit for it
};
inline constexpr std::size_t kHookEvents = 8;
inline constexpr std::array<std::string_view, kHookEvents> kHookEventNames = {
    "pre-start",  "post-start", "pre-stop", "post-stop",
    "checkpoint", "on-failure", "stall",    "health"};

// Of a phase of the job. The others may come again and again, beside the phases.
inline constexpr bool is_phase_event(HookEvent event) { return event < HookEvent::kStall; }

inline std::string_view name_of(HookEvent event) {
  return kHookEventNames.at(static_cast<std::size_t>(event));
}

// Milliseconds for one hook of each event, where it was asked for.
using HookTimes = std::array<std::optional<std::int64_t>, kHookEvents>;

// The hooks of one event, in the order in which they run.
struct HookGroup {
  HookEvent event = HookEvent::kPreStart;
  std::vector<std::string> paths;  // absolute; a lifecycle script comes last
  std::string script;              // the one of `paths` that gets the event's name; "" = none
  std::int64_t timeout_ms = 0;     // of one hook; a stop may leave it less (Policy)
  bool fatal = false;              // one that fails ends the job with its exit code

  bool operator==(const HookGroup&) const = default;
};
inline void fields(FieldVisitor& v, HookGroup& group) {
  v("event", group.event, HookEvent::kHealth);
  v("paths", group.paths);
  v("script", group.script);
  v("timeout_ms", group.timeout_ms);
  v("fatal", group.fatal);
}

}  // namespace envgen
