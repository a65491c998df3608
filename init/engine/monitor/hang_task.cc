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

constexpr std::int64_t kMostLookMs = 5000;  // before lifecycle::kLookMs is over on node 0

TaskRecord* live_record(Job& job, std::uint32_t process) {
  const auto found = std::ranges::find_if(job.records, [process](const TaskRecord& record) {
    return is_main(record) && record.process == static_cast<int>(process) && record.pid > 0;
  });
  return found == job.records.end() ? nullptr : &*found;
}

}  // namespace

// --- What the monitor has found ---

void HangTask::looked(const MonitorNews& news) {
  Job& job = context_.job;
  const bool again = text_ == news.text;
  suspect_ = news.count == 1 ? static_cast<int>(news.process) : -1;
  text_ = news.text;
  notes_ = news.notes;
  job.hang_side.looked(news.places);
  if (!again && !job.hang_side.is_linked()) sys::log::warning("where the ranks are: " + text_);
}

void HangTask::stalled(const MonitorNews& news) {
  Job& job = context_.job;
  const TaskRecord* record = live_record(job, news.process);
  if (record == nullptr) return;
  job.watches[news.process].stalled_since_ms = sys::wall_ms() - news.value;
  sys::log::warning(record->name + " makes no progress: " + news.text);
  Stalled stalled{.process = news.process, .silent_ms = news.value, .text = news.text};
  if (!job.hang_side.stalled(news.value, sys::monotonic_ms())) return fail(stalled);
  stalled_.push_back(std::move(stalled));
}

void HangTask::moves() {
  suspect_ = -1;
  text_.clear();
  stalled_.clear();
  context_.job.hang_side.let_go();
}

// --- What node 0 asks and says ---

std::optional<std::int64_t> HangTask::deadline_ms() const {
  const lifecycle::HangSide& of = context_.job.hang_side;
  const auto own = StackJob::deadline_ms();
  const auto side = of.owes_places() && pid() == 0 ? std::optional<std::int64_t>(0) : of.next_at();
  if (!own || !side) return own ? own : side;
  return std::min(*own, *side);
}

void HangTask::tend(std::int64_t now_ms) {
  using Next = lifecycle::HangSide::Next;
  StackJob::tend(now_ms);
  lifecycle::HangSide& side = context_.job.hang_side;
  if (looking_ && pid() == 0) {
    looking_ = false;
    const auto news = take();
    if (news) notes_ = news->notes;
    side.looked(news ? news->places : where_nobody_runs());
  }
  if (side.owes_places() && pid() == 0) look();
  switch (side.next(now_ms)) {
    case Next::kNothing:
      return;
    case Next::kTell:
      return tell();
    case Next::kFail:
      if (!stalled_.empty()) fail(stalled_.front());
      stalled_.clear();
  }
}

void HangTask::look() {
  Job& job = context_.job;
  if (main_pids(job).empty()) return job.hang_side.looked(where_nobody_runs());
  const std::string& run_dir = context_.start_context().base.facts.run_dir;
  StackOrder order = stack_order(job, run_dir);
  order.most_ms = kMostLookMs;
  auto status =
      start(order, run_dir.empty() ? "" : stacks_directory(run_dir) + "/stall", context_.saved);
  if (!status) {
    sys::log::warning(to_line(status.error()) + ", ignoring");
    return job.hang_side.looked(where_nobody_runs());
  }
  job.helpers.push_back(pid());  // nobody's to sweep
  looking_ = true;
}

// Stands for ranks that do not run; others may wait for their start.
std::string HangTask::where_nobody_runs() const {
  envgen::PlacedRank all{.name = "the ranks", .node = {}, .at = {}};
  all.at.does = "could not be looked at";
  if (context_.machine.start_granted()) {
    all.at = {.where = envgen::Whereabouts::kElsewhere,
              .does = "have not started: hooks or data preparation run",
              .peers = false};
  }
  return envgen::encode_places(std::array{all});
}

void HangTask::tell() {
  Job& job = context_.job;
  const lifecycle::HangVerdict verdict = job.hang_side.verdict();
  const std::string text = verdict.text + (notes_.empty() ? "" : ". " + notes_);
  suspect_ = -1;
  text_ = text;
  sys::log::warning("where the ranks are: " + text);
  context_.timeline.note("hang", text);
  context_.note_change();
  if (!job.plan.link) return;
  const auto own = static_cast<std::uint32_t>(job.plan.link->node_rank);
  for (const lifecycle::HangVerdict::Suspect& suspect : verdict.suspects) {
    TaskRecord* record = suspect.node == own ? live_record(job, suspect.process) : nullptr;
    if (record == nullptr) continue;
    const auto known = std::ranges::find(stalled_, suspect.process, &Stalled::process);
    const std::int64_t silent_ms = known == stalled_.end() ? 0 : known->silent_ms;
    stalled_.clear();
    return fail(*record, text, silent_ms);
  }
}

// --- The failure ---

// Fails the rank that the others wait for, as far as this node alone can tell.
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
  job.hang_side.let_go();
  if (!job.plan.observe.stall_ends) return;
  record.stall = std::move(text);
  const auto index = static_cast<std::uint32_t>(&record - job.records.data());
  context_.post(lifecycle::event::TaskStalled{{index, record.incarnation}, silent_ms});
}

// Forgets the hang as soon as the ranks are told to stop.
void HangTask::stepped() {
  using lifecycle::Phase;
  const Phase phase = context_.machine.phase();
  if (phase == Phase::kStarting || phase == Phase::kRunning || phase == Phase::kCheckpointing) {
    return;
  }
  if (pid() != 0 && main_pids(context_.job).empty()) kill();
  if (!stalled_.empty() || !text_.empty()) moves();
}

}  // namespace engine
