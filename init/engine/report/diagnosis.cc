#include "init/engine/report/diagnosis.h"

#include <poll.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "envgen/failure/find_cause.h"
#include "init/engine/report/flight_recorder.h"
#include "init/engine/report/job_messages.h"
#include "init/engine/report/printed_cause.h"
#include "init/engine/report/rank_search.h"
#include "init/engine/state/failure.h"
#include "init/sys/cgroup.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::int64_t kLongestWaitMs = 2000;
// Ranks whose output is read, besides that of the failed one.
constexpr std::size_t kMaxOthers = 64;
// Time for the tee to read the rest of the failed processes' output.
constexpr std::int64_t kLastBytesMs = 600;
constexpr std::int64_t kDumpsMs = 1000;  // time to read the flight recorder's dumps

bool is_cause(const lifecycle::Machine& machine, std::uint32_t index) {
  const lifecycle::Cause* cause = machine.cause();
  return cause != nullptr &&
         std::ranges::any_of(cause->ends, [index](const lifecycle::event::TaskEnd& end) {
           return end.task.index == index;
         });
}

// Adds the rank that failed below a launcher. The message names the launcher's task, but readers
// look for the rank.
void name_rank(FoundRank found, std::string& message, FailureDetail& detail) {
  if (found.text.empty()) return;
  message = found.text + "; " + message;
  detail.launcher = std::move(found.launcher);
  detail.rank = found.rank;
  if (found.log.empty()) return;
  detail.log = std::move(found.log);
  detail.last_lines = std::move(found.last_lines);
}

lifecycle::FailureSign sign_of(const FailureDetail& detail) {
  using Prospect = lifecycle::FailureSign::Prospect;
  lifecycle::FailureSign sign{.key = "", .after_ms = detail.after_ms};
  if (!detail.cause) return sign;
  const FailureCause& cause = *detail.cause;
  if (cause.restart == "yes") sign.prospect = Prospect::kHelps;
  // A process that died of a signal may have died for another reason than the one that it printed.
  if (cause.restart == "no" && detail.signal.empty()) sign.prospect = Prospect::kUseless;
  // Only the line of a root identifies the failure. A victim or a launcher prints the same line for
  // every cause.
  if (cause.certain && cause.role == "root") {
    sign.key = cause.failure_class + " " + envgen::cause_key(cause.line);
  }
  return sign;
}

}  // namespace

void Diagnosis::begin(Job& job, const lifecycle::Machine& machine, const proc::SavedSignals& saved,
                      const logtee::Shared* seen, const char* termination_log) {
  say_late();
  // An earlier report was about a failure here that was a consequence.
  if (tail_.awaited()) tail_.give_up();
  tail_.take();
  no_restart_.clear();
  began_ms_ = sys::monotonic_ms();
  const auto oom_kills = sys::oom_kills();
  job.start.first_failure = describe_failure(job, machine, oom_kills);
  job.start.failure = detail_of(job, machine, oom_kills);
  if (!job.never_connected.empty()) job.start.failure.never_connected = job.never_connected;
  bare_ = is_bare(job, machine, oom_kills);
  unread_ = false;
  termination_log_ = termination_log;
  others_.clear();
  for (std::uint32_t i = 0; i < job.records.size(); ++i) {
    const lifecycle::Task& task = machine.tasks()[i];
    // A stalled rank is alive, but it is the failure itself.
    const bool alive = task.live() && job.records[i].pid > 0 && !is_cause(machine, i);
    if (task.kind == lifecycle::TaskKind::kMain && alive) others_.push_back({i, task.incarnation});
  }
  job.start.failure_complete = false;
  unsaid_ =
      // "": a failure of another node, whose message has not come yet
      !job.start.first_failure.empty();
  tearing_down_ = true;
  // Write the message before any slow step, because the container may be killed at any moment.
  write(job, machine);
  read_output_tail(job, machine, saved, seen);
  advance(job, machine);
}

