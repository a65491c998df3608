// The end of a Supervisor: the last writes, the processes that it waits for, and the fallback if it
// fails.

#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "init/engine/fallback/fallback.h"
#include "init/engine/fallback/fallback_job.h"
#include "init/engine/monitor/resource_record.h"
#include "init/engine/monitor/saved_step.h"
#include "init/engine/monitor/step_record.h"
#include "init/engine/policies.h"
#include "init/engine/report/job_messages.h"
#include "init/engine/supervision.h"
#include "init/engine/tasks/signal_rules.h"
#include "init/sys/cgroup.h"
#include "init/sys/log.h"

namespace engine {
namespace {

// Time for the rest of the job's output after a stop request. The container runtime has a limit of
// its own for the whole stop (10 s with Docker).
constexpr std::int64_t kLogsWithinStopMs = 1500;

// The longest wait for the environment files (EnvFiles::finish).
constexpr std::int64_t kFilesMs = 1000;

// The longest wait for the end of spare processes, which were killed.
constexpr std::int64_t kSparesMs = 1000;

}  // namespace

// Waits until the rest of the output is written. After a stop request the wait is limited, because
// the container runtime has a deadline. The request may also come during the wait.
void Supervisor::finish_logs() {
  if (machine_.stopped() || stops_said_ != 0) return tees_.finish(kLogsWithinStopMs);
  tees_.finish(kLogsWithinStopMs, [this](pollfd& end) {
    std::array<pollfd, 2> both = {signals_.source(), end};
    signals_.wait(both, -1);
    end = both[1];
    proc::SignalSource::Room room;
    return std::ranges::any_of(signals_.read(room), [this](const proc::Received& received) {
      const bool stops = asks_to_stop(received.signal, true);
      return std::holds_alternative<Stop>(
          meaning_of(received.signal, job_.plan.policy.signals, stops));
    });
  });
}

void Supervisor::finish() {
  diagnosis_.finish(job_, machine_);
  report_saved(job_, machine_, tees_.seen(), timeline_, termination_log());
  auto counted = [this] {
    return std::pair(tees_.bytes_seen(),
                     tees_.totals() != nullptr ? tees_.totals()->lost_lines() : 0);
  };
  const auto before = counted();
  // Write the state with the exit code first. The reader of the logs may be slow, and readers of
  // the state need the code now.
  state_writer_.note_change();
  write_state();
  timeline_.flush();
  // If trainit is PID 1, its exit ends the spares, so it does not wait for them.
  warm_.finish(pid1_ ? 0 : kSparesMs);
  link_.farewell(exit_code_);
  env_files_.finish(kFilesMs);
  finish_logs();
  record_steps(job_, timeline_, true);
  end_resources(job_, timeline_);
  if (counted() != before) {
    state_writer_.note_change();
    write_state();
  }
  timeline_.finish(job_, machine_, setup_.request.observe.timeline, setup_.saved);
  state_writer_.close();
  // Not for a pass-through, which must exit as quickly as its command.
  if (!pass_through_ && job_.start.first_failure.empty()) {
    const std::string warning = oom_warning(job_, sys::oom_kills());
    if (!warning.empty()) sys::log::warning(warning);
  }
  const int given = given_code(job_.plan.policy.exit_codes, exit_code_);
  if (given != exit_code_) {
    sys::log::info("exit code " + std::to_string(exit_code_) + ", given as " +
                   std::to_string(given) + " (--exit-codes)");
  } else if (!pass_through_ && says_exit_code(job_, exit_code_)) {
    sys::log::info("exit code " + std::to_string(exit_code_));
  } else if (pass_through_ && machine_.stop_signal() != 0) {
    sys::log::info("stopped by " + std::string(proc::signal_name(machine_.stop_signal())) +
                   ", exit code " + std::to_string(exit_code_));
  }
  // If trainit is PID 1, its exit ends all processes.
  if (!pid1_ && post_stop_killed_) orphan_reaper_.kill_rest();
}

// --- When the supervisor itself fails ---

int Supervisor::fall_back() {
  sys::log::set_status("");
  timeline_.flush();
  warm_.end();
  stopper_.continue_stopped();
  const bool acts = std::ranges::any_of(job_.plan.policy.signals, [](const base::SignalRule& rule) {
    return rule.kind == base::SignalRule::Kind::kCheckpoint ||
           rule.kind == base::SignalRule::Kind::kFile;
  });
  if (acts) {
    sys::log::warning(
        "no checkpoint is asked for and no file made for a signal any more (--signal): TERM and "
        "INT stop the job");
  }
  const Evidence evidence{.job = job_,
                          .machine = machine_,
                          .waiting = events_,
                          .job_control = job_control_,
                          .signals = job_.plan.policy.signals,
                          .resolve_code = resolve_code_,
                          .exit_code = done_ ? std::optional(exit_code_) : std::nullopt};
  const auto settled = settled_code(evidence);
  const int code = settled ? *settled : reap_and_forward(signals_, fallback_job_of(evidence));
  tees_.finish(kLogsWithinStopMs);
  return given_code(job_.plan.policy.exit_codes, code);
}

}  // namespace engine
