#pragma once
// The answer to a request of the control socket, for the job as it stands: an event for its
// machine, or why not. Pure: plain values in, plain values out.

#include <cstdint>
#include <optional>

#include "envgen/plan/plan.h"
#include "init/engine/control/control.h"
#include "lifecycle/events.h"
#include "lifecycle/machine.h"

namespace engine {

struct ControlView {
  lifecycle::Phase phase = lifecycle::Phase::kPreparing;
  bool restarts = false;        // it is started again after a failure, however many are left
  bool checkpointing = false;   // a checkpoint is under way
  bool can_checkpoint = false;  // it has a checkpoint signal or checkpoint hooks
  std::int64_t checkpoint_ms = 0;
  bool has_limit = false;          // of its time
  std::int64_t limit_left_ms = 0;  // from now on
};
ControlView view_of(const lifecycle::Machine& machine, const envgen::Policy& policy,
                    bool checkpoint_hooks, lifecycle::TimeMs now);

// The answer is kDone when, and only when, there is an event.
struct ControlDecision {
  ControlReply reply;
  std::optional<lifecycle::Event> event = std::nullopt;
};
// One request after the other: `view` must have seen the event of the one before. A window of more
// than a year becomes one of a year, an extension that ends in more than ten years one that ends
// then: no sum of requests overflows.
ControlDecision decide(const ControlRequest& request, const ControlView& view);

inline constexpr std::int64_t kLongestWindowMs = 366LL * 24 * 3600 * 1000;
inline constexpr std::int64_t kLongestLimitMs = 10 * kLongestWindowMs;

}  // namespace engine
