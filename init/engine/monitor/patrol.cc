#include "init/engine/monitor/patrol.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "envgen/plan/observation.h"
#include "init/doctor/doctor.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

namespace event = lifecycle::event;

constexpr std::uint32_t kMostMessageBytes = 64U << 10;

envgen::HookGroup hooks_at(const envgen::Plan& plan, envgen::HookEvent event) {
  const auto found = std::ranges::find(plan.hooks, event, &envgen::HookGroup::event);
  if (found != plan.hooks.end()) return *found;
  envgen::HookGroup none;
  none.event = event;
  return none;
}

// The job is saved and scheduled again, for this reason.
void ask_to_save(Job& job, const std::string& reason, std::vector<lifecycle::Event>& events) {
  if (!job.save_reason.empty()) return;
  if (job.plan.policy.max_restarts > 0) {
    return sys::log::warning(
        "no checkpoint for it: the job restarts by itself (--max-restarts), and is not scheduled "
        "again");
  }
  job.save_reason = reason;
  events.emplace_back(event::CheckpointRequested{});
}

TaskRecord* record_of(Job& job, std::uint32_t process) {
  const auto found = std::ranges::find_if(job.records, [process](const TaskRecord& record) {
    return record.kind == lifecycle::TaskKind::kMain && record.process == static_cast<int>(process);
  });
  return found == job.records.end() ? nullptr : &*found;
}

void take_stall(Job& job, const PatrolNews& news, std::vector<lifecycle::Event>& events) {
  TaskRecord* record = record_of(job, news.process);
  if (record == nullptr || record->pid <= 0) return;
  job.watches[news.process].stalled_since_ms = sys::wall_ms() - news.value;
  sys::log::warning(record->name + " makes no progress: " + news.text);
  if (!job.plan.observe.stall_ends) return;
  record->stall = news.text;
  const auto index = static_cast<std::uint32_t>(record - job.records.data());
  events.emplace_back(event::TaskStalled{{index, record->incarnation}});
}

void take_health(Job& job, const PatrolNews& news, std::vector<lifecycle::Event>& events) {
  HealthWatch& health = job.health;
  const bool recovers = news.count == 0 && health.failures > 0;
  health.checked_ms = sys::wall_ms();
  health.failures = static_cast<int>(std::min<std::uint64_t>(news.count, 1'000'000));
  health.message = news.text;
  if (recovers) sys::log::info("the node is healthy again");
  if (news.count == 0) return;
  const int most = job.plan.observe.health_failures;
  sys::log::warning("health: " + news.text + " (" + std::to_string(news.count) +
                    (news.count == 1 ? " round" : " rounds") + " in succession, at " +
                    std::to_string(most) + " the job is saved)");
  if (health.failures >= most) ask_to_save(job, "the node is not healthy: " + news.text, events);
}

void take(Job& job, const PatrolNews& news, std::vector<lifecycle::Event>& events) {
  using Kind = PatrolNews::Kind;
  if (news.kind == Kind::kHealth) return take_health(job, news, events);
  if (news.process >= job.watches.size()) return;
  RankWatch& watch = job.watches[news.process];
  switch (news.kind) {
    case Kind::kSample:
      watch.perf_lines = news.count;
      watch.perf_ratio_ppm = news.value;
      watch.perf_over = news.value > job.plan.observe.perf_threshold_ppm;
      return;
    case Kind::kAbove:
      sys::log::warning(news.text);
      if (job.plan.observe.perf_reschedules) ask_to_save(job, news.text, events);
      return;
    case Kind::kStalled:
      return take_stall(job, news, events);
    case Kind::kMoves:
      watch.stalled_since_ms = 0;
      return sys::log::info(news.text);
    case Kind::kHealth:
      return;
  }
}

void note(Timeline& timeline, const Job& job, const PatrolNews& news) {
  using Kind = PatrolNews::Kind;
  if (news.kind == Kind::kHealth) {
    return timeline.note("health", news.count == 0 ? "ok" : news.text);
  }
  if (news.kind == Kind::kSample || news.process >= job.plan.processes.size()) return;
  const char* name = news.kind == Kind::kAbove ? "performance" : "stall";
  timeline.note(name, news.text, job.plan.processes[news.process].rank);
}

}  // namespace

