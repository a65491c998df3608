#include "init/engine/report/diagnosis.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "init/engine/report/describe.h"
#include "init/engine/state/failure.h"
#include "init/sys/cgroup.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::int64_t kLongestWaitMs = 2000;

bool is_cause(const lifecycle::Machine& machine, std::uint32_t index) {
  const lifecycle::Cause* cause = machine.cause();
  return cause != nullptr &&
         std::ranges::any_of(cause->ends, [index](const lifecycle::event::TaskEnd& end) {
           return end.task.index == index;
         });
}

}  // namespace

void Diagnosis::begin(Job& job, const lifecycle::Machine& machine, const proc::SavedSignals& saved,
                      const logtee::Shared* seen, const char* termination_log) {
  const auto oom_kills = sys::oom_kills();
  job.first_failure = describe_failure(job, machine, oom_kills);
  job.failure = detail_of(job, machine, oom_kills);
  termination_log_ = termination_log;
  others_.clear();
  for (std::uint32_t i = 0; i < job.records.size(); ++i) {
    const lifecycle::Task& task = machine.tasks()[i];
    // One that has stalled lives, and is itself the failure.
    const bool alive = task.live() && job.records[i].pid > 0 && !is_cause(machine, i);
    if (task.kind == lifecycle::TaskKind::kMain && alive) others_.push_back({i, task.incarnation});
  }
  unsaid_ = true;
  tearing_down_ = true;
  // Before anything that may take its time: the container may be killed any moment.
  write(job, machine);
  read_last_words(job, machine, saved, seen);
  advance(job, machine);
}

void Diagnosis::read_last_words(Job& job, const lifecycle::Machine& machine,
                                const proc::SavedSignals& saved, const logtee::Shared* seen) {
  const lifecycle::Cause* cause = machine.cause();
  if (cause == nullptr || cause->ends.empty()) return;
  const TaskRecord& record = job.records[cause->ends[0].task.index];
  const envgen::Process* process = planned(job, record);
  if (process == nullptr || record.failure) return;  // it printed nothing
  const bool teed = record.kind == lifecycle::TaskKind::kMain && process->tee && seen != nullptr;
  if (!teed && process->log.empty()) return;
  const auto& identity = job.plan.sandbox.identity;
  auto words = LastWords::start(
      [&] {
        return teed ? last_lines_of_tee(*seen, static_cast<std::size_t>(record.process))
                    : last_lines_in(process->log, identity ? &*identity : nullptr,
                                    record.started_ms);
      },
      saved);
  if (!words) return sys::log::debug(to_line(words.error()) + ", ignoring");
  words_ = std::move(*words);
  reader_ = words_->pid();
  job.helpers.push_back(reader_);
  until_ms_ = sys::monotonic_ms() + kLongestWaitMs;
}

bool Diagnosis::advance(Job& job, const lifecycle::Machine& machine) {
  bool news = false;
  if (words_) {
    if (auto lines = words_->read()) {
      job.failure.last_lines = std::move(*lines);
      words_.reset();
    } else if (sys::monotonic_ms() >= until_ms_) {
      give_up();
    }
  }
  if (unsaid_ && !words_) {
    say(job);
    news = true;
  }
  if (tearing_down_ && all_ended(machine)) {
    tearing_down_ = false;
    for (const lifecycle::TaskRef& task : others_) {
      job.failure.torn_down.push_back(torn_down_text(job.records[task.index]));
    }
    news = true;
  }
  if (news) write(job, machine);
  return news;
}

void Diagnosis::finish(Job& job, const lifecycle::Machine& machine) {
  while (words_ && !advance(job, machine)) {
    const std::int64_t left_ms = until_ms_ - sys::monotonic_ms();
    pollfd ready{words_->pipe().get(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, kLongestWaitMs)));
  }
  forget(job, machine);
}

void Diagnosis::forget(Job& job, const lifecycle::Machine& machine) {
  if (words_) give_up();
  advance(job, machine);
  if (std::exchange(tearing_down_, false) && !others_.empty()) {
    for (const lifecycle::TaskRef& task : others_) {
      job.failure.torn_down.push_back(torn_down_text(job.records[task.index]));
    }
    write(job, machine);
  }
}

void Diagnosis::reaped(Job& job, pid_t pid) {
  std::erase(job.helpers, pid);
  if (pid == reader_) reader_ = 0;
}

void Diagnosis::say(Job& job) {
  unsaid_ = false;
  sys::log::error("first failure: " + failure_line(job.first_failure, job.failure),
                  job.failure.rank);
}

// It hangs on the mount that the file is on.
void Diagnosis::give_up() {
  words_.reset();
  if (reader_ > 0) ::kill(reader_, SIGKILL);
}

bool Diagnosis::all_ended(const lifecycle::Machine& machine) const {
  return std::ranges::none_of(others_, [&](const lifecycle::TaskRef& ref) {
    const lifecycle::Task& task = machine.tasks()[ref.index];
    return task.incarnation == ref.incarnation && task.live() && !task.abandoned;
  });
}

void Diagnosis::write(const Job& job, const lifecycle::Machine& machine) const {
  if (termination_log_ == nullptr || job.first_failure.empty()) return;
  // The job has ended as something else by now, which has been said there.
  if (machine.expired() || machine.rescheduled()) return;
  write_termination_log(termination_log_,
                        termination_text(job.first_failure, job.failure, kTerminationLogBytes));
}

}  // namespace engine
