#pragma once
// A Coordinator driven by hand: each node says a line, what comes back is a verdict as text.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lifecycle/coordinator.h"

namespace lifecycle {

class Nodes {
 public:
  using Kind = NodeFailure::Kind;
  using Stage = NodeReport::Stage;

  static Coordinator::Settings of(std::uint32_t count) {
    return {.node_count = count, .cluster = 77, .names = {"a", "b", "c"}, .timeout_ms = 30'000};
  }
  explicit Nodes(std::uint32_t count) : Nodes(of(count)) {}
  explicit Nodes(const Coordinator::Settings& settings)
      : settings_(settings), coordinator_(settings, 0), reports(settings.node_count) {
    for (auto& report : reports) {
      report.cluster = settings.cluster;
      report.may_restart = true;
    }
  }

  TimeMs now = 0;

  Nodes& connect(std::uint32_t node, std::uint64_t instance = 1) {
    coordinator_.connected(node, instance, now);
    return say(node);
  }
  Nodes& close(std::uint32_t node) {
    coordinator_.closed(node, now);
    return *this;
  }
  Nodes& say(std::uint32_t node) {
    coordinator_.reported(node, reports[node], now);
    return *this;
  }
  Nodes& stage(std::uint32_t node, Stage stage) {
    reports[node].stage = stage;
    return say(node);
  }
  Nodes& arrive(std::uint32_t node) {
    ++reports[node].arrival;
    return stage(node, Stage::kArrived);
  }
  Nodes& runs(std::uint32_t node) {
    if (verdict(node).go == reports[node].arrival) {
      reports[node].meeting = verdict(node).meeting;
    }
    reports[node].restarts = verdict(node).restarts;
    return stage(node, Stage::kRunning);
  }
  Nodes& fails(std::uint32_t node, const std::string& why = "rank 1 died", TimeMs age_ms = 0,
               bool complete = true) {
    reports[node].failure = NodeFailure{.kind = Kind::kFailed,
                                        .node = node,
                                        .age_ms = age_ms,
                                        .restarts = true,
                                        .complete = complete,
                                        .message = why,
                                        .detail = "d"};
    return stage(node, Stage::kStopping);
  }
  // The node knows of the job's first checkpoint.
  Nodes& saves(std::uint32_t node) {
    reports[node].saves = 1;
    return say(node);
  }
  // It failed, and this is what its output shows by now.
  Nodes& shows(std::uint32_t node, NodeFailure::Role role) {
    reports[node].failure->role = role;
    reports[node].failure->complete = true;
    return say(node);
  }
  // So it says when it fails, or before it is lost.
  Nodes& ran(std::uint32_t node, TimeMs ms) {
    reports[node].ran_ms = ms;
    if (reports[node].failure) reports[node].failure->ran_ms = ms;
    return say(node);
  }
  Nodes& is_stopped(std::uint32_t node) {
    reports[node].failure =
        NodeFailure{.kind = Kind::kStopped, .node = node, .message = {}, .detail = {}};
    return stage(node, Stage::kStopping);
  }
  // Its list of nodes is another one.
  Nodes& replans(std::uint32_t node) {
    reports[node].failure = NodeFailure{.kind = Kind::kReplanned,
                                        .node = node,
                                        .restarts = true,
                                        .message = "other nodes",
                                        .detail = {}};
    return stage(node, Stage::kStopping);
  }
  // The node has heard that all start again, and prepares for it.
  Nodes& lets_go(std::uint32_t node) {
    ++reports[node].restarts;
    reports[node].failure.reset();
    reports[node].meeting = 0;
    return stage(node, Stage::kPreparing);
  }
  Nodes& says_farewell(std::uint32_t node, int code) {
    reports[node].exit_code = code;
    return stage(node, Stage::kEnded);
  }
  // Another process of it, which knows nothing.
  Nodes& another_instance(std::uint32_t node, std::uint64_t instance = 2) {
    reports[node] = {};
    reports[node].cluster = settings_.cluster;
    reports[node].may_restart = true;
    return connect(node, instance);
  }
  // All connected, met and running.
  Nodes& running() {
    for (std::uint32_t i = 0; i < reports.size(); ++i) connect(i);
    return meet();
  }
  Nodes& meet() {
    for (std::uint32_t i = 0; i < reports.size(); ++i) arrive(i);
    for (std::uint32_t i = 0; i < reports.size(); ++i) runs(i);
    return *this;
  }
  // Ticks as it asks for it; every node but `silent` is heard once a second.
  Nodes& pass(TimeMs ms, const std::vector<std::uint32_t>& silent = {}) {
    const TimeMs until = now + ms;
    while (now < until) {
      now = std::min(until, std::max(now + 1, coordinator_.next_tick().value_or(until)));
      for (std::uint32_t i = 0; i < reports.size(); ++i) {
        if (std::ranges::find(silent, i) == silent.end()) coordinator_.heard(i, now);
      }
      coordinator_.tick(now);
    }
    return *this;
  }
  // The process that holds the connections has died: another one, and all connect to it.
  Nodes& forget() {
    coordinator_ = Coordinator(settings_, now);
    return *this;
  }

  [[nodiscard]] NodeVerdict verdict(std::uint32_t node) const {
    return coordinator_.verdict_for(node, now);
  }
  // "fine 0", "failing 0", "failed 0 by 1 closed -5000 again"
  [[nodiscard]] std::string text(std::uint32_t node) const {
    static constexpr const char* kStates[] = {"fine", "told", "failing", "failed"};
    static constexpr const char* kKinds[] = {"failed", "stopped",   "expired", "closed",
                                             "silent", "replanned", "unfit"};
    const NodeVerdict verdict = this->verdict(node);
    std::string out = kStates[static_cast<int>(verdict.state)];
    out += " " + std::to_string(verdict.restarts);
    if (const auto& failure = verdict.failure; failure) {
      out += " by " + std::to_string(failure->node) + " " +
             kKinds[static_cast<int>(failure->kind)] + " -" + std::to_string(failure->age_ms);
    }
    if (verdict.again) out += " again";
    return out;
  }
  [[nodiscard]] std::string text_of_all() const {
    std::string out = text(0);
    for (std::uint32_t i = 1; i < reports.size(); ++i) {
      if (text(i) != out) return out + " / " + std::to_string(i) + ": " + text(i);
    }
    return out;
  }
  Coordinator& coordinator() { return coordinator_; }

 private:
  Coordinator::Settings settings_;
  Coordinator coordinator_;

 public:
  std::vector<NodeReport> reports;  // what each node says
};

}  // namespace lifecycle
