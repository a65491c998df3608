#include "tests/sim/lifecycle_world.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <queue>
#include <random>

#include "tests/lifecycle/text.h"

namespace sim {

using namespace lifecycle;

namespace {

// splitmix64: small, and good enough from any seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  TimeMs pick(std::initializer_list<TimeMs> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(below(values.size())));
  }

 private:
  std::uint64_t state_;
};

constexpr std::uint64_t kOrphanKey = 1ULL << 40U;
constexpr TimeMs kNever = -1;
constexpr TaskKind kHooks[] = {TaskKind::kPreStart, TaskKind::kPostStart, TaskKind::kCheckpoint,
                               TaskKind::kPreStop,  TaskKind::kOnFailure, TaskKind::kPostStop};
constexpr int kStepSignal = SIGUSR2;  // no input sends it

}  // namespace

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
    b.ending.how = by_signal ? Ending::How::kSignaled : Ending::How::kExited;
    b.ending.value = static_cast<int>(by_signal ? random.pick({SIGSEGV, SIGKILL, SIGTERM})
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
    b.answer_failed = random.one_in(12) ? static_cast<int>(random.pick({124, 125})) : 0;
    b.answer_ms = std::max<TimeMs>(0, b.life_ms) + random.pick({-1, 0, 0, 1, 2, 3000, 11000});
    if (b.life_ms > 0 && random.one_in(2)) b.answer_ms = b.life_ms / 2;
    b.answer_ms = std::max<TimeMs>(0, b.answer_ms);
  }
  return b;
}

namespace {

Input make_input(Random& random, TimeMs span) {
  using What = Input::What;
  Input input;
  input.at = static_cast<TimeMs>(random.below(static_cast<std::uint64_t>(span)));
  input.what = static_cast<What>(random.below(static_cast<std::uint64_t>(What::kNobodyLeft) + 1));
  if (random.one_in(3)) input.what = What::kStop;
  if (input.what == What::kStop) input.value = random.pick({SIGTERM, SIGTERM, SIGINT, SIGQUIT});
  if (input.what == What::kStop)
    input.told = static_cast<int>(random.pick({0, 0, SIGINT, SIGQUIT}));
  if (input.what == What::kCheckpoint) input.value = random.pick({0, 0, 1});
  if (input.what == What::kExtend) input.value = random.pick({-5, 0, 10, 5000});
  if (input.what == What::kSignal) input.value = random.pick({SIGUSR1, SIGHUP, SIGCONT});
  if (input.what == What::kHoldFor) input.value = random.pick({-5, 0, 10, 5000});
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
  policy.pre_stop_ms = random.pick({0, 200, 2000, 20000});
  policy.post_stop_ms = random.pick({0, 0, 500, 3000, 20000});
  policy.resolve_timeout_ms = random.pick({0, 50, 1000, 60000});
  policy.hold_ms = random.pick({0, 0, 0, 10, 4000});
  policy.max_duration_ms = random.pick({0, 0, 0, 1, 100, 5000, 60000});
  policy.checkpoint_ms = random.pick({0, 30, 1000, 5000, 300'000});
  policy.checkpoint_signal = random.one_in(2);
  policy.max_restarts = static_cast<std::uint32_t>(random.pick({0, 0, 0, 1, 3}));
  policy.restart_backoff_ms = random.pick({0, 100, 1000});
  policy.restart_backoff_max_ms = random.pick({150, 60000});
  policy.restart_least_ms = random.pick({0, 0, 120, 5000});
  if (random.one_in(4)) policy.no_restart_on = {{1, 2}, {126, 139}};
  policy.second_term_hurries = random.one_in(4);
  if (random.one_in(2)) policy.escalation = make_escalation(random);
  return policy;
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
    // Elastic: the next incarnation may have another shape.
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
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    s.inputs.push_back(make_input(random, span));
    // Twice at the same instant, or a little later.
    if (random.one_in(4)) s.inputs.push_back(s.inputs.back());
    if (random.one_in(4)) s.inputs.back().at += static_cast<TimeMs>(random.below(2000));
  }
  s.tells_adopted = !random.one_in(4);
  s.part_of_job = random.one_in(4);
  s.nobody_saves = random.one_in(8);
  return s;
}

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
    Ending ending;
    bool killed = false;  // was sent SIGKILL
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
  void die(std::size_t process, Ending ending);
  void adopt(int generations);
  void reap();
  void look_who_is_left();
  void fire_timer(const action::SetTimer& timer);
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
  std::vector<Action> actions = machine_.step(event, now_);
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
  if (!over && referee_.exited()) check_exit();
}

void World::obey(const Action& action) {
  if (const auto* start_it = std::get_if<action::Start>(&action)) {
    start(start_it->task);
  } else if (const auto* signal = std::get_if<action::Signal>(&action)) {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const Process& process = processes_[i];
      if (!process.adopted && process.task == signal->task) send(i, signal->signal);
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
    const Ending ending{Ending::How::kExited, std::max(0, b.term_code)};
    at(now_ + b.save_ms, [this, i, ending] { die(i, ending); });
  }
}

void World::fire_timer(const action::SetTimer& timer) {
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
      deliver(event::TasksEnded{{{task, {Ending::How::kNotStarted, b.start_error}}}});
      return look_who_is_left();
    }
    self.state = Process::State::kAlive;
    deliver(event::TaskStarted{task});
  });
  if (b.start_error != 0) return;
  if (b.life_ms >= 0) at(now_ + b.life_ms, [this, id, b] { die(id, b.ending); });
  if (entry.kind == TaskKind::kResolve) at(now_ + b.answer_ms, [this, id] { answer(id); });
}

