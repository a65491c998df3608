// The scenarios of a fake container, from a seed, and smaller ones that fail as well.

#include <algorithm>
#include <csignal>
#include <functional>

#include "tests/sim/lifecycle_world.h"
#include "tests/sim/random.h"

namespace sim {

using namespace lifecycle;

namespace {

constexpr TimeMs kNever = -1;
constexpr TaskKind kHooks[] = {TaskKind::kPreStart, TaskKind::kPostStart, TaskKind::kCheckpoint,
                               TaskKind::kPreStop,  TaskKind::kOnFailure, TaskKind::kPostStop};

}  // namespace

event::JobFailed job_failed(TimeMs bits) {
  return {.known = (bits & 1) != 0,
          .here = (bits & 2) != 0,
          .stopped = (bits & 4) != 0,
          .expired = (bits & 8) != 0,
          .again = (bits & 16) != 0};
}

std::uint64_t process_key(TaskKind kind, std::uint32_t ordinal, std::uint32_t incarnation) {
  return (static_cast<std::uint64_t>(kind) << 32U) | (ordinal << 16U) | incarnation;
}

Behaviour make_behaviour(const Scenario& scenario, std::uint64_t process) {
  Behaviour b;
  if (scenario.plain.contains(process)) return b;
  Random random(scenario.seed ^ (process * 0x2545f4914f6cdd1dULL));
  const bool orphan = process >= kOrphanKey;
  const auto kind = static_cast<TaskKind>(process >> 32U);
  const bool lasting = orphan || kind == TaskKind::kMain || kind == TaskKind::kService;
  b.confirm_ms = random.pick({0, 1, 1, 2, 50});
  if (!orphan && random.one_in(24)) {
    b.start_error = static_cast<int>(random.pick({125, 126, 127}));
  }
  b.life_ms = random.pick({0, 1, 5, 10, 100, 1000});
  if (lasting) b.life_ms = random.pick({0, 5, 100, 1000, 5000, 20000, kNever, kNever});
  if (!lasting && random.one_in(20)) b.life_ms = kNever;
  if (random.one_in(lasting ? 3 : 16)) {
    const bool by_signal = random.one_in(3);
    b.exit_status.how = by_signal ? ExitStatus::How::kSignaled : ExitStatus::How::kExited;
    b.exit_status.value = static_cast<int>(by_signal ? random.pick({SIGSEGV, SIGKILL, SIGTERM})
                                                     : random.pick({1, 3, 137, 255}));
  }
  b.ignores_term = random.one_in(5);
  b.term_ms = random.pick({0, 0, 1, 20, 500, 3000, 7500, 30000});
  if (random.one_in(2)) b.term_code = static_cast<int>(random.pick({0, 0, 1, 143}));
  b.dies_of_others = random.one_in(6);
  b.dies_of_steps = random.one_in(3);
  if (random.one_in(2)) b.save_ms = random.pick({0, 10, 400, 20000});
  b.unkillable = random.one_in(30);
  b.unreachable = !orphan && random.one_in(30);
  b.kill_ms = random.pick({0, 0, 0, 2, 100, 400});
  b.orphans = random.one_in(3) ? static_cast<int>(random.below(4)) : 0;
  b.generations = random.one_in(2) ? static_cast<int>(random.below(4)) : 0;
  if (kind == TaskKind::kResolve) {
    b.silent = random.one_in(16);
    b.answer_failed = random.one_in(12) ? static_cast<int>(random.pick({69, 125})) : 0;
    b.answer_ms = std::max<TimeMs>(0, b.life_ms) + random.pick({-1, 0, 0, 1, 2, 3000, 11000});
    if (b.life_ms > 0 && random.one_in(2)) b.answer_ms = b.life_ms / 2;
    b.answer_ms = std::max<TimeMs>(0, b.answer_ms);
  }
  b.takes_others = random.one_in(3);
  b.seen_late = random.one_in(3);
  return b;
}

namespace {

Input make_input(Random& random, TimeMs span) {
  using What = Input::What;
  Input input;
  input.at = static_cast<TimeMs>(random.below(static_cast<std::uint64_t>(span)));
  input.what = static_cast<What>(random.below(static_cast<std::uint64_t>(What::kNodesReady) + 1));
  if (random.one_in(3)) input.what = What::kStop;
  if (random.one_in(8)) input.what = What::kCheckpoint;
  if (input.what == What::kStop) input.value = random.pick({SIGTERM, SIGTERM, SIGINT, SIGQUIT});
  if (input.what == What::kStop)
    input.notified = static_cast<int>(random.pick({0, 0, SIGINT, SIGQUIT}));
  if (input.what == What::kCheckpoint) input.value = random.pick({0, 0, 1, 2, 3});
  if (input.what == What::kExpireIn) input.value = random.pick({-5, 0, 10, 5000});
  if (input.what == What::kSignal) input.value = random.pick({SIGUSR1, SIGHUP, SIGCONT});
  if (input.what == What::kHoldFor) input.value = random.pick({-5, 0, 10, 5000});
  if (input.what == What::kTaskWrites) input.value = random.pick({0, 0, 0, 1});
  if (input.what == What::kLinked) input.value = random.pick({0, 1, 1});
  if (input.what == What::kJobFailed) input.value = static_cast<TimeMs>(random.below(32));
  if (input.what == What::kNodesReady) input.value = random.pick({0, 1, 2, 40});
  return input;
}

// Up to three steps, early and late ones, some at nearly the same time; a few are the KILL.
std::vector<EscalationStep> make_escalation(Random& random) {
  std::vector<EscalationStep> steps;
  TimeMs after_ms = 0;
  for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
    after_ms += random.pick({1, 2, 40, 700, 6000, 30'000});
    const auto signal = random.pick({SIGINT, SIGQUIT, kStepSignal, kStepSignal, SIGTERM, SIGKILL});
    steps.push_back({static_cast<int>(signal), after_ms});
  }
  return steps;
}

Policy make_policy(Random& random) {
  Policy policy;
  policy.grace_ms = random.pick({8000, 8000, 25000, 1000, 100, 0});
  policy.kill_reserve_ms = random.pick({1000, 1000, 5000, 10, 0});
  policy.drain_ms = random.pick({0, 0, 0, 300, 12000});
  policy.failure_grace_ms = random.pick({0, 0, 3000, 50});
  policy.pre_stop_ms = random.pick({0, 200, 2000, 20000});
  policy.post_stop_ms = random.pick({0, 0, 500, 3000, 20000});
  policy.resolve_timeout_ms = random.pick({0, 50, 1000, 60000});
  policy.hold_ms = random.pick({0, 0, 0, 10, 4000});
  policy.max_duration_ms = random.pick({0, 0, 0, 1, 100, 5000, 60000});
  policy.checkpoint_ms = random.pick({0, 30, 1000, 5000, 300'000});
  policy.checkpoint_signal = random.one_in(2) ? SIGUSR1 : 0;
  policy.max_restarts = static_cast<int>(random.pick({0, 0, 1, 3, 3}));
  policy.restart_delay_ms = random.pick({0, 100, 5000, 60'000});
  policy.restart_delay_max_ms = random.pick({150, 60000});
  if (random.one_in(4)) policy.no_restart_on = {{1, 2}, {126, 139}};
  policy.second_term_kills = random.one_in(4);
  if (random.one_in(2)) policy.escalation = make_escalation(random);
  policy.rendezvous_ms = random.pick({0, 0, 0, 0, 1, 100, 5000});
  return policy;
}

OtherNodes make_nodes(Random& random) {
  OtherNodes nodes;
  nodes.arrive_ms = random.pick({0, 1, 50, 90, 4000, kNever});
  if (random.one_in(3)) return nodes;
  nodes.verdict_ms = random.pick({0, 1, 300, 3000, 5999, 6001, 7000});
  const auto bits = static_cast<TimeMs>(random.below(32));
  nodes.verdict = job_failed(random.one_in(8) ? bits : bits | 1);
  return nodes;
}

}  // namespace

namespace {

// With draws of its own, so that the rest of the scenarios stays what it is.
void add_restarts(Scenario& s) {
  using base::RestartVerdict;
  Random random(s.seed ^ 0x9e3779b97f4a7c15ULL);
  s.policy.restart_reset_ms = random.pick({0, 0, 1, 100, 5000, 20'000});
  s.policy.restart_verdict = static_cast<RestartVerdict>(random.pick({0, 0, 0, 1, 2, 2}));
  for (OtherNodes& nodes : s.nodes) {
    nodes.diagnosed_ms = random.pick({0, 1, 300, 2400, 2499, 2500, 2600, 8000, kNever});
    nodes.hopeless = random.one_in(3);
    nodes.verdict.ran_ms = random.pick({-1, -1, 0, 99, 100, 20'000});
  }
  if (!random.one_in(3)) return;
  const auto span = static_cast<std::uint64_t>(random.pick({20, 20, 200, 3000, 20'000}));
  Input input{.what = Input::What::kDiagnosed};
  input.at = static_cast<TimeMs>(random.below(span));
  input.value = static_cast<TimeMs>(random.below(6));
  s.inputs.push_back(input);
}

}  // namespace

Scenario make_scenario(std::uint64_t seed) {
  Random random(seed);
  Scenario s;
  s.seed = seed;
  s.policy = make_policy(random);
  const auto some = [&](TaskKind kind, std::uint64_t most, std::vector<TaskKind>* out) {
    out->insert(out->end(), random.below(most + 1), kind);
  };
  if (random.one_in(2)) some(TaskKind::kData, 2, &s.preparing);
  if (!random.one_in(8)) s.preparing.push_back(TaskKind::kResolve);
  const std::uint64_t hooks = random.below(4);  // 0: none of any kind
  const std::uint64_t mains = random.one_in(2) ? 1 : random.below(5);
  const std::uint64_t services = random.one_in(3) ? random.below(3) : 0;
  for (auto& cluster : s.clusters) {
    // Elastic: the next start may have another shape.
    const std::uint64_t other = random.one_in(6) ? random.below(4) : mains;
    cluster.assign(other, TaskKind::kMain);
    some(TaskKind::kService, services, &cluster);
    for (const TaskKind hook : kHooks) {
      if (hooks > 0 && !random.one_in(3)) some(hook, hooks == 1 ? 1 : 2, &cluster);
    }
  }
  for (TimeMs& post_stop_ms : s.post_stop_ms) post_stop_ms = random.pick({0, 0, 600, 4000, 40'000});
  if (random.one_in(4)) s.success = static_cast<SuccessPolicy>(random.below(3));
  const TimeMs span = random.pick({20, 20, 200, 3000, 20000});
  for (std::uint64_t i = random.below(6); i > 0; --i) {
    s.inputs.push_back(make_input(random, span));
    // Twice at the same instant, or a little later.
    if (random.one_in(4)) s.inputs.push_back(s.inputs.back());
    if (random.one_in(4)) s.inputs.back().at += static_cast<TimeMs>(random.below(2000));
  }
  s.tells_adopted = !random.one_in(4);
  s.part_of_job = random.one_in(4);
  s.nobody_saves = random.one_in(8);
  s.linked = random.one_in(2);
  for (OtherNodes& nodes : s.nodes) nodes = make_nodes(random);
  add_restarts(s);
  return s;
}

namespace {

// The scenarios that are one piece smaller than this one.
std::vector<Scenario> smaller(const Scenario& from, const std::set<std::uint64_t>& keys) {
  std::vector<Scenario> all;
  const auto add = [&](const std::function<void(Scenario&)>& change) {
    all.push_back(from);
    change(all.back());
  };
  for (std::size_t i = 0; i < from.inputs.size(); ++i) {
    add([i](Scenario& s) { s.inputs.erase(s.inputs.begin() + static_cast<std::ptrdiff_t>(i)); });
    if (from.inputs[i].at > 0) add([i](Scenario& s) { s.inputs[i].at /= 2; });
  }
  for (std::size_t i = 0; i < from.preparing.size(); ++i) {
    add([i](Scenario& s) {
      s.preparing.erase(s.preparing.begin() + static_cast<std::ptrdiff_t>(i));
    });
  }
  for (std::size_t i = 0; i < from.clusters.size(); ++i) {
    if (from.clusters[i].empty()) continue;
    for (std::size_t task = 0; task < from.clusters[i].size(); ++task) {
      add([i, task](Scenario& s) {
        s.clusters[i].erase(s.clusters[i].begin() + static_cast<std::ptrdiff_t>(task));
      });
    }
  }
  for (std::size_t i = 0; i < from.post_stop_ms.size(); ++i) {
    if (from.post_stop_ms[i] != 0) add([i](Scenario& s) { s.post_stop_ms[i] = 0; });
  }
  for (std::size_t i = 0; i < from.nodes.size(); ++i) {
    if (from.nodes[i].verdict_ms >= 0) add([i](Scenario& s) { s.nodes[i].verdict_ms = kNever; });
    if (from.nodes[i].diagnosed_ms >= 0) {
      add([i](Scenario& s) { s.nodes[i].diagnosed_ms = kNever; });
    }
  }
  if (from.linked) add([](Scenario& s) { s.linked = false; });
  for (const std::uint64_t key : keys) {
    if (!from.plain.contains(key)) add([key](Scenario& s) { s.plain.insert(key); });
  }
  const auto zero = [&](auto Policy::* member) {
    if (from.policy.*member != 0) add([member](Scenario& s) { s.policy.*member = 0; });
  };
  zero(&Policy::hold_ms);
  zero(&Policy::max_restarts);
  zero(&Policy::resolve_timeout_ms);
  zero(&Policy::drain_ms);
  zero(&Policy::failure_grace_ms);
  zero(&Policy::pre_stop_ms);
  zero(&Policy::post_stop_ms);
  zero(&Policy::max_duration_ms);
  zero(&Policy::checkpoint_signal);
  zero(&Policy::second_term_kills);
  zero(&Policy::rendezvous_ms);
  zero(&Policy::restart_reset_ms);
  if (from.policy.restart_verdict != base::RestartVerdict::kOff) {
    add([](Scenario& s) { s.policy.restart_verdict = base::RestartVerdict::kOff; });
  }
  if (!from.policy.no_restart_on.empty()) add([](Scenario& s) { s.policy.no_restart_on = {}; });
  if (!from.policy.escalation.empty()) {
    add([](Scenario& s) { s.policy.escalation.pop_back(); });
    add([](Scenario& s) { s.policy.escalation.erase(s.policy.escalation.begin()); });
  }
  if (from.policy.grace_ms != 8000) add([](Scenario& s) { s.policy.grace_ms = 8000; });
  if (from.success != SuccessPolicy::kAll) add([](Scenario& s) { s.success = {}; });
  if (!from.orderly) add([](Scenario& s) { s.orderly = true; });
  return all;
}

}  // namespace

Scenario shrink(const Scenario& failing) {
  Scenario best = failing;
  bool progress = true;
  while (progress) {
    progress = false;
    for (const Scenario& candidate : smaller(best, run(best).keys)) {
      if (run(candidate).complaint.empty()) continue;
      best = candidate;
      progress = true;
      break;
    }
  }
  return best;
}

}  // namespace sim
