#pragma once
// The decision on a request of the control socket: an event for the job's machine, or the reason
// why it is refused. Pure: plain values in, plain values out.

#include <cstdint>
#include <optional>

#include "envgen/plan/plan.h"
#include "init/engine/control/control.h"
#include "lifecycle/events.h"
#include "lifecycle/machine.h"

namespace engine {

struct ControlView {
  lifecycle::Phase phase = lifecycle::Phase::kPreparing;
  bool restarts = false;        // the job has --max-restarts, even if no restart is left
  bool checkpointing = false;   // a checkpoint is under way now
  bool can_checkpoint = false;  // the job has a checkpoint signal or checkpoint hooks
  std::int64_t checkpoint_ms = 0;
  bool has_limit = false;          // the job has a time limit
  std::int64_t limit_left_ms = 0;  // time from now to the time limit; 0: no limit, or it has passed
};
ControlView view_of(const lifecycle::Machine& machine, const base::Policy& policy,
                    bool checkpoint_hooks, lifecycle::TimeMs now);

// The decision on a request. The answer is kDone if and only if there is an event.
struct ControlDecision {
  ControlReply reply;
  std::optional<lifecycle::Event> event = std::nullopt;
};
// Decides on one request. Before the caller makes the view for the next request, the machine must
// handle the event of this one. So that no sum overflows, a debug window is limited to
// kLongestWindowMs, and the time until a time limit to kLongestLimitMs.
ControlDecision decide(const ControlRequest& request, const ControlView& view);

inline constexpr std::int64_t kLongestWindowMs = 366LL * 24 * 3600 * 1000;
inline constexpr std::int64_t kLongestLimitMs = 10 * kLongestWindowMs;

}  // namespace engine
