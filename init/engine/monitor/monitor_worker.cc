#include "init/engine/monitor/monitor_worker.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "envgen/formats/perf_line.h"
#include "init/engine/hooks/hooks.h"
#include "init/engine/monitor/follow.h"
#include "init/engine/monitor/resource_meter.h"
#include "init/engine/monitor/stack_job.h"
#include "init/engine/monitor/stall.h"
#include "init/engine/state/status_text.h"
#include "init/proc/child_run.h"
#include "init/proc/load.h"
#include "init/proc/tree.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::int64_t kLineLookMs = 1000;
constexpr std::int64_t kLongestLookMs = 5000;
constexpr std::int64_t kShortestLookMs = 50;
constexpr std::int64_t kLooksInStall = 10;
// The first step may take this many times stall_ms: loading, compiling and rendezvous come before
// it.
constexpr std::int64_t kFirstStepStalls = 3;
// If a look comes this late (kLateLooks intervals and kLateMs), everything stood still: a frozen
// container, a suspended machine.
constexpr std::int64_t kLateLooks = 3;
constexpr std::int64_t kLateMs = 1000;
constexpr std::int64_t kSampleMs = 10'000;
// Samples come more often in the first minute. A job that is tried out ends soon, and its report
// needs more than a few points.
constexpr std::int64_t kEarlyMs = 60'000;
constexpr std::int64_t kEarlySampleMs = 1000;
constexpr std::int64_t kAlertMs = 60'000;
constexpr std::uint32_t kMaxCheckBytes = 4096;
constexpr std::size_t kMaxStates = 8;  // maximum of processes that a stall report names

// Reads the worker's messages, and reaps the worker if it has ended. Blocks only for a worker that
// has sent all its messages.
void settle(ChildWorker& worker) {
  if (worker.pid() == 0) return;
  worker.read();
  if (worker.channel() >= 0) return;
  proc::ChildRun(worker.pid(), {}, {}).end();
  worker.adopt(0);
}

// The worker for stall or health hooks, which run while the monitor goes on.
class HookJob : public HookRun {
 public:
  HookJob()
      : HookRun([this](const HookMessage& message) {
          if (const auto* failed = std::get_if<HookFailed>(&message)) message_ = failed->message;
        }) {}

  // Returns false if the worker could not be started; message() then has the reason.
  bool start(const envgen::HookGroup& group, const base::Environ& env, const MonitorOrder& order) {
    message_.clear();
    auto status =
        HookRun::start(group, env, order.run_dir, order.forced_names, order.job, order.saved);
    if (!status) message_ = to_line(status.error());
    return status.has_value();
  }
  [[nodiscard]] const std::string& message() const { return message_; }  // "": nothing failed

 private:
  std::string message_;
};

// The worker for doctor's checks. Each is limited in time, but together they may take seconds.
class CheckJob : public ChildWorker {
 public:
  CheckJob() : ChildWorker(1, kMaxCheckBytes) {}

  void start(const MonitorOrder& order) {
    message_.clear();
    auto status = fork("checking the node's health", order.saved, [&order](int fd) {
      return send_message(fd, 1, order.checks().substr(0, kMaxCheckBytes)) ? 0 : 1;
    });
    if (!status) message_ = to_line(status.error());
  }
  [[nodiscard]] const std::string& message() const { return message_; }  // "": nothing failed

 private:
  Heard on_message(std::uint32_t /*kind*/, std::string_view text) override {
    answered_ = true;
    message_ = text;
    return Heard::kLast;
  }
  void on_silence(bool /*damaged*/) override {
    if (!std::exchange(answered_, false)) message_ = "the health checks have crashed";
  }

  bool answered_ = false;
  std::string message_;
};

