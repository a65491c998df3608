#include "init/engine/control/control_answers.h"

#include <gtest/gtest.h>

namespace {

using engine::ControlAnswer;
using engine::ControlDecision;
using engine::ControlOp;
using engine::ControlReply;
using engine::ControlRequest;
using engine::ControlView;
using engine::view_of;
using lifecycle::Phase;
using lifecycle::TaskKind;
namespace event = lifecycle::event;

constexpr Phase kPhases[] = {Phase::kPreparing,     Phase::kStarting,  Phase::kRunning,
                             Phase::kCheckpointing, Phase::kStopping,  Phase::kPostStop,
                             Phase::kAutoRestart,   Phase::kOnFailure, Phase::kHold,
                             Phase::kExited};
constexpr ControlRequest kRelease{.op = ControlOp::kRelease};
constexpr ControlRequest kCheckpoint{.op = ControlOp::kCheckpoint};
constexpr ControlRequest kCheckpointAndGoOn{.op = ControlOp::kCheckpoint, .keep_running = true};

constexpr ControlRequest hold(std::int64_t ms) {
  return {.op = ControlOp::kHold, .argument_ms = ms};
}
constexpr ControlRequest extend(std::int64_t ms) {
  return {.op = ControlOp::kExtend, .argument_ms = ms};
}

// A job of which anything may be asked, as far as `phase` lets it.
ControlView in(Phase phase) {
  return {.phase = phase,
          .can_checkpoint = true,
          .checkpoint_ms = 300'000,
          .has_limit = true,
          .limit_left_ms = 60'000};
}

bool is_up(Phase phase) { return phase == Phase::kStarting || phase == Phase::kRunning; }
bool awaits_start(Phase phase) {
  return phase == Phase::kPreparing || phase == Phase::kAutoRestart;
}

// Carried out, by this event.
template <class Event>
std::optional<Event> done(const ControlDecision& decision) {
  if (decision.reply.answer != ControlAnswer::kDone || !decision.event) return std::nullopt;
  const auto* event = std::get_if<Event>(&*decision.event);
  return event == nullptr ? std::nullopt : std::optional(*event);
}

// Refused, with nothing that follows from it.
void expect_no(const ControlDecision& decision, ControlAnswer answer, Phase phase) {
  EXPECT_EQ(decision.reply, (ControlReply{answer})) << phase_name(phase);
  EXPECT_FALSE(decision.event) << phase_name(phase);
}

TEST(Decide, HoldAndReleaseAreForTheDebugWindowAlone) {
  for (const Phase phase : kPhases) {
    if (phase == Phase::kHold) continue;
    expect_no(decide(kRelease, in(phase)), ControlAnswer::kNotNow, phase);
    expect_no(decide(hold(5000), in(phase)), ControlAnswer::kNotNow, phase);
  }
  EXPECT_TRUE(done<event::Release>(decide(kRelease, in(Phase::kHold))));
  const ControlDecision held = decide(hold(5000), in(Phase::kHold));
  ASSERT_TRUE(done<event::HoldFor>(held));
  EXPECT_EQ(done<event::HoldFor>(held)->duration_ms, 5000);
  EXPECT_EQ(held.reply.value_ms, 5000);
}

TEST(Decide, ACheckpointIsForAJobThatRuns) {
  for (const Phase phase : kPhases) {
    for (const ControlRequest& request : {kCheckpoint, kCheckpointAndGoOn}) {
      const ControlDecision decision = decide(request, in(phase));
      if (is_up(phase)) {
        const auto requested = done<event::CheckpointRequested>(decision);
        ASSERT_TRUE(requested) << phase_name(phase);
        EXPECT_EQ(requested->keep_running, request.keep_running);
        EXPECT_EQ(decision.reply.value_ms, 300'000);
      } else if (request.keep_running || !awaits_start(phase)) {
        expect_no(decision, ControlAnswer::kNotNow, phase);
      }
    }
  }
}

TEST(Decide, ACheckpointOfAJobThatHasNotStartedEndsItAtOnce) {
  for (const Phase phase : {Phase::kPreparing, Phase::kAutoRestart}) {
    ControlView view = in(phase);
    view.can_checkpoint = false;  // which nobody knows yet
    const ControlDecision decision = decide(kCheckpoint, view);
    EXPECT_TRUE(done<event::CheckpointRequested>(decision));
    EXPECT_EQ(decision.reply.value_ms, 0);
  }
}

TEST(Decide, ThereIsOneCheckpointAtATime) {
  for (const Phase phase : kPhases) {
    ControlView view = in(phase);
    view.checkpointing = true;
    expect_no(decide(kCheckpointAndGoOn, view), ControlAnswer::kBusy, phase);
    if (!is_up(phase)) expect_no(decide(kCheckpoint, view), ControlAnswer::kBusy, phase);
  }
}

TEST(Decide, ACheckpointWithWhichTheJobGoesOnMayBecomeItsLast) {
  ControlView view = in(Phase::kRunning);
  view.checkpointing = true;
  const auto requested = done<event::CheckpointRequested>(decide(kCheckpoint, view));
  ASSERT_TRUE(requested);
  EXPECT_FALSE(requested->keep_running);
}

TEST(Decide, AJobThatRestartsIsNotEndedForACheckpoint) {
  for (const Phase phase : kPhases) {
    ControlView view = in(phase);
    view.restarts = true;
    const bool up = is_up(phase);
    const bool could = up || awaits_start(phase);
    expect_no(decide(kCheckpoint, view), could ? ControlAnswer::kRestarts : ControlAnswer::kNotNow,
              phase);
    EXPECT_EQ(done<event::CheckpointRequested>(decide(kCheckpointAndGoOn, view)).has_value(), up);
  }
}

TEST(Decide, NobodyIsAskedForACheckpointWhomNothingReaches) {
  ControlView view = in(Phase::kRunning);
  view.can_checkpoint = false;
  expect_no(decide(kCheckpoint, view), ControlAnswer::kNoCheckpoint, view.phase);
  expect_no(decide(kCheckpointAndGoOn, view), ControlAnswer::kNoCheckpoint, view.phase);
}

TEST(Decide, AnExtensionIsForAJobThatMayStillComeToItsLimit) {
  for (const Phase phase : kPhases) {
    const ControlDecision decision = decide(extend(5000), in(phase));
    if (!is_up(phase) && !awaits_start(phase)) {
      expect_no(decision, ControlAnswer::kNotNow, phase);
      continue;
    }
    ASSERT_TRUE(done<event::ExpireIn>(decision)) << phase_name(phase);
    EXPECT_EQ(done<event::ExpireIn>(decision)->duration_ms, 65'000);
    EXPECT_EQ(decision.reply.value_ms, 65'000);
  }
}

TEST(Decide, WhatIsLeftMayBeSetWithAndWithoutALimit) {
  for (const Phase phase : kPhases) {
    for (const bool limited : {false, true}) {
      for (const std::int64_t left : {std::int64_t{0}, std::int64_t{5000}, INT64_MAX}) {
        ControlView view = in(phase);
        view.has_limit = limited;
        const ControlDecision decision =
            decide({.op = ControlOp::kExpireIn, .argument_ms = left}, view);
        if (!is_up(phase) && !awaits_start(phase)) {
          expect_no(decision, ControlAnswer::kNotNow, phase);
          continue;
        }
        const std::int64_t set = std::min(left, engine::kLongestLimitMs);
        ASSERT_TRUE(done<event::ExpireIn>(decision));
        EXPECT_EQ(done<event::ExpireIn>(decision)->duration_ms, set);
        EXPECT_EQ(decision.reply.value_ms, set);
      }
    }
  }
}

TEST(Decide, WithoutALimitThereIsNothingToExtend) {
  for (const Phase phase : kPhases) {
    ControlView view = in(phase);
    view.has_limit = false;
    const bool could = is_up(phase) || awaits_start(phase);
    expect_no(decide(extend(5000), view), could ? ControlAnswer::kNoLimit : ControlAnswer::kNotNow,
              phase);
  }
}

TEST(Decide, NoWindowIsLongerThanAYear) {
  const ControlDecision held = decide(hold(INT64_MAX), in(Phase::kHold));
  ASSERT_TRUE(done<event::HoldFor>(held));
  EXPECT_EQ(done<event::HoldFor>(held)->duration_ms, engine::kLongestWindowMs);
  EXPECT_EQ(held.reply.value_ms, engine::kLongestWindowMs);
}

TEST(Decide, NoNumberOfExtensionsOverflows) {
  ControlView view = in(Phase::kRunning);
  for (int i = 0; i < 3; ++i) {
    const ControlDecision decision = decide(extend(INT64_MAX), view);
    ASSERT_TRUE(done<event::ExpireIn>(decision));
    view.limit_left_ms = done<event::ExpireIn>(decision)->duration_ms;
    EXPECT_EQ(view.limit_left_ms, engine::kLongestLimitMs);
    EXPECT_EQ(decision.reply.value_ms, engine::kLongestLimitMs);
  }
  for (const std::int64_t left : {INT64_MAX, INT64_MIN}) {
    view.limit_left_ms = left;
    const auto added = done<event::ExpireIn>(decide(extend(5000), view));
    ASSERT_TRUE(added);
    EXPECT_EQ(added->duration_ms, left < 0 ? 5000 : engine::kLongestLimitMs);
  }
}

// --- What a machine says of itself ---

TEST(ViewOf, HasWhatTheMachineAndThePolicySay) {
  base::Policy policy;
  policy.checkpoint_ms = 300'000;
  policy.max_duration_ms = 60'000;
  lifecycle::Machine machine(policy, {});
  machine.step(event::Begin{}, 1000);
  machine.step(event::ClusterReady{{TaskKind::kMain}, policy}, 1000);
  const ControlView view = view_of(machine, policy, false, 11'000);
  EXPECT_EQ(view.phase, Phase::kStarting);
  EXPECT_FALSE(view.restarts);
  EXPECT_FALSE(view.checkpointing);
  EXPECT_FALSE(view.can_checkpoint);
  EXPECT_TRUE(view.has_limit);
  EXPECT_EQ(view.limit_left_ms, 50'000);
  EXPECT_EQ(view.checkpoint_ms, 300'000);

  EXPECT_TRUE(view_of(machine, policy, true, 11'000).can_checkpoint);
  policy.checkpoint_signal = 10;
  policy.max_restarts = 1;
  EXPECT_TRUE(view_of(machine, policy, false, 11'000).can_checkpoint);
  EXPECT_TRUE(view_of(machine, policy, false, 11'000).restarts);
  EXPECT_EQ(view_of(machine, policy, false, 99'000).limit_left_ms, 0);
}

// What was said to be done is what the machine then does.
TEST(ViewOf, AndTheMachineAgree) {
  base::Policy policy;
  policy.max_duration_ms = 60'000;
  policy.checkpoint_signal = 10;
  policy.checkpoint_ms = 300'000;
  lifecycle::Machine machine(policy, {});
  machine.step(event::Begin{}, 0);
  machine.step(event::ClusterReady{{TaskKind::kMain}, policy}, 0);

  const ControlDecision extended = decide(extend(5000), view_of(machine, policy, false, 1000));
  ASSERT_TRUE(extended.event);
  machine.step(*extended.event, 1000);
  EXPECT_EQ(machine.expires_at(), 1000 + extended.reply.value_ms);

  const ControlDecision saved = decide(kCheckpoint, view_of(machine, policy, false, 2000));
  ASSERT_TRUE(saved.event);
  machine.step(*saved.event, 2000);
  EXPECT_EQ(machine.phase(), Phase::kCheckpointing);
  EXPECT_EQ(machine.checkpoint_until(), 2000 + saved.reply.value_ms);
  EXPECT_EQ(decide(kCheckpoint, view_of(machine, policy, false, 2000)).reply.answer,
            ControlAnswer::kBusy);
}

}  // namespace
