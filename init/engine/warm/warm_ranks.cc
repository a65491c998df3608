#include "init/engine/warm/warm_ranks.h"

#include <algorithm>
#include <utility>

#include "init/engine/report/timeline.h"
#include "init/sys/cgroup.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"
#include "init/sys/memory.h"

namespace engine {
namespace {

// The interval of memory checks. They must poll, because no event reports that a spare has grown,
// or that free memory is below a share: memory.events reports only that the limit is hit, and PSI
// only that the job already waits for memory. A check is a few reads, and there are none without
// spares.
constexpr std::int64_t kLookMs = 2000;
constexpr std::int64_t kImportLookMs = 200;  // interval of memory checks while a spare imports

// The time limit for a spare to become the rank. First the spare checks whether the files that it
// imported have changed, which can take seconds on a network file system.
constexpr std::int64_t kBecomeMs = 10'000;

// A share of the container's memory that must be free, in words and as a divisor.
struct Room {
  const char* words;
  std::uint64_t part;
};
// The shares for starting and for keeping a spare. Those "InGroup" apply if an OOM kill ends the
// whole container (memory.oom.group), not only one process.
constexpr Room kToBegin{"a quarter", 4};
constexpr Room kToStay{"a tenth", 10};
constexpr Room kToBeginInGroup{"half", 2};
constexpr Room kToStayInGroup{"a quarter", 4};

bool is_there(const Room& wanted) {
  const auto room = sys::memory_room();
  return !room || room->free_bytes >= room->all_bytes / wanted.part;
}

}  // namespace

Spare& WarmRanks::spare_of(const TaskRecord& record) {
  Spare*& spare = spares_[record.process];
  if (spare == nullptr) {
    spare = &workers_.add<Spare>(context_, [this] { advance(); });
  }
  return *spare;
}

const envgen::WarmProcess* WarmRanks::planned_warm(std::size_t place) const {
  const envgen::WarmPlan& warm = context_.job.plan.warm;
  if (place >= warm.processes.size() || warm.directory.empty()) return nullptr;
  return warm.processes[place].operand < 0 ? nullptr : &warm.processes[place];
}

std::string WarmRanks::reason_against(Spare& spare, const TaskRecord& record,
                                      const proc::SpawnSpec& spec) {
  if (planned_warm(static_cast<std::size_t>(record.process)) == nullptr) {
    return "its command is none that can be warm";
  }
  if (!spare.name().empty() && spare.name() != record.name) {
    return "the ranks of this node are others";
  }
  return spare.cold_reason(spec, context_.job.plan.warm.free);
}

std::optional<base::Result<proc::Spawned>> WarmRanks::hand_over(TaskRecord& record,
                                                                const proc::SpawnSpec& spec) {
  if (context_.job.plan.warm.modules.empty()) return std::nullopt;
  Spare& spare = spare_of(record);
  std::optional<base::Result<proc::Spawned>> result;
  if (context_.machine.restarts() > 0) {
    std::string reason = reason_against(spare, record, spec);
    if (reason.empty()) {
      auto spawned = spare.hand_over(spec);
      if (spawned) {
        result = std::move(spawned);
      } else {
        reason = to_line(spawned.error());
      }
    }
    record.start = reason.empty() ? kWarmStart : "cold: " + reason;
    record.handed_over = reason.empty();
    if (reason.empty()) {
      const std::int64_t due_ms = sys::monotonic_ms() + kBecomeMs;
      deadline_ms_ = std::min(deadline_ms_.value_or(due_ms), due_ms);
      warm_.push_back(record.name);
    } else {
      spare.end();
      cold_[reason].push_back(record.name);
    }
  }
  spare.note_start(record.name, spec);
  return result;
}

bool WarmRanks::is_late(const TaskRecord& record) {
  return record.handed_over && sys::monotonic_ms() >= record.began_ms + kBecomeMs;
}

bool WarmRanks::has_run(const TaskRecord& record) const {
  const auto found = spares_.find(record.process);
  return found != spares_.end() && found->second->has_run();
}

void WarmRanks::note_lost(const TaskRecord& record, const std::string& why) {
  say_starts();
  sys::log::info("warm: what stood by for " + record.name + " is not the rank: " + why);
  spare_of(record).end("what stood by did not become the rank");
}

void WarmRanks::end() {
  for (const auto& [place, spare] : spares_) spare->end();
  deadline_ms_.reset();
}

void WarmRanks::finish(std::int64_t most_ms) {
  const std::int64_t until_ms = sys::monotonic_ms() + most_ms;
  end();
  for (const auto& [place, spare] : spares_) spare->await_end(until_ms);
}

// Returns true while a restart may follow, so that a spare is useful.
bool WarmRanks::may_stand_by() const {
  const lifecycle::Machine& machine = context_.machine;
  switch (machine.phase()) {
    case lifecycle::Phase::kPreparing:
    case lifecycle::Phase::kStarting:
    case lifecycle::Phase::kRunning:
    case lifecycle::Phase::kCheckpointing:
    case lifecycle::Phase::kAutoRestart:
      return !machine.rescheduled();
    case lifecycle::Phase::kStopping:
    case lifecycle::Phase::kOnFailure:
      return machine.would_restart() || machine.replanned() ||
             (machine.awaits_verdict() && machine.may_restart());
    case lifecycle::Phase::kPostStop:
    case lifecycle::Phase::kHold:
    case lifecycle::Phase::kExited:
      break;
  }
  return false;
}

void WarmRanks::stepped() {
  if (spares_.empty()) return;
  say_starts();
  if (!may_stand_by()) return end();
  advance();
}

void WarmRanks::advance() {
  const lifecycle::Machine& machine = context_.machine;
  const bool may_begin = machine.phase() == lifecycle::Phase::kRunning &&
                         (machine.may_restart() || context_.job.plan.policy.elastic);
  const bool busy = std::ranges::any_of(
      spares_, [](const auto& one) { return one.second->state() == Spare::State::kImporting; });
  if (may_begin && !busy) {
    for (const auto& [place, spare] : spares_) {
      const auto* process = planned_warm(static_cast<std::size_t>(place));
      const bool free =
          spare->state() == Spare::State::kNone && spare->pid() == 0 && !spare->is_handed();
      if (process == nullptr) spare->end();
      if (process == nullptr || !free) continue;
      start_spare(*spare, *process);
      if (spare->state() == Spare::State::kImporting) break;
    }
  }
  tell();
}

void WarmRanks::start_spare(Spare& spare, const envgen::WarmProcess& process) {
  const std::int64_t soon_ms = sys::monotonic_ms() + kImportLookMs;
  deadline_ms_ = std::min(deadline_ms_.value_or(soon_ms), soon_ms);
  const Room& room = sys::oom_kills_group() ? kToBeginInGroup : kToBegin;
  if (!is_there(room)) {
    return spare.end(std::string("less than ") + room.words + " of the container's memory is free");
  }
  if (auto status = spare.start_spare(context_.job.plan.warm, process); !status) {
    spare.give_up(to_line(status.error()));
  }
}

void WarmRanks::tend(std::int64_t now_ms) {
  if (!deadline_ms_ || now_ms < *deadline_ms_) return;
  const Room& room = sys::oom_kills_group() ? kToStayInGroup : kToStay;
  const bool is_short = !is_there(room);
  bool imports = false;
  bool any = false;
  for (const auto& [place, spare] : spares_) {
    any = any || spare->state() != Spare::State::kGivenUp;
    if (spare->pid() == 0 || spare->state() == Spare::State::kNone) continue;
    imports = imports || spare->state() == Spare::State::kImporting;
    if (is_short) {
      // A spare that used up the free memory during its import would do so again, so this counts as
      // a loss.
      const std::string reason =
          std::string("less than ") + room.words + " of the container's memory was free";
      if (spare->state() == Spare::State::kImporting) {
        spare->replace(reason);
      } else {
        spare->end(reason);
      }
    } else if (spare->has_grown()) {
      spare->replace("what stood by has grown");
    }
  }
  deadline_ms_ = now_ms + (imports ? kImportLookMs : kLookMs);
  if (!any || !may_stand_by()) deadline_ms_.reset();
  advance();
}

// Updates TaskRecord::warm of each rank. Logs once for each reason why spares are given up.
void WarmRanks::tell() {
  for (TaskRecord& record : context_.job.records) {
    const auto found = is_main(record) ? spares_.find(record.process) : spares_.end();
    if (found == spares_.end()) {
      if (!std::exchange(record.warm, "").empty()) context_.note_change();
      continue;
    }
    Spare& spare = *found->second;
    if (const auto reason = spare.take_went_cold()) note_cold(record, *reason);
    if (spare.text() == record.warm) continue;
    record.warm = spare.text();
    context_.note_change();
    if (spare.state() == Spare::State::kGivenUp && said_.insert(spare.reason()).second) {
      const std::string text = record.name + " restarts cold: " + spare.reason();
      sys::log::info("warm: " + text);
      context_.timeline.note("warm", text);
    }
    if (spare.state() == Spare::State::kReady) {
      sys::log::debug("warm: " + record.name + " is " + record.warm);
    }
  }
}

// Records that a rank started cold although its spare had become it: the process executed its
// command again.
void WarmRanks::note_cold(TaskRecord& record, const std::string& reason) {
  say_starts();
  record.start = "cold: " + reason;
  context_.note_change();
  const std::string text = record.name + " starts cold all the same: " + reason;
  sys::log::info("warm: " + text);
  context_.timeline.note("warm", text);
}

void WarmRanks::say_starts() {
  const auto warm = std::exchange(warm_, {});
  const auto cold = std::exchange(cold_, {});
  if (warm.empty() && cold.empty()) return;
  const auto say = [this](const std::string& line, const std::string& event) {
    sys::log::info("restart, " + line);
    context_.timeline.note("warm", event);
  };
  if (!warm.empty()) say("warm: " + names_list(warm), names_list(warm) + " stood by");
  for (const auto& [reason, names] : cold) {
    const std::string text = "cold: " + names_list(names) + ": " + reason;
    say(text, text);
  }
}

}  // namespace engine
