#include "tests/sim/lifecycle_world.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <queue>
#include <utility>

#include "tests/lifecycle/text.h"
#include "tests/sim/random.h"

namespace sim {

using namespace lifecycle;

namespace {

class World {
 public:
  World(const Scenario& scenario, Watch watch)
      : scenario_(scenario),
        random_(scenario.seed + 1),
        watch_(watch),
        machine_(scenario.policy, scenario.preparing),
        referee_(scenario.policy, scenario.preparing) {}

  Outcome run();

 private:
  struct Process {
    std::uint64_t key = 0;
    bool adopted = false;
    TaskRef task;
    TaskKind kind = TaskKind::kMain;
    Behaviour behaviour;
    enum class State : std::uint8_t { kForked, kAlive, kZombie, kGone } state = State::kForked;
    ExitStatus exit_status;
    bool killed = false;    // was sent SIGKILL
    bool notified = false;  // was sent a stop signal,
    bool unasked = false;   // and was a zombie by then
  };
  struct Due {
    TimeMs at = 0;
    std::uint64_t order = 0;  // among what is due at the same instant: random
    std::function<void()> what;
    bool operator<(const Due& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void at(TimeMs when, std::function<void()> what);
  void deliver(const Event& event);
  void obey(const Action& action);
  void start(TaskRef task);
  void answer(std::size_t process);
  void deliver_answer();
  void send(std::size_t process, int signal);
  void ask_to_save();
  void die(std::size_t process, ExitStatus exit_status);
  void adopt(int generations);
  void fail_with(std::size_t culprit);
  void reap_soon();
  void reap();
  void look_who_is_left();
  void hear_verdict(Phase from);
  void diagnose(const OtherNodes& nodes);
  void fire_timer(const action::SetTimer& timer);
  void tell_late(bool starts);  // of what has ended
  void give_input(const Input& input);
  bool on_empty_queue();
  void check_exit();

  const Scenario& scenario_;
  Random random_;
  Watch watch_;
  Machine machine_;
  Referee referee_;
  std::priority_queue<Due> queue_;
  std::vector<Process> processes_;
  std::vector<std::size_t> zombies_;
  TimeMs now_ = 0;
  int sweep_ = 0;
  std::uint64_t orphans_ = 0;
  bool reap_due_ = false;
  bool look_due_ = false;
  Outcome outcome_;
};

void World::at(TimeMs when, std::function<void()> what) {
  queue_.push({std::max(when, now_), random_.next(), std::move(what)});
}

void World::deliver(const Event& event) {
  if (!outcome_.complaint.empty()) return;
  ++outcome_.steps;
  const Phase from = machine_.phase();
  if (watch_.met) {
    const std::string what = text(event);
    std::string kind = what.substr(0, what.find_first_of(" #"));
    const auto* timer = std::get_if<event::TimerFired>(&event);
    if (timer != nullptr) kind += std::string(" ") + timer_name(timer->timer);
    outcome_.met.insert(std::string(phase_name(from)) + " " + kind);
  }
  const bool over = referee_.exited();
  Event heard = event;
  if (scenario_.mishear != nullptr) scenario_.mishear(heard);
  std::vector<Action> actions = machine_.step(heard, now_);
  if (scenario_.tamper != nullptr) scenario_.tamper(actions);
  if (watch_.met && from != machine_.phase()) {
    outcome_.moves.insert(std::string(phase_name(from)) + " -> " + phase_name(machine_.phase()));
  }
  referee_.judge(event, actions, machine_, now_);
  outcome_.complaint = referee_.complaint();
  if (watch_.trace) {
    outcome_.trace += "  " + std::to_string(now_) + " " + text(event) + " -> " + text(actions) +
                      " [" + phase_name(machine_.phase()) + "]\n";
  }
  for (const Action& action : actions) obey(action);
  hear_verdict(from);
  if (!over && referee_.exited()) check_exit();
}

// On the way down after a failure the others say in time which was the first, or late, or never.
void World::hear_verdict(Phase from) {
  const OtherNodes& nodes = scenario_.nodes[machine_.restarts() % scenario_.nodes.size()];
  const bool fails = machine_.phase() == Phase::kStopping && machine_.cause() != nullptr;
  if (!fails || from == Phase::kStopping || from >= Phase::kOnFailure) return;
  diagnose(nodes);
  if (nodes.verdict_ms < 0) return;
  at(now_ + nodes.verdict_ms, [this, nodes] { deliver(nodes.verdict); });
}

// Whoever looks tells what it has found before the restart, late, or never. Where it is only to
// tell, it ends no restarts.
void World::diagnose(const OtherNodes& nodes) {
  using base::RestartVerdict;
  const RestartVerdict policy = scenario_.policy.restart_verdict;
  if (nodes.diagnosed_ms < 0) return;
  at(now_ + nodes.diagnosed_ms, [this, policy, nodes, restarts = machine_.restarts()] {
    if (machine_.failed_elsewhere() && machine_.awaits_verdict()) {
      for (const Process& process : std::vector(processes_)) {
        const bool ended = !process.adopted && process.state == Process::State::kGone;
        if (ended && process.kind == TaskKind::kMain && !process.exit_status.ok()) {
          return deliver(event::Diagnosed{.restarts = restarts, .first = process.task});
        }
      }
    }
    if (machine_.seeks_first()) {
      const auto& ends = machine_.cause()->ends;
      deliver(event::Diagnosed{.restarts = restarts, .first = ends.back().task});
    } else if (policy == RestartVerdict::kOff) {
      return;
    }
    const bool hopeless = nodes.hopeless && machine_.uses_diagnosis();
    deliver(event::Diagnosed{restarts, hopeless && policy == RestartVerdict::kEnforce});
  });
}

void World::obey(const Action& action) {
  if (const auto* start_it = std::get_if<action::Start>(&action)) {
    start(start_it->task);
  } else if (const auto* signal = std::get_if<action::Signal>(&action)) {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Process& process = processes_[i];
      if (process.adopted || process.task != signal->task) continue;
      const bool first = signal->stops && !std::exchange(process.notified, true);
      process.unasked = process.unasked || (first && process.state == Process::State::kZombie);
      send(i, signal->signal);
    }
  } else if (const auto* sweep = std::get_if<action::SweepAdopted>(&action)) {
    sweep_ = sweep->signal;
    for (std::size_t i = 0; i < processes_.size() && sweep_ != 0; ++i) {
      if (processes_[i].adopted) send(i, sweep_);
    }
    look_who_is_left();
  } else if (const auto* timer = std::get_if<action::SetTimer>(&action)) {
    fire_timer(*timer);
  } else if (std::holds_alternative<action::AskToSave>(action)) {
    ask_to_save();
  }
}

void World::ask_to_save() {
  if (scenario_.nobody_saves) return at(now_, [this] { deliver(event::NobodySaves{}); });
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    const Behaviour& b = process.behaviour;
    const bool asked = !process.adopted && process.kind == TaskKind::kMain && !b.unkillable;
    if (!asked || b.save_ms < 0 || b.start_error != 0) continue;
    const ExitStatus exit_status{ExitStatus::How::kExited, std::max(0, b.term_code)};
    at(now_ + b.save_ms, [this, i, exit_status] { die(i, exit_status); });
  }
}

void World::fire_timer(const action::SetTimer& timer) {
  const OtherNodes& nodes = scenario_.nodes[machine_.restarts() % scenario_.nodes.size()];
  if (timer.timer == Timer::kRendezvous && nodes.arrive_ms >= 0) {
    at(now_ + nodes.arrive_ms, [this] { deliver(event::NodesReady{machine_.restarts()}); });
  }
  // The wait for a second restart comes late in a course: inputs meet it once more.
  const bool waits = timer.timer == Timer::kRestart && timer.at > now_;
  for (int i = 0; waits && i < 3 && !scenario_.inputs.empty(); ++i) {
    const Input& input = scenario_.inputs[random_.below(scenario_.inputs.size())];
    const auto wait = static_cast<std::uint64_t>(timer.at - now_);
    at(now_ + static_cast<TimeMs>(random_.below(wait)), [this, &input] { give_input(input); });
  }
  const bool late = !scenario_.orderly && random_.one_in(4);
  const auto latency = late ? random_.below(Referee::kTimerLatencyMs + 1) : 0;
  const bool even_if_cancelled = !scenario_.orderly && random_.one_in(3);
  at(timer.at + static_cast<TimeMs>(latency), [this, timer, even_if_cancelled] {
    const auto& pending = referee_.pending(timer.timer);
    const bool valid = pending.has_value() && pending->generation == timer.generation;
    if (valid || even_if_cancelled) deliver(event::TimerFired{timer.timer, timer.generation});
  });
}

void World::start(TaskRef task) {
  const Task& entry = machine_.tasks()[task.index];
  const std::uint64_t key = process_key(entry.kind, entry.ordinal, task.incarnation);
  outcome_.keys.insert(key);
  Process process;
  process.key = key;
  process.task = task;
  process.kind = entry.kind;
  process.behaviour = make_behaviour(scenario_, key);
  const Behaviour b = process.behaviour;
  processes_.push_back(process);
  const std::size_t id = processes_.size() - 1;
  at(now_ + b.confirm_ms, [this, id, b, task] {
    Process& self = processes_[id];
    if (self.state != Process::State::kForked) return;
    if (b.start_error != 0) {
      self.state = Process::State::kGone;
      deliver(event::TasksEnded{{{task, {ExitStatus::How::kNotStarted, b.start_error}}}});
      return look_who_is_left();
    }
    self.state = Process::State::kAlive;
    deliver(event::TaskStarted{task});
  });
  if (b.start_error != 0) return;
  if (b.life_ms >= 0) at(now_ + b.life_ms, [this, id, b] { die(id, b.exit_status); });
  if (entry.kind == TaskKind::kResolve) at(now_ + b.answer_ms, [this, id] { answer(id); });
}

void World::answer(std::size_t process) {
  const Process& self = processes_[process];
  const bool lives = self.state == Process::State::kForked || self.state == Process::State::kAlive;
  if (self.behaviour.silent || (!lives && !self.exit_status.ok())) return;
  if (self.behaviour.answer_failed != 0) {
    return deliver(event::ResolveFailed{self.behaviour.answer_failed});
  }
  deliver_answer();
}

void World::deliver_answer() {
  const std::size_t incarnation = machine_.restarts();
  event::ClusterReady ready{
      .tasks = scenario_.clusters[std::min(incarnation, scenario_.clusters.size() - 1)],
      .policy = scenario_.policy,
      .part_of_job = scenario_.part_of_job};
  const TimeMs post_stop_ms = scenario_.post_stop_ms[incarnation % 4];
  ready.policy.success = scenario_.success;
  if (post_stop_ms != 0) ready.policy.post_stop_ms = post_stop_ms;
  deliver(ready);
}

void World::send(std::size_t process, int signal) {
  Process& self = processes_[process];
  if (self.state != Process::State::kForked && self.state != Process::State::kAlive) return;
  const Behaviour& b = self.behaviour;
  if (b.start_error != 0) return;  // there is no process; its failure is on the way
  const ExitStatus by_signal{ExitStatus::How::kSignaled, signal};
  if (b.unreachable && referee_.runs()[self.task.index].notified) {
    self.killed = true;  // as far as it can be
    return at(now_, [this, task = self.task] { deliver(event::Unreachable{task}); });
  }
  if (signal == SIGKILL) {
    self.killed = true;
    if (!b.unkillable) at(now_ + b.kill_ms, [=, this] { die(process, by_signal); });
    return;
  }
  const bool stop = signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
  const bool step = signal == kStepSignal && b.dies_of_steps && !b.unkillable;
  if (step) return at(now_ + b.term_ms, [=, this] { die(process, by_signal); });
  if (!stop && b.dies_of_others) die(process, by_signal);
  if (!stop || b.ignores_term || b.unkillable) return;
  const ExitStatus exit_status =
      b.term_code < 0 ? by_signal : ExitStatus{ExitStatus::How::kExited, b.term_code};
  at(now_ + b.term_ms, [=, this] { die(process, exit_status); });
}

void World::die(std::size_t process, ExitStatus exit_status) {
  Process& self = processes_[process];
  if (self.state != Process::State::kForked && self.state != Process::State::kAlive) return;
  self.state = Process::State::kZombie;
  self.exit_status = exit_status;
  zombies_.push_back(process);
  const Behaviour b = self.behaviour;
  const bool fails =
      self.kind == TaskKind::kMain && !self.adopted && !self.notified && !exit_status.ok();
  if (fails && b.takes_others) fail_with(process);
  if (self.adopted) {
    if (b.generations > 0) adopt(b.generations - 1);
  } else {
    for (int i = 0; i < b.orphans; ++i) adopt(b.generations);
  }
  reap_soon();
}

// Other ranks fail because this one has.
void World::fail_with(std::size_t culprit) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& other = processes_[i];
    if (i == culprit || other.adopted || other.kind != TaskKind::kMain) continue;
    if (other.behaviour.start_error != 0 || other.behaviour.unkillable) continue;
    at(now_, [this, i] { die(i, {ExitStatus::How::kExited, 1}); });
  }
}