struct Rank {
  const Watched* watched;
  std::uint64_t start = 0;  // start time of the process, because its pid may be reused
  StallJudge judge;
  std::unique_ptr<FileFollower> follower = {};
  std::uint64_t marks_sent = 0;
  std::uint64_t perf_lines = 0;  // LineSlot::perf_lines at the last sample
  std::uint32_t crossings_seen = 0;
  std::int64_t alerted_ms = 0;  // time of the last message about performance; 0: none was sent
  std::string report = {};      // text about a stall, sent after stacks and hooks; "": none
  std::int64_t silent_ms = 0;
  bool hooks_ran = false;
};

class Worker {
 public:
  Worker(const MonitorOrder& order, int messages) : order_(order), messages_(messages) {
    const envgen::Observation& observe = order.observe;
    for (const Watched& one : order.watched) {
      const auto member = proc::find_member(one.pid);
      if (!member) continue;
      const StallRule rule{
          .timeout_ms = observe.stall_ms,
          .by_output = observe.stall_by_output,
          .first_step_ms = one.tells_steps ? kFirstStepStalls * observe.stall_ms : 0};
      ranks_.push_back({.watched = &one, .start = member->start, .judge = StallJudge(rule)});
      if (order.board && !one.tee && !one.log.empty()) {
        ranks_.back().follower =
            std::make_unique<FileFollower>(one.log, order.job ? &*order.job : nullptr);
      }
    }
    if (order.board) reader_.emplace(order.board, observe);
    awaits_steps_ = may_await_steps();
    if (observe.stall_ms > 0) {
      look_ms_ = std::clamp(observe.stall_ms / kLooksInStall, kShortestLookMs, kLongestLookMs);
    }
    if (order.board) look_ms_ = look_ms_ == 0 ? kLineLookMs : std::min(look_ms_, kLineLookMs);
    std::vector<ResourceMeter::Rank> measured;
    measured.reserve(ranks_.size());
    for (const Rank& rank : ranks_) {
      measured.push_back({rank.watched->process, rank.watched->pid, rank.start});
    }
    meter_.emplace(std::move(measured), order.job);
  }

  int run() {
    next_health_ms_ = begun_ms_;  // check at once, because a node may be unfit from the beginning
    next_look_ms_ = begun_ms_;
    while (!gone_) {
      const std::int64_t now_ms = sys::monotonic_ms();
      if (look_ms_ > 0 && now_ms >= next_look_ms_) look(now_ms);
      settle_stall();
      settle_health(now_ms);
      wait();
    }
    return 0;
  }

 private:
  void look(std::int64_t now_ms);
  void look_at_lines(std::int64_t now_ms);
  void look_at_performance(Rank& rank, bool due, std::int64_t now_ms);
  void measure(std::int64_t now_ms);
  void look_for_first_step(std::int64_t now_ms);
  void look_for_stalls(std::int64_t now_ms);
  void look_for_stall(Rank& rank, const std::vector<proc::Load>& loads, std::int64_t now_ms);
  [[nodiscard]] bool may_await_steps() const;
  [[nodiscard]] std::string stall_report(const Rank& rank,
                                         const std::vector<proc::Load>& loads) const;
  [[nodiscard]] StackOrder stacks_now() const;
  bool settle_stacks();
  void settle_stall();
  void settle_health(std::int64_t now_ms);
  void wait();
  void send(const MonitorMessage& message) {
    gone_ = gone_ || !send_message(messages_, static_cast<std::uint32_t>(message.kind),
                                   encode_message(message));
  }