void World::answer(std::size_t process) {
  const Process& self = processes_[process];
  const bool lives = self.state == Process::State::kForked || self.state == Process::State::kAlive;
  if (self.behaviour.silent || (!lives && !self.ending.ok())) return;
  if (self.behaviour.answer_failed != 0) {
    return deliver(event::ResolveFailed{self.behaviour.answer_failed});
  }
  deliver_answer();
}

void World::deliver_answer() {
  const std::size_t incarnation = machine_.restarts();
  event::ClusterReady ready{
      .tasks = scenario_.clusters[std::min(incarnation, scenario_.clusters.size() - 1)],
      .success = scenario_.success,
      .part_of_job = scenario_.part_of_job};
  const TimeMs post_stop_ms = scenario_.post_stop_ms[incarnation % 4];
  if (post_stop_ms != 0) {
    ready.policy = scenario_.policy;
    ready.policy->post_stop_ms = post_stop_ms;
  }
  deliver(ready);
}

void World::send(std::size_t process, int signal) {
  Process& self = processes_[process];
  if (self.state != Process::State::kForked && self.state != Process::State::kAlive) return;
  const Behaviour& b = self.behaviour;
  if (b.start_error != 0) return;  // there is no process; its failure is on the way
  const Ending by_signal{Ending::How::kSignaled, signal};
  if (b.unreachable && referee_.runs()[self.task.index].told) {
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
  const Ending ending = b.term_code < 0 ? by_signal : Ending{Ending::How::kExited, b.term_code};
  at(now_ + b.term_ms, [=, this] { die(process, ending); });
}

void World::die(std::size_t process, Ending ending) {
  Process& self = processes_[process];
  if (self.state != Process::State::kForked && self.state != Process::State::kAlive) return;
  self.state = Process::State::kZombie;
  self.ending = ending;
  zombies_.push_back(process);
  const Behaviour b = self.behaviour;
  if (self.adopted) {
    if (b.generations > 0) adopt(b.generations - 1);
  } else {
    for (int i = 0; i < b.orphans; ++i) adopt(b.generations);
  }
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
  if (b.life_ms >= 0) at(now_ + b.life_ms, [this, id, b] { die(id, b.ending); });
  if (sweep_ != 0) send(id, sweep_);
}

void World::reap() {
  reap_due_ = false;
  event::TasksEnded ended;
  for (const std::size_t id : zombies_) {
    Process& process = processes_[id];
    process.state = Process::State::kGone;
    if (!process.adopted) ended.ends.push_back({process.task, process.ending});
  }
  zombies_.clear();
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

void World::give_input(const Input& input) {
  using What = Input::What;
  const auto nobody_asked = machine_.phase() != Phase::kPreparing;
  const auto number = static_cast<int>(input.value);
  switch (input.what) {
    case What::kStop:
      return deliver(event::StopRequested{number, input.told});
    case What::kSignal:
      return deliver(event::SignalReceived{number});
    case What::kRelease:
      return deliver(event::Release{});
    case What::kHoldFor:
      return deliver(event::HoldFor{input.value});
    case What::kCheckpoint:
      return deliver(event::CheckpointRequested{input.value != 0});
    case What::kExtend:
      return deliver(event::ExtendBy{input.value});
    case What::kNobodySaves:
      return deliver(event::NobodySaves{});
    case What::kMembership:
      return deliver(event::MembershipChanged{});
    case What::kLateEnd:
    case What::kLateStart:
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        const Process process = processes_[i];
        if (process.adopted || process.state != Process::State::kGone) continue;
        if (input.what == What::kLateStart) {
          deliver(event::TaskStarted{process.task});
        } else {
          deliver(event::TasksEnded{{{process.task, {Ending::How::kExited, 77}}}});
        }
      }
      return;
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
      deliver(event::ClusterReady{{TaskKind::kMain}, SuccessPolicy::kAll});
      return deliver(event::ResolveFailed{125});
    case What::kUnreachable:
      deliver(event::Unreachable{{99, 1}});
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        const Process process = processes_[i];
        if (process.adopted || process.state != Process::State::kGone) continue;
        deliver(event::Unreachable{process.task});
      }
      return;
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
  zero(&Policy::pre_stop_ms);
  zero(&Policy::post_stop_ms);
  zero(&Policy::max_duration_ms);
  zero(&Policy::restart_least_ms);
  zero(&Policy::checkpoint_signal);
  zero(&Policy::second_term_hurries);
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

Outcome run(const Scenario& scenario, Watch watch) { return World(scenario, watch).run(); }

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
