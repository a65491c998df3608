#include "init/engine/monitor/hang_task.h"

#include <algorithm>
#include <array>
#include <utility>

#include "envgen/failure/stack_groups.h"
#include "init/engine/report/timeline.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

// Time limit for taking stacks; ends before lifecycle::kLookMs is over on node 0.
constexpr std::int64_t kMaxLookMs = 5000;
// Wait for the monitor's own stacks of this node, whose ranks most likely stall too.
constexpr std::int64_t kMonitorMs = 1500;

TaskRecord* live_record(Job& job, std::uint32_t process) {
  const auto found = std::ranges::find_if(job.records, [process](const TaskRecord& record) {
    return is_main(record) && record.process == static_cast<int>(process) && record.pid > 0;
  });
  return found == job.records.end() ? nullptr : &*found;
}

}  // namespace

// --- The monitor's findings ---

void HangTask::looked(const MonitorMessage& message) {
  suspect_ = message.count == 1 ? static_cast<int>(message.process) : -1;
  notes_ = message.notes;
  const bool again = std::exchange(text_, message.text) == message.text;
  logged_ = logged_ && again;
  looked(message.places);
  // Log the places now if the stalled rank was logged already. Otherwise stalled() logs them after
  // its line.
  const bool known = std::ranges::any_of(
      context_.job.watches, [](const RankWatch& watch) { return watch.stalled_since_ms > 0; });
  if (!again && known && !context_.job.hang_agent.is_linked()) log_places();
}

// Passes the places on to the hang agent, with the stalled ranks marked.
void HangTask::looked(const std::string& places) {
  auto of = envgen::decode_places(places);
  if (!of) return context_.job.hang_agent.looked(places);
  for (envgen::PlacedRank& rank : of->ranks) {
    rank.stalled = std::ranges::find(stalled_, rank.process, &Stalled::process) != stalled_.end();
  }
  context_.job.hang_agent.looked(envgen::encode_places(of->ranks, of->whole));
  places_ = places;
}

void HangTask::stalled(const MonitorMessage& message) {
  Job& job = context_.job;
  const TaskRecord* record = live_record(job, message.process);
  if (record == nullptr) return;
  job.watches[message.process].stalled_since_ms = sys::wall_ms() - message.value;
  sys::log::warning(record->name + " makes no progress: " + message.text);
  Stalled stalled{.process = message.process, .silent_ms = message.value, .text = message.text};
  if (!job.hang_agent.is_linked()) {
    if (!text_.empty() && !logged_) log_places();
    return fail(stalled);
  }
  stalled_.push_back(std::move(stalled));
  if (!places_.empty()) looked(std::exchange(places_, {}));
  job.hang_agent.stalled(message.value, sys::monotonic_ms());
}

void HangTask::moves(std::uint32_t process) {
  std::erase_if(stalled_, [process](const Stalled& one) { return one.process == process; });
  if (stalled_.empty()) forget();
}

void HangTask::forget() {
  suspect_ = -1;
  text_.clear();
  notes_.clear();
  places_.clear();
  stalled_.clear();
  context_.job.hang_agent.forget();
}

void HangTask::log_places() {
  logged_ = true;
  sys::log::warning("where the ranks are: " + text_);
  context_.timeline.note("hang", text_);
}

// --- Node 0's questions and verdicts ---

std::optional<std::int64_t> HangTask::deadline_ms() const {
  const lifecycle::HangAgent& side = context_.job.hang_agent;
  std::optional<std::int64_t> next = StackJob::deadline_ms();
  const auto sooner = [&next](std::optional<std::int64_t> at_ms) {
    if (at_ms) next = std::min(next.value_or(*at_ms), *at_ms);
  };
  sooner(side.next_at());
  if (side.owes_places() && pid() == 0) sooner(look_at_ms_.value_or(0));
  return next;
}