  const MonitorOrder& order_;
  int messages_;
  std::vector<Rank> ranks_;
  std::optional<LineReader> reader_;
  std::optional<ResourceMeter> meter_;
  // No rank has ever printed a step, so warn if none comes (may_await_steps).
  bool awaits_steps_ = false;
  std::int64_t stepless_since_ms_ = 0;
  std::int64_t look_ms_ = 0;  // interval of looks; 0: there is nothing to look at
  std::int64_t next_look_ms_ = 0;
  std::int64_t looked_ms_ = 0;
  std::int64_t sampled_ms_ = 0;
  std::int64_t measured_ms_ = 0;
  std::int64_t begun_ms_ = sys::monotonic_ms();
  std::int64_t shown_ms_ = 0;  // time of the last message kSample
  StackJob stacks_;
  bool stacks_wanted_ = false;
  // Take no further stacks: they might show ranks that the first ones woke.
  bool suspect_known_ = false;
  bool excuses_ = false;  // the next look leaves out CPU time, which the processes used for stacks
  HookJob stall_;
  HookJob health_;
  CheckJob checks_;
  bool round_runs_ = false;  // a round of health checks runs
  std::int64_t next_health_ms_ = 0;
  std::uint64_t failed_rounds_ = 0;
  bool health_sent_ = false;
  bool gone_ = false;  // PID 1 no longer reads the messages
};

void Worker::look(std::int64_t now_ms) {
  next_look_ms_ = now_ms + look_ms_;
  if (order_.board) look_at_lines(now_ms);
  if (order_.observe.stall_ms > 0) look_for_stalls(now_ms);
  measure(now_ms);
  looked_ms_ = sys::monotonic_ms();
}

// A look at lines or for stalls wakes the worker; no look is made for the measurement alone.
void Worker::measure(std::int64_t now_ms) {
  const std::int64_t pause_ms = now_ms - begun_ms_ < kEarlyMs ? kEarlySampleMs : kSampleMs;
  if (measured_ms_ != 0 && now_ms - measured_ms_ < pause_ms) return;
  measured_ms_ = now_ms;
  send({.kind = MonitorMessage::Kind::kResources, .resources = meter_->measure()});
}

// Returns a number that changes when the numbers in `slot` change.
std::uint64_t marks_of(const LineSlot& slot) {
  return slot.perf_lines + slot.steps + static_cast<std::uint64_t>(slot.saved_ms);
}

void Worker::look_at_lines(std::int64_t now_ms) {
  const bool due = now_ms - sampled_ms_ >= kSampleMs;
  const bool early = now_ms - begun_ms_ < kEarlyMs && now_ms - shown_ms_ >= kEarlySampleMs;
  bool fresh = false;
  for (Rank& rank : ranks_) {
    const std::uint32_t process = rank.watched->process;
    if (rank.follower) {
      rank.follower->read({[&](std::string_view bytes) { reader_->add(process, 0, bytes); },
                           [&] { reader_->forget(process, 0); }});
    }
    const std::uint64_t marks = marks_of(order_.board->slot(process));
    fresh = fresh || (marks != rank.marks_sent && (due || early || rank.marks_sent == 0));
    look_at_performance(rank, due, now_ms);
  }
  if (due) sampled_ms_ = now_ms;
  if (!fresh) return;
  shown_ms_ = now_ms;
  for (Rank& rank : ranks_) {
    rank.marks_sent = marks_of(order_.board->slot(rank.watched->process));
  }
  send({.kind = MonitorMessage::Kind::kSample});
}

void Worker::look_at_performance(Rank& rank, bool due, std::int64_t now_ms) {
  const LineSlot& slot = order_.board->slot(rank.watched->process);
  const std::uint64_t lines = slot.perf_lines;
  if (lines == 0) return;
  const std::uint32_t crossings = slot.crossings;
  const bool crossed = std::exchange(rank.crossings_seen, crossings) != crossings;
  const bool stays = due && std::exchange(rank.perf_lines, lines) != lines &&
                     rank.alerted_ms != 0 &&
                     slot.above >= static_cast<std::uint32_t>(order_.observe.perf_count);
  const bool above =
      (crossed || stays) && (rank.alerted_ms == 0 || now_ms - rank.alerted_ms >= kAlertMs);
  if (!above) return;
  rank.alerted_ms = now_ms;
  std::string text =
      "performance: " + rank.watched->name + " spent " + envgen::millionths_text(slot.hardware) +
      " of " + envgen::millionths_text(slot.e2e) + " in hardware, ratio " +
      envgen::millionths_text(slot.ratio_ppm) + ", above " +
      envgen::millionths_text(order_.observe.perf_threshold_ppm) + " (--perf-threshold)";
  if (order_.observe.perf_count > 1) {
    text += " in " + std::to_string(order_.observe.perf_count) + " iterations in succession";
  }
  send({.kind = MonitorMessage::Kind::kAbove,
        .process = rank.watched->process,
        .count = lines,
        .text = text});
}