namespace {

// Returns a function that reads the end of a process's output; nullptr if it was not kept. If the
// process goes through the tee, the function waits until `until_ms` for the end of its output.
std::function<LastBytes()> reader_of(const Job& job, const TaskRecord& record,
                                     const logtee::Shared* seen, std::int64_t until_ms) {
  const envgen::Process* process = planned(job, record);
  if (process == nullptr || record.failure) return nullptr;  // no process was started
  const auto index = static_cast<std::size_t>(record.process);
  if (record.kind == lifecycle::TaskKind::kMain && seen != nullptr && seen->has(index)) {
    return [=] { return last_bytes_of_tee(*seen, index, until_ms); };
  }
  if (process->log.empty()) return nullptr;
  const auto& identity = job.plan.sandbox.identity;
  const envgen::Identity* job_user = identity ? &*identity : nullptr;
  return [process, job_user, &record] {
    return last_bytes_in(process->log, job_user, record.started_ms);
  };
}

// Returns whether the task is a launcher in the user's command, whose ranks trainit does not start.
bool is_launcher(const Job& job, const TaskRecord& record) {
  const envgen::Process* process = planned(job, record);
  return process != nullptr && is_main(record) && !record.failure && process->rank < 0;
}

// Searches for the launcher's rank that failed first. Takes the cause from that rank's log, unless
// the cause is known from the kernel, or for certain from the launcher's own output.
void look_for_rank(const Job& job, const TaskRecord& launcher, std::string_view printed,
                   const envgen::FailureCatalog& catalog, PrintedEnd& end) {
  const auto& identity = job.plan.sandbox.identity;
  const envgen::Identity* job_user = identity ? &*identity : nullptr;
  end.rank = find_rank(printed, *planned(job, launcher), job_user, launcher.started_ms, catalog);
  if (end.rank.log.empty()) return;
  if (end.cause && (end.cause->certain || is_by_kernel(*end.cause))) return;
  const LastBytes log = last_bytes_in(end.rank.log, job_user, launcher.started_ms);
  if (auto cause = cause_in(log.bytes, catalog)) end.cause = std::move(cause);
}

}  // namespace

namespace {

struct FailedMain {
  std::function<LastBytes()> read;
  std::string signal;  // signal that ended it; "": it exited
};

// Returns the index of the process that most likely failed first. `last`: the output of failed[0],
// which was read already.
std::uint32_t first_of(const std::vector<FailedMain>& failed, std::string_view last,
                       const envgen::FailureCatalog& catalog) {
  std::vector<lifecycle::NodeFailure::Role> roles;
  roles.reserve(failed.size());
  for (const FailedMain& one : failed) {
    std::string printed(roles.empty() ? last : "");
    if (!roles.empty() && one.read) printed = one.read().bytes;
    const envgen::HowEnded how{.killed = one.signal == "SIGKILL"};
    roles.push_back(role_of(one.read ? cause_in(printed, catalog, how) : std::nullopt, one.signal));
  }
  return static_cast<std::uint32_t>(likely_first(roles));
}

}  // namespace

