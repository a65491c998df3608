#include "init/engine/monitor/monitor.h"

#include <algorithm>
#include <utility>

#include "envgen/plan/observation.h"
#include "init/doctor/doctor.h"
#include "init/engine/monitor/resource_record.h"
#include "init/engine/monitor/stack_job.h"
#include "init/engine/monitor/step_record.h"
#include "init/engine/report/timeline.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

namespace event = lifecycle::event;

constexpr std::uint32_t kMaxMessageBytes = 64U << 10;

envgen::HookGroup hooks_at(const envgen::Plan& plan, envgen::HookEvent event) {
  const auto found = std::ranges::find(plan.hooks, event, &envgen::HookGroup::event);
  if (found != plan.hooks.end()) return *found;
  envgen::HookGroup none;
  none.event = event;
  return none;
}

// Requests a checkpoint after which the job ends, to be scheduled again. If trainit restarts the
// job itself (--max-restarts), only logs a warning.
void ask_to_save(const WorkerContext& context, const std::string& reason) {
  Job& job = context.job;
  if (!job.start.save_reason.empty()) return;
  if (job.plan.policy.max_restarts > 0) {
    return sys::log::warning(
        "no checkpoint for it: the job restarts by itself (--max-restarts), and is not scheduled "
        "again");
  }
  job.start.save_reason = reason;
  context.post(event::CheckpointRequested{});
}

void take_health(const WorkerContext& context, const MonitorMessage& message) {
  Job& job = context.job;
  HealthWatch& health = job.health;
  const bool recovers = message.count == 0 && health.failures > 0;
  health.checked_ms = sys::wall_ms();
  health.failures = static_cast<int>(std::min<std::uint64_t>(message.count, 1'000'000));
  health.message = message.text;
  if (recovers) sys::log::info("the node is healthy again");
  if (message.count == 0) return;
  const int most = job.plan.observe.health_failures;
  sys::log::warning("health: " + message.text + " (" + std::to_string(message.count) +
                    (message.count == 1 ? " round" : " rounds") + " in succession, at " +
                    std::to_string(most) + " the job is saved)");
  if (health.failures >= most) ask_to_save(context, "the node is not healthy: " + message.text);
}

void take(const WorkerContext& context, HangTask& hang, const MonitorMessage& message) {
  using Kind = MonitorMessage::Kind;
  Job& job = context.job;
  if (message.kind == Kind::kHealth) return take_health(context, message);
  if (message.process >= job.watches.size()) return;
  switch (message.kind) {
    case Kind::kSample:
      return;  // no work here: the caller marks the state as changed
    case Kind::kNoStep:
      return sys::log::warning(message.text);
    case Kind::kAbove:
      sys::log::warning(message.text);
      if (job.plan.observe.perf_reschedules) ask_to_save(context, message.text);
      return;
    case Kind::kStalled:
      return hang.stalled(message);
    case Kind::kHang:
      return hang.looked(message);
    case Kind::kMoves:
      job.watches[message.process].stalled_since_ms = 0;
      hang.moves(message.process);
      return sys::log::info(message.text);
    case Kind::kHealth:
    case Kind::kResources:
      return;
  }
}

void note(const WorkerContext& context, const MonitorMessage& message) {
  using Kind = MonitorMessage::Kind;
  Timeline& timeline = context.timeline;
  const Job& job = context.job;
  if (message.kind == Kind::kHealth) {
    return timeline.note("health", message.count == 0 ? "ok" : message.text);
  }
  if (message.kind == Kind::kSample || message.process >= job.plan.processes.size()) return;
  if (message.kind == Kind::kNoStep) return timeline.note("stall", message.text);
  const char* name = message.kind == Kind::kAbove ? "performance" : "stall";
  // If there is a link, node 0's verdict is recorded instead.
  if (message.kind == Kind::kHang && !job.hang_agent.is_linked())
    timeline.note("hang", message.text);
  if (message.kind == Kind::kHang) return;
  timeline.note(name, message.text, job.plan.processes[message.process].rank);
}

}  // namespace

void prepare_watches(Job& job) {
  job.watches.clear();
  job.health = {};
  const std::size_t count = job.plan.processes.size();
  const std::shared_ptr<LineBoard> before = std::move(job.lines);
  job.told_steps.resize(count);
  for (std::size_t i = 0; before && i < count && before->size() == count; ++i) {
    job.told_steps[i] = job.told_steps[i] || before->slot(i).steps > 0;
  }
  const envgen::Observation& observe = job.plan.observe;
  if (!envgen::has_watches(observe)) return;
  job.watches.resize(count);
  if (!envgen::reads_lines(observe) || count == 0) return;
  auto board = LineBoard::make(count);
  if (!board) return sys::log::warning(to_line(board.error()) + ", so they are not");
  job.lines = std::move(*board);
}