void Worker::look_for_stalls(std::int64_t now_ms) {
  const std::vector<proc::Load> loads = proc::all_loads();
  const auto parent = std::ranges::find(loads, ::getppid(), &proc::Load::pid);
  // PID 1 may be stopped by a user's ^Z or a debugger. That is no stall of the ranks.
  const bool stopped = parent != loads.end() && (parent->state == 'T' || parent->state == 't');
  // Limited to half of stall_ms, so that one late look on a busy machine never makes a stall.
  const std::int64_t late_ms =
      std::min(kLateLooks * look_ms_ + kLateMs, order_.observe.stall_ms / 2);
  // True if a rank is blocked because the reader of trainit's stdout pauses. Others may wait for
  // that rank. Such a pause is no stall.
  const bool held = order_.seen != nullptr && order_.seen->held();
  if (stopped || held || now_ms - looked_ms_ > late_ms) {
    for (Rank& rank : ranks_) rank.judge.begin_anew();
    stepless_since_ms_ = now_ms;
  }
  for (Rank& rank : ranks_) look_for_stall(rank, loads, now_ms);
  if (awaits_steps_) look_for_first_step(now_ms);
  excuses_ = stacks_.pid() != 0;
}

void Worker::look_for_stall(Rank& rank, const std::vector<proc::Load>& loads, std::int64_t now_ms) {
  const Watched& watched = *rank.watched;
  const auto own = std::ranges::lower_bound(loads, watched.pid, {}, &proc::Load::pid);
  const bool lives = own != loads.end() && own->pid == watched.pid && own->start == rank.start &&
                     own->state != 'Z';
  if (!lives) return rank.judge.begin_anew();
  ActivitySample sample;
  sample.cpu_ms = proc::tree_used_ms(loads, watched.pid);
  sample.runnable = !excuses_ && proc::tree_runnable(loads, watched.pid);
  if (watched.tee) {
    sample.output = order_.seen->seen(watched.process).bytes;
  } else if (!watched.log.empty()) {
    sample.output = size_of_file(watched.log);
  }
  if (order_.board) {
    const LineSlot& slot = order_.board->slot(watched.process);
    sample.steps = slot.steps;
    sample.blind = watched.tee && slot.blind;
  }
  if (excuses_) rank.judge.excuse(sample.cpu_ms);
  switch (rank.judge.look(sample, now_ms)) {
    case StallJudge::StallState::kNothing:
      return;
    case StallJudge::StallState::kMoves:
      rank.hooks_ran = false;
      suspect_known_ = false;
      // If the stall was not sent yet, because its hooks still run, send neither.
      if (!std::exchange(rank.report, {}).empty()) return;
      return send({.kind = MonitorMessage::Kind::kMoves,
                   .process = watched.process,
                   .text = watched.name + " makes progress again"});
    case StallJudge::StallState::kStalled:
      rank.silent_ms = now_ms - rank.judge.silent_since_ms();
      rank.report = stall_report(rank, loads);
      stacks_wanted_ = !suspect_known_;
  }
}

// Returns whether to warn if no rank prints a first step. If no rank has ever printed one, the
// pattern may be at fault, so that is only logged and fails no rank.
bool Worker::may_await_steps() const {
  // Only if all ranks run here: ranks of another node may print the steps.
  return tells_steps(order_.observe) && order_.board && order_.observe.stall_ms > 0 &&
         order_.stacks.whole && std::ranges::none_of(order_.watched, &Watched::tells_steps);
}