void Diagnosis::read_output_tail(Job& job, const lifecycle::Machine& machine,
                                 const proc::SavedSignals& saved, const logtee::Shared* seen) {
  const lifecycle::Cause* cause = machine.cause();
  if (cause == nullptr || cause->ends.empty()) return;
  const std::uint32_t failed = cause->ends[0].task.index;
  // Do not wait longer: children of a rank may hold its output open for ever.
  const std::int64_t until_ms = sys::monotonic_ms() + kLastBytesMs;
  const PrintedBy first{job.records[failed].name,
                        reader_of(job, job.records[failed], seen, until_ms)};
  unread_ = bare_ && !first.read;
  std::vector<PrintedBy> others;
  for (std::uint32_t i = 0; i < job.records.size() && others.size() < kMaxOthers; ++i) {
    if (i == failed || !is_main(job.records[i]) || !is_main(job.records[failed])) continue;
    if (auto read = reader_of(job, job.records[i], seen, 0)) {
      others.push_back({job.records[i].name, std::move(read)});
    }
  }
  // The processes of the cause, which failed at about the same time.
  std::vector<FailedMain> together;
  for (const lifecycle::event::TaskEnd& end : cause->ends) {
    const TaskRecord& record = job.records[end.task.index];
    if (cause->ends.size() < 2 || !is_main(record) || together.size() == kMaxOthers) break;
    const bool killed = end.exit_status.how == lifecycle::ExitStatus::How::kSignaled;
    // A stalled rank is no victim of another rank, whatever it has printed, so its output is not
    // read.
    const bool stalled = end.exit_status.how == lifecycle::ExitStatus::How::kStalled;
    together.push_back({stalled ? nullptr : reader_of(job, record, seen, until_ms),
                        killed ? std::string(proc::signal_name(end.exit_status.value)) : ""});
  }
  const bool launcher = is_launcher(job, job.records[failed]);
  FailedHow how{.by_sigbus = job.start.failure.signal == "SIGBUS", .by_oom = job.start.failure.oom};
  if (!launcher) {
    how.own = {.exit_code = job.start.failure.exit_code,
               .killed = job.start.failure.signal == "SIGKILL"};
  }
  const bool has_files =
      launcher && planned(job, job.records[failed])->rank_logs != envgen::RankLogs::kNone;
  const bool kernel_tells = how.by_sigbus || how.by_oom;
  if (!first.read && others.empty() && !has_files && !kernel_tells) return;
  auto look = [&](const OutputTail::Tell& tell) {
    std::vector<std::string> warnings;
    const envgen::FailureCatalog catalog = failure_catalog(kFailuresDirectory, &warnings);
    // Read the output only once, because that can wait for its end.
    const LastBytes last = first.read ? first.read() : LastBytes{};
    PrintedBy known{first.task, {}};
    if (first.read) known.read = [&last]() -> const LastBytes& { return last; };
    PrintedEnd told;
    const std::uint32_t likely = first_of(together, last.bytes, catalog);
    look_for_cause(known, others, how, catalog, [&](const PrintedEnd& end) {
      told = end;
      told.warnings = warnings;
      told.first = likely;
      tell(told);
    });
    if (launcher) {
      look_for_rank(job, job.records[failed], last.bytes, catalog, told);
      tell(told);
    }
    if (!told.cause) return;
    const std::int64_t dumps_until_ms = sys::monotonic_ms() + kDumpsMs;
    const std::string dumps = read_dumps(dump_order(job), dumps_until_ms, on_node(job.plan)).text;
    if (dumps.empty()) return;
    told.cause->advice += (told.cause->advice.empty() ? "" : "; ") + dumps;
    tell(told);
  };
  auto status = tail_.start(look, saved, kLongestWaitMs);
  if (!status) return sys::log::debug(to_line(status.error()) + ", ignoring");
  job.helpers.push_back(tail_.pid());
}

void Diagnosis::take_output(PrintedEnd end, std::string& message, FailureDetail& detail,
                            bool here) {
  for (const std::string& warning : end.warnings) sys::log::warning(warning);
  if (!end.last_lines.empty()) detail.last_lines = std::move(end.last_lines);
  if (end.cause) detail.cause = std::move(end.cause);
  if (here) name_rank(std::move(end.rank), message, detail);
  timeline_.failure_output(detail);
}

// Returns whether another rank may still turn out to have failed first: it was exiting when it was
// asked to stop, and its end is seen soon.
bool Diagnosis::may_change(const Job& job, const lifecycle::Machine& machine) const {
  constexpr std::int64_t kExitMs = 1000;
  const bool open = machine.phase() == lifecycle::Phase::kStopping && !machine.failed_elsewhere();
  return open && sys::monotonic_ms() < began_ms_ + kExitMs &&
         std::ranges::any_of(
             job.records,
             [](const TaskRecord& record) {
               return is_main(record) && record.pid > 0 && record.unasked;
             });
}

bool Diagnosis::advance(Job& job, const lifecycle::Machine& machine) {
  bool message = false;
  if (!tail_.awaited()) say_late();
  if (!job.start.failure_complete && !tail_.awaited()) {
    PrintedEnd end = tail_.take();
    if (end.first > 0 && machine.seeks_first()) {
      // The machine then requests a new report, with that process as the first failure.
      verdict_ = {.restarts = machine.restarts(),
                  .first = machine.cause()->ends.at(end.first).task};
      return false;
    }
    take_output(std::move(end), job.start.first_failure, job.start.failure,
                !machine.failed_elsewhere());
    job.start.failure_complete = true;
    weigh(job, machine);
    message = true;
  }
  if (unsaid_ && job.start.failure_complete && !machine.awaits_verdict() &&
      !may_change(job, machine)) {
    say(take_line(job));
    message = true;
  }
  if (tearing_down_ && all_ended(machine)) {
    tearing_down_ = false;
    for (const lifecycle::TaskRef& task : others_) {
      job.start.failure.torn_down.push_back(torn_down_text(job.records[task.index]));
    }
    message = true;
  }
  if (message) write(job, machine);
  return message;
}

void Diagnosis::finish(Job& job, const lifecycle::Machine& machine) {
  while (tail_.awaited()) {
    const std::int64_t longest_ms = sys::monotonic_ms() + kLongestWaitMs;
    std::ignore =
        sys::await_ready(tail_.channel(), POLLIN, std::min(*tail_.deadline_ms(), longest_ms));
    tail_.read();
    tail_.tend(sys::monotonic_ms());
  }
  forget(job, machine);
}