void HangTask::tend(std::int64_t now_ms) {
  using Next = lifecycle::HangAgent::Next;
  StackJob::tend(now_ms);
  lifecycle::HangAgent& side = context_.job.hang_agent;
  if (looking_ && pid() == 0) {
    looking_ = false;
    const auto message = take();
    if (message) notes_ = message->notes;
    looked(message ? message->places : places_without_ranks());
  }
  if (!side.owes_places()) {
    look_at_ms_.reset();
  } else if (!look_at_ms_) {
    look_at_ms_ = now_ms + (main_pids(context_.job).empty() ? 0 : kMonitorMs);
  }
  if (look_at_ms_ && now_ms >= *look_at_ms_ && pid() == 0) look();
  switch (side.next(now_ms)) {
    case Next::kNothing:
      return;
    case Next::kLog:
      return take_verdict();
    case Next::kFail:
      if (!text_.empty() && !logged_) log_places();
      for (const Stalled& stalled : std::exchange(stalled_, {})) {
        if (live_record(context_.job, stalled.process) != nullptr) return fail(stalled);
      }
  }
}

void HangTask::look() {
  Job& job = context_.job;
  look_at_ms_.reset();
  if (main_pids(job).empty()) return looked(places_without_ranks());
  const std::string& run_dir = context_.start_context().base.facts.run_dir;
  StackOrder order = stack_order(job, run_dir);
  order.most_ms = kMaxLookMs;
  auto status =
      start(order, run_dir.empty() ? "" : stacks_directory(run_dir) + "/look", context_.saved);
  if (!status) {
    sys::log::warning(to_line(status.error()) + ", ignoring");
    return looked(places_without_ranks());
  }
  job.helpers.push_back(pid());
  looking_ = true;
}

// Returns the places of a node whose ranks could not be looked at. If its start was granted, they
// say that the ranks have not started yet: ranks of other nodes may wait for them.
std::string HangTask::places_without_ranks() const {
  envgen::PlacedRank all{.name = "the ranks", .node = {}, .at = {}};
  all.at.does = "could not be looked at";
  const bool granted = context_.machine.start_granted();
  if (granted) {
    all.at = {.where = envgen::Whereabouts::kElsewhere,
              .does = "have not started: hooks or data preparation run",
              .peers = false,
              .seen = true};
  }
  return envgen::encode_places(std::array{all}, granted);
}

void HangTask::take_verdict() {
  Job& job = context_.job;
  const lifecycle::HangVerdict verdict = job.hang_agent.verdict();
  suspect_ = -1;
  text_ = verdict.text + (notes_.empty() ? "" : ". " + notes_);
  log_places();
  context_.note_change();
  if (!job.plan.link || !job.hang_agent.verdict_counts()) return;
  const auto own = static_cast<std::uint32_t>(job.plan.link->node_rank);
  for (const lifecycle::HangVerdict::Suspect& suspect : verdict.suspects) {
    TaskRecord* record = suspect.node == own ? live_record(job, suspect.process) : nullptr;
    if (record == nullptr) continue;
    const auto known = std::ranges::find(stalled_, suspect.process, &Stalled::process);
    const std::int64_t silent_ms = known == stalled_.end() ? 0 : known->silent_ms;
    return fail(*record, text_, silent_ms);
  }
}

// --- The failure ---

// Fails the rank that the others wait for, if this node knows it. Otherwise fails the stalled rank.
void HangTask::fail(const Stalled& stalled) {
  Job& job = context_.job;
  TaskRecord* stuck = live_record(job, stalled.process);
  if (stuck == nullptr) return;
  TaskRecord* cause =
      suspect_ < 0 ? nullptr : live_record(job, static_cast<std::uint32_t>(suspect_));
  if (cause != nullptr) return fail(*cause, text_, stalled.silent_ms);
  fail(*stuck, stalled.text + (text_.empty() ? "" : "; " + text_), stalled.silent_ms);
}

void HangTask::fail(TaskRecord& record, std::string text, std::int64_t silent_ms) {
  Job& job = context_.job;
  if (!job.plan.observe.stall_ends) return;
  stalled_.clear();
  record.stall = std::move(text);
  const auto index = static_cast<std::uint32_t>(&record - job.records.data());
  context_.post(lifecycle::event::TaskStalled{{index, record.incarnation}, silent_ms});
}

// Forgets the hang when the ranks end, because its verdict does not apply to the next ranks.
void HangTask::stepped() {
  using lifecycle::Phase;
  const Phase phase = context_.machine.phase();
  const bool runs = phase == Phase::kStarting || phase == Phase::kRunning;
  if (pid() != 0 && main_pids(context_.job).empty()) kill();
  if (!runs && std::exchange(ran_, false)) forget();
  ran_ = ran_ || runs;
}

}  // namespace engine