void Worker::look_for_first_step(std::int64_t now_ms) {
  const bool come = std::ranges::any_of(ranks_, [this](const Rank& rank) {
    return order_.board->slot(rank.watched->process).steps > 0;
  });
  const bool blind = std::ranges::any_of(ranks_, [this](const Rank& rank) {
    return rank.watched->tee && order_.board->slot(rank.watched->process).blind;
  });
  if (stepless_since_ms_ == 0 || blind) stepless_since_ms_ = now_ms;
  const std::int64_t stepless_ms = now_ms - stepless_since_ms_;
  awaits_steps_ = !come && stepless_ms < kFirstStepStalls * order_.observe.stall_ms;
  if (awaits_steps_ || come) return;
  std::string text = "no first step for " + span_text(stepless_ms) + ": no line fits";
  for (const std::string& pattern : order_.observe.progress) {
    text += " \"" + pattern + "\"";
  }
  send({.kind = MonitorMessage::Kind::kNoStep,
        .value = stepless_ms,
        .text = text + " (--progress)"});
}

std::string Worker::stall_report(const Rank& rank, const std::vector<proc::Load>& loads) const {
  const Watched& watched = *rank.watched;
  std::string text = "no output";
  if (!order_.observe.stall_by_output) text += " and no CPU time";
  const bool told = order_.board && order_.board->slot(watched.process).steps > 0;
  if (rank.judge.by_steps()) text = told ? "no new step" : "no first step";
  text += " for " + span_text(rank.silent_ms);
  if (told) text += ", the last one is " + std::to_string(order_.board->slot(watched.process).step);
  const std::vector<pid_t> tree = proc::tree_of(loads, watched.pid);
  for (const pid_t pid : std::span(tree).first(std::min(tree.size(), kMaxStates))) {
    const std::string state = proc::state_text(pid);
    if (!state.empty()) text += "; " + state;
  }
  if (tree.size() > kMaxStates) {
    text += "; and " + std::to_string(tree.size() - kMaxStates) + " more processes";
  }
  return text;
}

StackOrder Worker::stacks_now() const {
  StackOrder order = order_.stacks;
  for (StackTarget& target : order.targets) {
    const auto found = std::ranges::find_if(
        ranks_, [&target](const Rank& rank) { return rank.watched->process == target.process; });
    if (found == ranks_.end()) continue;
    const auto member = proc::find_member(target.pid);
    if (member && member->start == found->start && member->state != 'Z') continue;
    target.pid = 0;
    target.ended = "has ended";
  }
  return order;
}

// Sends the verdict of stacks that were taken, and starts to take stacks if a stall needs them.
// Returns false while they are being taken.
bool Worker::settle_stacks() {
  settle(stacks_);
  stacks_.tend(sys::monotonic_ms());
  if (stacks_.pid() != 0) return false;
  if (const auto message = stacks_.take()) {
    const bool one = message->suspects.size() == 1;
    suspect_known_ = !message->suspects.empty();
    send({.kind = MonitorMessage::Kind::kHang,
          .process = one ? message->suspects[0] : 0,
          .count = one ? 1U : 0U,
          .text = message->text,
          .places = message->places,
          .notes = message->notes});
  }
  if (!std::exchange(stacks_wanted_, false) || suspect_known_) return true;
  const std::string directory = stacks_directory(order_.run_dir);
  auto status =
      stacks_.start(stacks_now(), directory.empty() ? "" : directory + "/stall", order_.saved);
  if (!status) sys::log::warning(to_line(status.error()) + ", ignoring");
  excuses_ = true;
  return !status.has_value();
}

