#pragma once
// Events and actions as short text: what a specification expects, and the trace of a simulation.

#include <string>
#include <vector>

#include "lifecycle/machine.h"

namespace lifecycle {

inline const char* timer_name(Timer timer) {
  constexpr const char* kNames[] = {"kill",       "sweep",    "give-up",  "resolve",    "hold",
                                    "restart",    "escalate", "notify",   "checkpoint", "expire",
                                    "rendezvous", "verdict",  "diagnosis"};
  return kNames[static_cast<int>(timer)];
}

namespace detail {

inline std::string text(TaskRef task) {
  return std::to_string(task.index) + "#" + std::to_string(task.incarnation);
}

inline std::string text(const ExitStatus& exit_status) {
  const char* how = exit_status.how == ExitStatus::How::kExited     ? "exit "
                    : exit_status.how == ExitStatus::How::kSignaled ? "signal "
                    : exit_status.how == ExitStatus::How::kStalled  ? "stalled "
                                                                    : "not started ";
  return how + std::to_string(exit_status.value);
}

inline const char* kind_name(TaskKind kind) {
  constexpr const char* kNames[] = {"data",       "resolve",    "pre-start",  "main",
                                    "service",    "post-start", "checkpoint", "pre-stop",
                                    "on-failure", "post-stop"};
  return kNames[static_cast<int>(kind)];
}

struct EventText {
  std::string operator()(const event::Begin& /*e*/) const { return "Begin"; }
  std::string operator()(const event::ClusterReady& e) const {
    constexpr const char* kSuccess[] = {"all", "first", "serve"};
    std::string out =
        std::string("ClusterReady success=") + kSuccess[static_cast<int>(e.policy.success)];
    for (const TaskKind kind : e.tasks) out += std::string(" ") + kind_name(kind);
    if (e.part_of_job) out += " part";
    return out;
  }
  std::string operator()(const event::TaskStarted& e) const { return "Started " + text(e.task); }
  std::string operator()(const event::TasksEnded& e) const {
    std::string out = "Ended";
    for (const auto& end : e.ends) {
      out +=
          " " + text(end.task) + "(" + text(end.exit_status) + (end.unasked ? ", unasked)" : ")");
    }
    return out;
  }
  std::string operator()(const event::Diagnosed& e) const {
    return "Diagnosed " + std::to_string(e.restarts) + (e.hopeless ? " hopeless" : "") +
           (e.first ? " first " + text(*e.first) : "");
  }
  std::string operator()(const event::ResolveFailed& e) const {
    return e.left ? "ResolveFailed left" : "ResolveFailed " + std::to_string(e.exit_code);
  }
  std::string operator()(const event::StopRequested& e) const {
    const std::string sent = e.sent == 0 ? "" : " told " + std::to_string(e.sent);
    return "Stop " + std::to_string(e.signal) + sent;
  }
  std::string operator()(const event::SignalReceived& e) const {
    return "Signal " + std::to_string(e.signal);
  }
  std::string operator()(const event::TimerFired& e) const {
    return std::string("Timer ") + timer_name(e.timer) + "#" + std::to_string(e.generation);
  }
  std::string operator()(const event::NothingLeft& /*e*/) const { return "NothingLeft"; }
  std::string operator()(const event::NothingAdopted& /*e*/) const { return "NothingAdopted"; }
  std::string operator()(const event::Release& /*e*/) const { return "Release"; }
  std::string operator()(const event::HoldFor& e) const {
    return "HoldFor " + std::to_string(e.duration_ms);
  }
  std::string operator()(const event::CheckpointRequested& e) const {
    return std::string("Checkpoint") + (e.elsewhere ? " elsewhere" : "") +
           (e.keep_running ? " keep" : "");
  }
  std::string operator()(const event::ExpireIn& e) const {
    return "ExpireIn " + std::to_string(e.duration_ms);
  }
  std::string operator()(const event::NobodySaves& /*e*/) const { return "NobodySaves"; }
  std::string operator()(const event::SaveKnown& /*e*/) const { return "SaveKnown"; }
  std::string operator()(const event::MembershipChanged& e) const {
    return e.elsewhere ? "MembershipChanged elsewhere" : "MembershipChanged";
  }
  std::string operator()(const event::TaskStalled& e) const { return "Stalled " + text(e.task); }
  std::string operator()(const event::TaskWrites& e) const {
    return e.unknown ? "Writes unknown" : "Writes";
  }
  std::string operator()(const event::Linked& e) const { return e.up ? "Linked" : "Linked not"; }
  std::string operator()(const event::JobFailed& e) const {
    std::string out = "JobFailed";
    if (e.known) out += e.here ? " here" : " elsewhere";
    if (e.stopped) out += " stopped";
    if (e.expired) out += " expired";
    if (e.again) out += " again";
    return out;
  }
  std::string operator()(const event::Unfit& /*e*/) const { return "Unfit"; }
  std::string operator()(const event::NodesReady& e) const {
    return "NodesReady " + std::to_string(e.restarts);
  }
  std::string operator()(const event::Unreachable& e) const {
    return "Unreachable " + text(e.task);
  }
};

struct ActionText {
  std::string operator()(const action::Start& a) const { return "start " + text(a.task); }
  std::string operator()(const action::Signal& a) const {
    return "signal " + text(a.task) + "=" + std::to_string(a.signal);
  }
  std::string operator()(const action::SweepAdopted& a) const {
    return "sweep " + std::to_string(a.signal);
  }
  std::string operator()(const action::SetTimer& a) const {
    return std::string("set ") + timer_name(a.timer) + "#" + std::to_string(a.generation) + "@" +
           std::to_string(a.at);
  }
  std::string operator()(const action::CancelTimer& a) const {
    return std::string("cancel ") + timer_name(a.timer);
  }
  std::string operator()(const action::AskToSave& /*a*/) const { return "ask to save"; }
  std::string operator()(const action::Report& /*a*/) const { return "report"; }
  std::string operator()(const action::Exit& a) const { return "EXIT " + std::to_string(a.code); }
};

}  // namespace detail

inline std::string text(const Event& event) { return std::visit(detail::EventText{}, event); }

inline std::string text(const std::vector<Action>& actions) {
  std::string out;
  for (const Action& action : actions) {
    if (!out.empty()) out += ", ";
    out += std::visit(detail::ActionText{}, action);
  }
  return out;
}

}  // namespace lifecycle
