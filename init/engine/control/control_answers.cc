#include "init/engine/control/control_answers.h"

#include <algorithm>

namespace engine {
namespace {

namespace event = lifecycle::event;
using lifecycle::Phase;

ControlDecision no(ControlAnswer answer) { return {.reply = {.answer = answer}}; }

ControlDecision yes(lifecycle::Event event, std::int64_t value_ms) {
  return {.reply = {.value_ms = value_ms}, .event = event};
}

// True if the job waits for its start. A checkpoint request that ends the job can then cancel the
// start, because there is nothing to save.
bool awaits_start(Phase phase) {
  return phase == Phase::kPreparing || phase == Phase::kAutoRestart;
}

bool runs(Phase phase) { return phase == Phase::kStarting || phase == Phase::kRunning; }

ControlDecision decide_checkpoint(bool keep_running, const ControlView& view) {
  const event::CheckpointRequested requested{keep_running};
  // While a checkpoint is under way after which the job continues, a second request can still make
  // the job end after it.
  const bool busy = view.checkpointing && (keep_running || !runs(view.phase));
  if (busy) return no(ControlAnswer::kBusy);
  const bool wait_ends = awaits_start(view.phase) && !keep_running;
  if (!runs(view.phase) && !wait_ends) return no(ControlAnswer::kNotNow);
  if (view.restarts && !keep_running) return no(ControlAnswer::kRestarts);
  if (wait_ends) return yes(requested, 0);
  if (!view.can_checkpoint) return no(ControlAnswer::kNoCheckpoint);
  return yes(requested, view.checkpoint_ms);
}

ControlDecision decide_limit(const ControlRequest& request, const ControlView& view) {
  // During the stop sequence and after it, a time limit has no effect.
  if (!runs(view.phase) && !awaits_start(view.phase)) return no(ControlAnswer::kNotNow);
  const bool extends = request.op == ControlOp::kExtend;
  if (extends && !view.has_limit) return no(ControlAnswer::kNoLimit);
  const std::int64_t left_ms =
      extends ? std::clamp<std::int64_t>(view.limit_left_ms, 0, kLongestLimitMs) : 0;
  const std::int64_t added_ms =
      std::clamp<std::int64_t>(request.argument_ms, 0, kLongestLimitMs - left_ms);
  return yes(event::ExpireIn{left_ms + added_ms}, left_ms + added_ms);
}

}  // namespace

ControlView view_of(const lifecycle::Machine& machine, const base::Policy& policy,
                    bool checkpoint_hooks, lifecycle::TimeMs now) {
  const lifecycle::TimeMs end = machine.expires_at();
  return {.phase = machine.phase(),
          .restarts = policy.max_restarts > 0,
          .checkpointing = machine.checkpointing(),
          .can_checkpoint = policy.checkpoint_signal != 0 || checkpoint_hooks,
          .checkpoint_ms = policy.checkpoint_ms,
          .has_limit = policy.max_duration_ms > 0 || end > 0,
          .limit_left_ms = std::max<std::int64_t>(end - now, 0)};
}

ControlDecision decide(const ControlRequest& request, const ControlView& view) {
  const bool held = view.phase == Phase::kHold;
  switch (request.op) {
    case ControlOp::kRelease:
      return held ? yes(event::Release{}, 0) : no(ControlAnswer::kNotNow);
    case ControlOp::kHold: {
      if (!held) return no(ControlAnswer::kNotNow);
      const auto window_ms = std::clamp<std::int64_t>(request.argument_ms, 0, kLongestWindowMs);
      return yes(event::HoldFor{window_ms}, window_ms);
    }
    case ControlOp::kCheckpoint:
      return decide_checkpoint(request.keep_running, view);
    case ControlOp::kExtend:
    case ControlOp::kExpireIn:
      return decide_limit(request, view);
    case ControlOp::kStacks:
      // Not reached: the supervisor passes this request to StackDump.
      return no(ControlAnswer::kNotNow);
  }
  return no(ControlAnswer::kUnknown);
}

}  // namespace engine
