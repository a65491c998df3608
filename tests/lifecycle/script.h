#pragma once
// A Machine driven by hand: each call is an event, what comes back are the actions as text.

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "lifecycle/machine.h"
#include "tests/lifecycle/text.h"

namespace lifecycle {

inline constexpr auto kData = TaskKind::kData;
inline constexpr auto kResolve = TaskKind::kResolve;
inline constexpr auto kPreStart = TaskKind::kPreStart;
inline constexpr auto kMain = TaskKind::kMain;
inline constexpr auto kService = TaskKind::kService;
inline constexpr auto kPostStart = TaskKind::kPostStart;
inline constexpr auto kCheckpoint = TaskKind::kCheckpoint;
inline constexpr auto kPreStop = TaskKind::kPreStop;
inline constexpr auto kOnFailure = TaskKind::kOnFailure;
inline constexpr auto kPostStop = TaskKind::kPostStop;

class Script {
 public:
  explicit Script(const Policy& policy = {}, const std::vector<TaskKind>& preparing = {})
      : machine_(policy, preparing), policy_(policy) {}

  TimeMs now = 0;

  std::string step(const Event& event) { return text(machine_.step(event, now)); }
  std::string begin() { return step(event::Begin{}); }
  std::string ready(std::vector<TaskKind> tasks) { return ready(std::move(tasks), policy_); }
  std::string ready(std::vector<TaskKind> tasks, Policy policy) {
    return step(event::ClusterReady{std::move(tasks), std::move(policy)});
  }
  std::string started(std::uint32_t index) { return step(event::TaskStarted{ref(index)}); }
  std::string exited(std::uint32_t index, int code) {
    return ended({{ref(index), {ExitStatus::How::kExited, code}}});
  }
  std::string signaled(std::uint32_t index, int signal) {
    return ended({{ref(index), {ExitStatus::How::kSignaled, signal}}});
  }
  std::string not_started(std::uint32_t index, int code) {
    return ended({{ref(index), {ExitStatus::How::kNotStarted, code}}});
  }
  // Dead before the signal that it was sent.
  std::string found_dead(std::uint32_t index, ExitStatus exit_status) {
    return ended({{ref(index), exit_status, true}});
  }
  std::string ended(std::vector<event::TaskEnd> ends) {
    return step(event::TasksEnded{std::move(ends)});
  }
  std::string stop(int signal = SIGTERM, int sent = 0) {
    return step(event::StopRequested{signal, sent});
  }
  std::string checkpoint() { return step(event::CheckpointRequested{}); }
  std::string checkpoint_and_go_on() { return step(event::CheckpointRequested{true}); }
  std::string other_nodes() { return step(event::MembershipChanged{}); }
  std::string other_nodes_elsewhere() { return step(event::MembershipChanged{true}); }
  std::string stalled(std::uint32_t task, std::uint32_t incarnation = 1, TimeMs silent_ms = 0) {
    return step(event::TaskStalled{{task, incarnation}, silent_ms});
  }
  std::string linked(bool up = true) { return step(event::Linked{.up = up}); }
  std::string node0_ended() { return step(event::Linked{.ended = true}); }
  std::string job_failed(event::JobFailed failure = {}) { return step(failure); }
  std::string save_known() { return step(event::SaveKnown{}); }
  std::string nodes_ready(std::uint32_t restarts = 0) { return step(event::NodesReady{restarts}); }
  std::string fired(Timer timer, std::uint32_t generation = 1) {
    return step(event::TimerFired{timer, generation});
  }
  std::string nothing_left() { return step(event::NothingLeft{}); }
  std::string nothing_adopted() { return step(event::NothingAdopted{}); }

  // Without a resolver: `mains` main tasks from index 0, then `services`, all confirmed, then the
  // hooks.
  Script& running(int mains, int services = 0, SuccessPolicy success = SuccessPolicy::kAll,
                  const std::vector<TaskKind>& hooks = {}) {
    std::vector<TaskKind> tasks(static_cast<std::size_t>(mains), TaskKind::kMain);
    tasks.insert(tasks.end(), static_cast<std::size_t>(services), TaskKind::kService);
    tasks.insert(tasks.end(), hooks.begin(), hooks.end());
    begin();
    policy_.success = success;
    ready(std::move(tasks));
    for (int i = 0; i < mains + services; ++i) started(static_cast<std::uint32_t>(i));
    return *this;
  }
  Script& running(int mains, const std::vector<TaskKind>& hooks) {
    return running(mains, 0, SuccessPolicy::kAll, hooks);
  }

  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] std::string phase() const { return phase_name(machine_.phase()); }
  [[nodiscard]] TaskRef ref(std::uint32_t index) const {
    return {index, machine_.tasks().at(index).incarnation};
  }

 private:
  Machine machine_;
  Policy policy_;
};

// What a node is told of the job's failure: not yet which was the first; its own; another node's.
inline constexpr event::JobFailed kUnknown{};
inline constexpr event::JobFailed kHere{.known = true, .here = true};
inline constexpr event::JobFailed kHereAgain{.known = true, .here = true, .again = true};
inline constexpr event::JobFailed kElsewhere{.known = true};
inline constexpr event::JobFailed kElsewhereAgain{.known = true, .again = true};
inline constexpr event::JobFailed kStoppedElsewhere{.known = true, .stopped = true};
inline constexpr event::JobFailed kExpiredElsewhere{.known = true, .expired = true};

// grace 8 s: KILL at 7 s, leftovers' KILL at 7.5 s, given up 250 ms later.
inline Policy standard() { return {}; }

inline Policy with_hold(TimeMs hold_ms) {
  Policy policy;
  policy.hold_ms = hold_ms;
  return policy;
}

inline Policy with_post_stop(TimeMs post_stop_ms) {
  Policy policy;
  policy.post_stop_ms = post_stop_ms;
  return policy;
}

inline Policy with_escalation(std::vector<EscalationStep> steps) {
  Policy policy;
  policy.escalation = std::move(steps);
  return policy;
}

inline Policy with_rendezvous(TimeMs rendezvous_ms) {
  Policy policy;
  policy.rendezvous_ms = rendezvous_ms;
  return policy;
}

inline Policy with_restarts(int max_restarts) {
  Policy policy;
  policy.max_restarts = max_restarts;
  return policy;
}

}  // namespace lifecycle