void add_lines(const Job& job, JobReport& report) {
  for (std::size_t i = 0; job.lines && i < report.tasks.size() && i < job.records.size(); ++i) {
    const TaskRecord& record = job.records[i];
    const auto place = static_cast<std::size_t>(record.process);
    if (!is_main(record) || place >= job.lines->size()) continue;
    const LineSlot& slot = job.lines->slot(place);
    TaskReport& task = report.tasks[i];
    if (slot.perf_lines > 0) task.perf_ppm = slot.ratio_ppm;
    if (slot.steps > 0) task.step = slot.step;
    if (slot.saved_ms > 0) task.saved_step = slot.saved;
  }
}

Tees::MakeScan line_scan(const Job& job) {
  if (!job.lines) return {};
  return [board = job.lines, observe = job.plan.observe](int /*messages*/,
                                                         bool in_full) -> logtee::Scan {
    for (std::size_t i = 0; i < board->size(); ++i) board->slot(i).blind = !in_full;
    if (!in_full) return {};
    auto reader = std::make_shared<LineReader>(board, observe);
    return [reader](std::size_t process, logtee::Stream stream, std::string_view bytes) {
      reader->add(process, static_cast<std::size_t>(stream), bytes);
    };
  };
}

namespace {

// Returns a function that runs doctor's checks of this node and returns the faults. Empty if the
// plan has no health checks. It is called in a worker, which has its own copy of the job.
std::function<std::string()> health_checks(const Job& job, const StartContext& context) {
  if (job.plan.observe.health_checks.empty()) return {};
  return [&job, &base = context.base, env = common_env(job, context, false)] {
    const std::string& list = job.plan.observe.health_checks;
    const auto names = doctor::parse_check_names(list == envgen::kAllChecks ? "" : list);
    if (!names) return to_line(names.error());
    doctor::Context where = doctor::context_of(job.plan, env);
    where.start = base.env;
    where.occasion = doctor::Occasion::kMonitor;
    where.run_dir = base.facts.run_dir;
    std::string text;
    for (const doctor::CheckResult& one : doctor::run_checks(*names, where)) {
      if (one.verdict == doctor::CheckStatus::kFailed)
        text += (text.empty() ? "" : "; ") + to_line(one);
    }
    return text;
  };
}

// Returns the monitor's order for the processes that run now. `seen`: the tee's shared data;
// nullptr without a tee. `context`: as for the job's hooks.
MonitorOrder monitor_order(const Job& job, const logtee::Shared* seen, const StartContext& context,
                           const proc::SavedSignals& saved) {
  MonitorOrder order;
  order.seen = seen;
  order.observe = job.plan.observe;
  order.board = job.lines;
  for (const TaskRecord& record : job.records) {
    if (record.kind != lifecycle::TaskKind::kMain || record.pid <= 0) continue;
    const envgen::Process& process = *planned(job, record);
    order.watched.push_back(
        {.process = static_cast<std::uint32_t>(record.process),
         .pid = record.pid,
         .name = record.name,
         .rank = process.rank,
         .tee = seen != nullptr && seen->has(static_cast<std::size_t>(record.process)),
         .log = process.log,
         .tells_steps = job.told_steps[static_cast<std::size_t>(record.process)]});
  }
  order.checks = health_checks(job, context);
  order.stacks = stack_order(job, context.base.facts.run_dir);
  order.stall_hooks = hooks_at(job.plan, envgen::HookEvent::kStall);
  order.health_hooks = hooks_at(job.plan, envgen::HookEvent::kHealth);
  order.stall_env = watch_env(job, envgen::HookEvent::kStall, context);
  order.health_env = watch_env(job, envgen::HookEvent::kHealth, context);
  order.forced_names = forced_names(job.plan);
  order.job = job.plan.sandbox.identity;
  order.run_dir = context.base.facts.run_dir;
  order.saved = saved;
  return order;
}

}  // namespace

Monitor::Monitor(const WorkerContext& context, const Tees& tees, HangTask& hang)
    : ChildWorker(kMonitorKinds, kMaxMessageBytes), context_(context), tees_(tees), hang_(hang) {}

void Monitor::stepped() {
  const bool runs = context_.machine.phase() == lifecycle::Phase::kRunning;
  keep(runs && envgen::has_watches(context_.job.plan.observe), [this] { start(); });
}

void Monitor::start() {
  const MonitorOrder order =
      monitor_order(context_.job, tees_.seen(), context_.start_context(), context_.saved);
  auto status = fork("starting the monitor", context_.saved,
                     [&order](int fd) { return run_monitor(order, fd); });
  if (!status) sys::log::warning(to_line(status.error()) + ", so the job is not watched");
}

ChildWorker::Heard Monitor::on_message(std::uint32_t kind, std::string_view bytes) {
  const auto message = decode_message(kind, bytes);
  if (!message) return Heard::kDamaged;
  if (message->kind == MonitorMessage::Kind::kResources) {
    // The state has none of it.
    if (message->resources) take_resources(context_.job, context_.timeline, *message->resources);
    return Heard::kMore;
  }
  take(context_, hang_, *message);
  if (message->kind == MonitorMessage::Kind::kSample) {
    record_steps(context_.job, context_.timeline, false);
  }
  note(context_, *message);
  context_.note_change();
  return Heard::kMore;
}

void Monitor::on_silence(bool /*damaged*/) {
  sys::log::warning("the job is no longer watched: the monitor has failed");
}

}  // namespace engine