void Diagnosis::forget(Job& job, const lifecycle::Machine& machine) {
  if (tail_.awaited() && unsaid_ && !late_) {
    late_ = take_line(job);
    late_->here = !machine.failed_elsewhere();
    job.start.failure_complete = true;
  } else if (tail_.awaited() && !late_) {
    tail_.give_up();
  }
  advance(job, machine);
  verdict_.reset();
  before_ = sign_of(job.start.failure);
  if (std::exchange(tearing_down_, false) && !others_.empty()) {
    for (const lifecycle::TaskRef& task : others_) {
      job.start.failure.torn_down.push_back(torn_down_text(job.records[task.index]));
    }
    write(job, machine);
  }
}

void Diagnosis::say_behind(std::string line) {
  if (!unsaid_) return sys::log::info(line);
  behind_.push_back(std::move(line));
}

// Sets verdict_: whether a restart can help, if one would follow.
void Diagnosis::weigh(const Job& job, const lifecycle::Machine& machine) {
  using base::RestartVerdict;
  using lifecycle::RestartProspect;
  const RestartVerdict policy = job.plan.policy.restart_verdict;
  verdict_ = {.restarts = machine.restarts()};
  if (policy == RestartVerdict::kOff || job.start.first_failure.empty()) return;
  const RestartProspect prospect = lifecycle::judge(sign_of(job.start.failure), before_);
  const bool hopeless = machine.uses_diagnosis() && prospect != RestartProspect::kOpen;
  verdict_ = {.restarts = machine.restarts(),
              .hopeless = hopeless && policy == RestartVerdict::kEnforce};
  if (!hopeless) return;
  no_restart_ = policy == RestartVerdict::kEnforce ? "no restart: " : "a restart will not help: ";
  no_restart_ += prospect == RestartProspect::kRepeated
                     ? "the start before failed with the same cause, as soon after it began"
                     : "such a failure does not go away by itself";
  if (policy == RestartVerdict::kEnforce) no_restart_ += " (--restart-verdict)";
}

Diagnosis::Line Diagnosis::take_line(const Job& job) {
  unsaid_ = false;
  return {.message = job.start.first_failure,
          .detail = job.start.failure,
          .is_failure = !job.start.remote || job.start.remote->is_failure,
          .no_restart = std::exchange(no_restart_, ""),
          .unread = unread_ && !std::exchange(advised_, true),
          .behind = std::exchange(behind_, {})};
}

void Diagnosis::say(const Line& line) {
  constexpr const char* kAdvice =
      "; its output was not kept, so no cause is known: set TRAINIT_OUTPUT=tee, or put "
      "--output tee before --";
  if (line.is_failure) {
    sys::log::error(failure_line(line.message, line.detail) + (line.unread ? kAdvice : ""),
                    line.detail.rank);
    if (!line.no_restart.empty()) sys::log::warning(line.no_restart);
  } else {
    sys::log::info(line.message);
  }
  for (const std::string& behind : line.behind) sys::log::info(behind);
}

void Diagnosis::say_late() {
  if (!late_) return;
  if (tail_.awaited()) tail_.give_up();
  take_output(tail_.take(), late_->message, late_->detail, late_->here);
  say(*std::exchange(late_, std::nullopt));
}

bool Diagnosis::all_ended(const lifecycle::Machine& machine) const {
  return std::ranges::none_of(others_, [&](const lifecycle::TaskRef& ref) {
    const lifecycle::Task& task = machine.tasks()[ref.index];
    return task.incarnation == ref.incarnation && task.live() && !task.abandoned;
  });
}

void Diagnosis::write(const Job& job, const lifecycle::Machine& machine) const {
  if (termination_log_ == nullptr || job.start.first_failure.empty()) return;
  // The job has ended for another reason meanwhile, and the termination log has that reason.
  if (machine.expired() || machine.rescheduled()) return;
  // If there is nothing to say, leave the termination log empty: Kubernetes then takes the end of
  // the container's log (FallbackToLogsOnError).
  if (bare_ && job.start.failure.last_lines.empty() && !job.start.failure.cause) return;
  write_termination_log(
      termination_log_,
      termination_text(job.start.first_failure, job.start.failure, kTerminationLogBytes));
}

}  // namespace engine
