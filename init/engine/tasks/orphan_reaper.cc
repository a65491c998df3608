#include "init/engine/tasks/orphan_reaper.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "init/proc/tree.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr int kMaxTurnsWithoutSweep = 64;

}  // namespace

bool OrphanReaper::is_ours(pid_t pid) const {
  const std::vector<pid_t> tees = tees_.pids();
  const std::vector<pid_t> outliving = outliving_pids(job_);
  return std::ranges::find(job_.records, pid, &TaskRecord::pid) != job_.records.end() ||
         std::ranges::find(tees, pid) != tees.end() ||
         std::ranges::find(outliving, pid) != outliving.end() ||
         std::ranges::find(job_.helpers, pid) != job_.helpers.end();
}

void OrphanReaper::begin(int signal) {
  signal_ = signal;
  swept_.clear();
  due_ = signal != 0;
}

bool OrphanReaper::sweep_behind(const proc::Reaped& reaped, bool more) {
  for (const proc::Death& death : reaped.deaths) {
    swept_.erase(death.pid);
    refused_.erase(death.pid);
  }
  bool nothing = false;
  if (!reaped.childless && signal_ != 0 && (due_ || put_off_ > 0 || !reaped.deaths.empty())) {
    // First reap all dead children, which need no signal. But a fork bomb must not postpone the
    // sweep for ever.
    if (more && ++put_off_ < kMaxTurnsWithoutSweep) return false;
    put_off_ = 0;
    nothing = sweep();
  }
  due_ = false;
  return nothing;
}

bool OrphanReaper::sweep() {
  std::vector<pid_t> children = proc::children_of_self();
  if (children.empty() && ::getpid() == 1 && !proc::has_own_proc()) {
    // The orphans are not known without /proc. kill(-1) reaches all processes of the PID namespace,
    // so one call is enough.
    const bool had = signal_ == SIGTERM && stopper_.has_had_term(-1);
    if ((swept_.insert(-1).second && !had) || signal_ == SIGKILL) ::kill(-1, signal_);
    return false;
  }
  bool any = false;
  for (const pid_t pid : children) {
    if (is_ours(pid) || refused_.contains(pid)) continue;
    const bool message = swept_.insert(pid).second;
    if (message && !(signal_ == SIGTERM && stopper_.has_had_term(pid)) &&
        ::kill(pid, signal_) != 0 && errno == EPERM) {
      note_refused("a process that the job left behind", pid);
      continue;
    }
    any = true;
    // A stopped process handles SIGTERM only after SIGCONT.
    const auto member = message && signal_ == SIGTERM ? proc::find_member(pid) : std::nullopt;
    if (member && member->state == 'T') ::kill(pid, SIGCONT);
  }
  if (signal_ == SIGKILL && due_) kill_rest();
  return !any;
}

void OrphanReaper::note_refused(const std::string& name, pid_t pid) {
  refused_.insert(pid);
  if (std::exchange(said_refused_, true)) return;
  const proc::Refused refused = proc::refused_text(name, pid);
  sys::log::warning(refused.what + ", so it is not waited for; " + refused.fix);
}

bool OrphanReaper::only_refused() const {
  if (signal_ == 0 || refused_.empty()) return false;
  const std::vector<pid_t> tees = tees_.pids();
  const std::vector<pid_t> outliving = outliving_pids(job_);
  return std::ranges::all_of(proc::children_of_self(), [&](pid_t pid) {
    return refused_.contains(pid) || std::ranges::find(outliving, pid) != outliving.end() ||
           std::ranges::find(tees, pid) != tees.end();
  });
}

// Kills all descendants at once. Processes that fork in the background would otherwise outrun
// trainit, which gets a child of theirs only when its parent has died. All are stopped before the
// kill: each process that dies frees a place under RLIMIT_NPROC, which another one would use for a
// new child.
void OrphanReaper::kill_rest() const {
  // Time limit, because some processes fork a successor and exit faster than they can be found.
  constexpr std::int64_t kLongestMs = 100;
  const std::int64_t deadline_ms = sys::monotonic_ms() + kLongestMs;
  std::vector<pid_t> tasks = tees_.pids();
  const std::vector<pid_t> outliving = outliving_pids(job_);
  tasks.insert(tasks.end(), outliving.begin(), outliving.end());
  for (const TaskRecord& record : job_.records) {
    if (record.pid > 0) tasks.push_back(record.pid);
  }
  const auto look = [&tasks] {
    return proc::descendants(tasks).value_or(std::vector<proc::Member>());
  };
  std::set<std::pair<pid_t, std::uint64_t>> stopped;
  bool more = true;
  while (more && sys::monotonic_ms() < deadline_ms) {
    more = false;
    for (const proc::Member& member : look()) {
      if (!stopped.insert({member.pid, member.start}).second) continue;
      proc::signal_member(member, SIGSTOP);
      more = true;
    }
  }
  for (const proc::Member& member : look()) proc::signal_member(member, SIGKILL);
}

std::vector<pid_t> OrphanReaper::outlived(const lifecycle::Machine& machine) const {
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < job_.records.size(); ++i) {
    const bool killed = machine.tasks()[i].stop_signal == SIGKILL;
    if (killed && job_.records[i].pid > 0) pids.push_back(job_.records[i].pid);
  }
  if (signal_ != SIGKILL) return pids;
  for (const pid_t pid : proc::children_of_self()) {
    if (!is_ours(pid)) pids.push_back(pid);
  }
  return pids;
}

void report_outlived(const std::vector<pid_t>& pids) {
  std::vector<std::string> states;
  for (const pid_t pid : pids) {
    std::string state = proc::state_text(pid);
    if (!state.empty()) states.push_back(std::move(state));
  }
  if (states.empty()) return;
  sys::log::warning("outlived SIGKILL, going on without: " + names_list(states, "; "));
}

}  // namespace engine