// Sends the reports of stalls, but only after stacks and hooks: with the report, PID 1 may end the
// process that they examine.
void Worker::settle_stall() {
  if (!settle_stacks()) return;
  settle(stall_);
  if (stall_.pid() != 0) return;
  for (Rank& rank : ranks_) {
    if (rank.report.empty()) continue;
    const bool has_hooks = !order_.stall_hooks.paths.empty();
    // The hooks run first, once for each stall; then the report is sent.
    if (has_hooks && !rank.hooks_ran) {
      const Watched& watched = *rank.watched;
      base::Environ env = order_.stall_env;
      env.set("TRAINIT_STALLED_RANK",
              watched.rank >= 0 ? std::to_string(watched.rank) : watched.name);
      env.set("TRAINIT_STALLED_PID", std::to_string(watched.pid));
      env.set("TRAINIT_STALLED_FOR_S", std::to_string(rank.silent_ms / 1000));
      rank.hooks_ran = true;
      if (stall_.start(order_.stall_hooks, env, order_)) return;
      sys::log::warning(stall_.message() + ", ignoring");
    }
    rank.hooks_ran = false;
    // The time without progress includes that for stacks and hooks.
    const std::int64_t silent_ms = sys::monotonic_ms() - rank.judge.silent_since_ms();
    send({.kind = MonitorMessage::Kind::kStalled,
          .process = rank.watched->process,
          .value = std::max(rank.silent_ms, silent_ms),
          .text = std::exchange(rank.report, {})});
  }
}

void Worker::settle_health(std::int64_t now_ms) {
  const std::int64_t interval_ms = order_.observe.health_interval_ms;
  if (interval_ms == 0) return;
  settle(health_);
  settle(checks_);
  if (!round_runs_ && now_ms >= next_health_ms_) {
    next_health_ms_ = now_ms + interval_ms;
    round_runs_ = true;
    envgen::HookGroup group = order_.health_hooks;
    group.fatal = true;  // so that the first hook that fails ends the round with its message
    if (!group.paths.empty()) health_.start(group, order_.health_env, order_);
    if (order_.checks) checks_.start(order_);
  }
  if (!round_runs_ || health_.pid() != 0 || checks_.pid() != 0) return;
  round_runs_ = false;
  std::string wrong = health_.message();
  if (!checks_.message().empty()) wrong += (wrong.empty() ? "" : "; ") + checks_.message();
  const bool was_fit = failed_rounds_ == 0;
  failed_rounds_ = wrong.empty() ? 0 : failed_rounds_ + 1;
  // A round without findings is sent only as the first message, or after a round with findings.
  if (failed_rounds_ == 0 && was_fit && health_sent_) return;
  health_sent_ = true;
  send({.kind = MonitorMessage::Kind::kHealth, .count = failed_rounds_, .text = wrong});
}

void Worker::wait() {
  std::int64_t until_ms = INT64_MAX;
  if (look_ms_ > 0) until_ms = next_look_ms_;
  if (order_.observe.health_interval_ms > 0 && !round_runs_) {
    until_ms = std::min(until_ms, next_health_ms_);
  }
  until_ms = std::min(until_ms, stacks_.deadline_ms().value_or(INT64_MAX));
  const std::int64_t left_ms = until_ms - sys::monotonic_ms();
  constexpr std::int64_t kLongestWaitMs = 3'600'000;
  std::array<pollfd, 5> sources = {pollfd{messages_, 0, 0}, pollfd{stall_.channel(), POLLIN, 0},
                                   pollfd{stacks_.channel(), POLLIN, 0},
                                   pollfd{health_.channel(), POLLIN, 0},
                                   pollfd{checks_.channel(), POLLIN, 0}};
  ::poll(sources.data(), sources.size(),
         static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, kLongestWaitMs)));
  gone_ = gone_ || (sources[0].revents & POLLERR) != 0;
}

}  // namespace

int run_monitor(const MonitorOrder& order, int messages) { return Worker(order, messages).run(); }

}  // namespace engine