void World::reap_soon() {
  if (reap_due_) return;
  reap_due_ = true;
  const auto latency = scenario_.orderly ? 0 : random_.below(3);
  at(now_ + static_cast<TimeMs>(latency), [this] { reap(); });
}

void World::adopt(int generations) {
  Process process;
  process.key = kOrphanKey + orphans_++;
  process.adopted = true;
  process.state = Process::State::kAlive;
  process.behaviour = make_behaviour(scenario_, process.key);
  process.behaviour.start_error = 0;
  process.behaviour.generations = generations;
  outcome_.keys.insert(process.key);
  processes_.push_back(process);
  const std::size_t id = processes_.size() - 1;
  const Behaviour& b = process.behaviour;
  if (b.life_ms >= 0) at(now_ + b.life_ms, [this, id, b] { die(id, b.exit_status); });
  if (sweep_ != 0) send(id, sweep_);
}

void World::reap() {
  reap_due_ = false;
  event::TasksEnded ended;
  std::vector<std::size_t> left;  // for the next turn
  for (const std::size_t id : zombies_) {
    if (id != zombies_.front() && processes_[id].behaviour.seen_late) {
      left.push_back(id);
      continue;
    }
    Process& process = processes_[id];
    process.state = Process::State::kGone;
    if (process.adopted) continue;
    ended.ends.push_back({process.task, process.exit_status, process.unasked});
  }
  zombies_ = std::move(left);
  if (!zombies_.empty()) reap_soon();
  if (!ended.ends.empty()) deliver(ended);
  look_who_is_left();
}