void prepare_watches(Job& job) {
  job.watches.clear();
  job.health = {};
  job.save_reason.clear();
  job.perf.reset();
  const envgen::Observation& observe = job.plan.observe;
  if (!envgen::has_watches(observe)) return;
  job.watches.resize(job.plan.processes.size());
  if (observe.perf_threshold_ppm == 0 || job.plan.processes.empty()) return;
  auto board = PerfBoard::make(job.plan.processes.size());
  if (!board) return sys::log::warning(to_line(board.error()) + ", so there is none");
  job.perf = std::move(*board);
}

namespace {

// Doctor's, of the node that the job runs on. Called in a worker, with its copy of the job.
std::function<std::string()> health_checks(const Job& job, const StartContext& context) {
  if (job.plan.observe.health_checks.empty()) return {};
  return [&job, env = common_env(job, context, false), run_dir = context.base.facts.run_dir] {
    const std::string& list = job.plan.observe.health_checks;
    const auto names = doctor::parse_check_names(list == envgen::kAllChecks ? "" : list);
    if (!names) return to_line(names.error());
    doctor::Context where = doctor::context_of(job.plan, env);
    where.occasion = doctor::Occasion::kPatrol;
    where.run_dir = run_dir;
    std::string text;
    for (const envgen::CheckResult& one : doctor::run_checks(*names, where)) {
      if (one.verdict == envgen::Verdict::kFailed)
        text += (text.empty() ? "" : "; ") + to_line(one);
    }
    return text;
  };
}

}  // namespace

Tees::MakeScan perf_scan(const Job& job) {
  if (!job.perf) return {};
  return [board = job.perf, observe = job.plan.observe](int /*messages*/) -> logtee::Scan {
    auto reader = std::make_shared<PerfReader>(board, observe);
    return [reader](std::size_t process, std::string_view bytes) { reader->add(process, bytes); };
  };
}

PatrolOrder patrol_order(const Job& job, const logtee::Shared* seen, const StartContext& context,
                         const proc::SavedSignals& saved) {
  PatrolOrder order;
  order.seen = seen;
  order.observe = job.plan.observe;
  order.board = job.perf;
  for (const TaskRecord& record : job.records) {
    if (record.kind != lifecycle::TaskKind::kMain || record.pid <= 0) continue;
    const envgen::Process& process = *planned(job, record);
    order.watched.push_back({.process = static_cast<std::uint32_t>(record.process),
                             .pid = record.pid,
                             .name = record.name,
                             .rank = process.rank,
                             .tee = process.tee && seen != nullptr,
                             .log = process.log});
  }
  order.checks = health_checks(job, context);
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

void Patrol::keep(bool wanted, const std::function<PatrolOrder()>& order) {
  if (!wanted) {
    if (messages_ && !ended_) ::kill(pid_, SIGKILL);
    messages_.reset();
    started_ = false;
  }
  if (!wanted || std::exchange(started_, true)) return;
  ended_ = false;
  const PatrolOrder orders = order();
  auto messenger = fork_messenger("starting the patrol", orders.saved,
                                  [&orders](int fd) { return patrol(orders, fd); });
  if (!messenger) {
    return sys::log::warning(to_line(messenger.error()) + ", so the job is not watched");
  }
  pid_ = messenger->pid;
  messages_.emplace(std::move(messenger->pipe), kPatrolKinds, kMostMessageBytes);
}

std::vector<lifecycle::Event> Patrol::read(Job& job, Timeline& timeline) {
  std::vector<lifecycle::Event> events;
  if (!messages_) return events;
  const bool sound = messages_->read([&](std::uint32_t kind, std::string_view bytes) {
    const auto news = decode_news(kind, bytes);
    if (news) {
      take(job, *news, events);
      note(timeline, job, *news);
    }
    return news.has_value();
  });
  if (!sound || messages_->at_end()) {
    sys::log::warning("the job is no longer watched: the patrol has failed");
  }
  return events;
}

}  // namespace engine