// Says NothingLeft and NothingAdopted while a sweep holds, as soon as they are true.
void World::look_who_is_left() {
  if (sweep_ == 0 || look_due_) return;
  look_due_ = true;
  at(now_, [this] {
    look_due_ = false;
    if (sweep_ == 0) return;
    bool any = false;
    bool adopted = false;
    for (const Process& process : processes_) {
      if (process.state == Process::State::kGone) continue;
      any = true;  // a start that fails counts until its end was told
      adopted |= process.adopted;
    }
    if (!any) return deliver(event::NothingLeft{});
    if (!adopted && scenario_.tells_adopted) deliver(event::NothingAdopted{});
  });
}

void World::tell_late(bool starts) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process process = processes_[i];
    if (process.adopted || process.state != Process::State::kGone) continue;
    if (starts) {
      deliver(event::TaskStarted{process.task});
    } else {
      deliver(event::TasksEnded{{{process.task, {ExitStatus::How::kExited, 77}}}});
    }
  }
}

void World::give_input(const Input& input) {
  using What = Input::What;
  const auto nobody_asked = machine_.phase() != Phase::kPreparing;
  const auto number = static_cast<int>(input.value);
  switch (input.what) {
    case What::kStop:
      return deliver(event::StopRequested{number, input.notified});
    case What::kSignal:
      return deliver(event::SignalReceived{number});
    case What::kRelease:
      return deliver(event::Release{});
    case What::kHoldFor:
      return deliver(event::HoldFor{input.value});
    case What::kCheckpoint:
      return deliver(event::CheckpointRequested{.keep_running = (input.value & 1) != 0,
                                                .elsewhere = (input.value & 2) != 0});
    case What::kExpireIn:
      return deliver(event::ExpireIn{input.value});
    case What::kNobodySaves:
      return deliver(event::NobodySaves{});
    case What::kMembership:
      return deliver(event::MembershipChanged{(input.value & 1) != 0});
    case What::kLateEnd:
    case What::kLateStart:
      return tell_late(input.what == What::kLateStart);
    case What::kLateTimer:
      for (std::size_t i = 0; i < kTimerCount; ++i) {
        const auto timer = static_cast<Timer>(i);
        const auto& pending = referee_.pending(timer);
        deliver(event::TimerFired{timer, pending.has_value() ? pending->generation - 1 : 0});
      }
      return;
    case What::kLateBegin:
      return deliver(event::Begin{});
    case What::kLateAnswer:
      if (!nobody_asked) return;
      deliver(event::ClusterReady{{TaskKind::kMain}});
      return deliver(event::ResolveFailed{125});
    case What::kUnreachable:
      deliver(event::Unreachable{{99, 1}});
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        const Process process = processes_[i];
        if (process.adopted || process.state != Process::State::kGone) continue;
        deliver(event::Unreachable{process.task});
      }
      return;
    case What::kLinked:
      return deliver(event::Linked{input.value != 0});
    case What::kJobFailed:
      return deliver(job_failed(input.value));
    case What::kTaskWrites:
      return deliver(event::TaskWrites{.unknown = (input.value & 1) != 0});
    case What::kSaveKnown:
      return deliver(event::SaveKnown{});
    case What::kUnfit:
      return deliver(event::Unfit{});
    case What::kNodesReady:
      return deliver(event::NodesReady{static_cast<std::uint32_t>(number)});
    case What::kDiagnosed:
      return deliver(event::Diagnosed{static_cast<std::uint32_t>(number / 2), number % 2 != 0});
    case What::kNobodyLeft:
      if (sweep_ == 0) deliver(event::NothingLeft{});
      if (sweep_ == 0) deliver(event::NothingAdopted{});
      return;
  }
}

// Nothing will happen by itself any more. True: go on, because somebody does something.
bool World::on_empty_queue() {
  if (referee_.exited()) return false;
  const bool alive = std::any_of(processes_.begin(), processes_.end(), [](const Process& process) {
    return process.state != Process::State::kGone;
  });
  if (referee_.stopped() || (!alive && !referee_.pausing())) {
    outcome_.complaint = "nothing alive or pending, and no exit";
    return false;
  }
  at(now_ + 10, [this] { deliver(event::StopRequested{SIGTERM}); });
  return true;
}

// PID 1 leaves nothing behind that it did not try to kill, but what its last hooks left.
void World::check_exit() {
  const bool hooks = std::any_of(processes_.begin(), processes_.end(), [](const Process& process) {
    const bool last = process.kind == TaskKind::kPostStop || process.kind == TaskKind::kOnFailure;
    return !process.adopted && last;
  });
  for (const Process& process : processes_) {
    const bool alive =
        process.state == Process::State::kAlive || process.state == Process::State::kForked;
    if (!alive || process.killed || process.behaviour.start_error != 0) continue;
    if (!(process.adopted && hooks)) outcome_.complaint = "an exit beside a process not killed";
  }
}

Outcome World::run() {
  constexpr std::uint64_t kMaxSteps = 20'000;
  for (const Input& input : scenario_.inputs) at(input.at, [this, &input] { give_input(input); });
  at(0, [this] {
    if (scenario_.linked) deliver(event::Linked{true});
    deliver(event::Begin{});
    const auto& preparing = scenario_.preparing;
    if (std::find(preparing.begin(), preparing.end(), TaskKind::kResolve) != preparing.end())
      return;
    deliver_answer();
  });
  while (outcome_.complaint.empty() && outcome_.steps < kMaxSteps) {
    if (queue_.empty() && !on_empty_queue()) break;
    const Due due = queue_.top();
    queue_.pop();
    now_ = due.at;
    due.what();
  }
  if (outcome_.steps >= kMaxSteps) outcome_.complaint = "it never ends";
  return std::move(outcome_);
}

}  // namespace

Outcome run(const Scenario& scenario, Watch watch) { return World(scenario, watch).run(); }

}  // namespace sim
