#include "init/engine/tasks/stop.h"

#include <signal.h>
#include <unistd.h>

#include "init/proc/terminal.h"
#include "init/sys/clock.h"

namespace engine {

using base::StopScope;

namespace {

constexpr std::int64_t kMomentMs = 2;

}  // namespace

void Stopper::begin_step() {
  groups_.clear();
  trees_.clear();
}

void Stopper::continue_stopped() {
  if (to_continue_.empty()) return;
  const auto below = proc::descendants(to_continue_.front().spared);
  for (const proc::Member& member : below.value_or(std::vector<proc::Member>())) {
    if (member.state == 'T') proc::signal_member(member, SIGCONT);
  }
  for (const StopTarget& target : to_continue_) {
    if (!below && proc::is_stopped(target.main)) ::kill(target.main, SIGCONT);
  }
  leave_stopped();
}

void Stopper::leave_stopped() {
  to_continue_.clear();
  continue_due_ms_.reset();
}

void Stopper::send(const StopTarget& target) {
  if (target.signal != SIGKILL) {
    to_continue_.push_back(target);
    to_continue_.back().forwarded = nullptr;  // the received signal is valid only in this step
    continue_due_ms_ = sys::monotonic_ms() + kMomentMs;
  }
  switch (target.scope) {
    case StopScope::kMain:
      return send_to_main(target);
    case StopScope::kGroup:
      return send_to_group(target);
    case StopScope::kTree:
      return send_to_tree(target);
  }
}

void Stopper::send_to_main(const StopTarget& target) {
  if (target.reached) return;
  if (target.forwarded != nullptr) {
    proc::forward_signal(target.main, *target.forwarded);
  } else {
    ::kill(target.main, target.signal);
  }
}

// Signals the main process's present group. If that is trainit's own group, which a shell may have
// given to both, or a group outside of the PID namespace (0), signals only the main process.
void Stopper::send_to_group(const StopTarget& target) {
  const pid_t group = ::getpgid(target.main);
  if (group <= 1 || group == ::getpgrp()) return send_to_main(target);
  if (!groups_.insert({group, target.signal}).second) return;
  // Note the members before the signal. A process that is forked in between gets the signal without
  // being noted. It may get a second SIGTERM as a leftover, which is better than none.
  if (target.signal == SIGTERM) {
    for (const proc::Member& member : proc::members_of({group})) note(member, target.signal);
  }
  ::kill(-group, target.signal);
}

// Signals trainit's tree once for all main tasks, because all main tasks get the signal in one
// step. Processes that are forked meanwhile, or by a signal handler, get theirs in the sweep after
// the main tasks.
void Stopper::send_to_tree(const StopTarget& target) {
  if (trees_.contains(target.signal)) return;
  const auto below = proc::descendants(target.spared);
  if (!below) {
    if (::getpid() != 1) return send_to_group(target);
    trees_.insert(target.signal);
    all_had_term_ = all_had_term_ || target.signal == SIGTERM;
    ::kill(-1, target.signal);
    return;
  }
  trees_.insert(target.signal);
  for (const proc::Member& member : *below) {
    if (target.reached && member.group == ::getpgrp()) continue;
    note(member, target.signal);
    proc::signal_member(member, target.signal);
  }
}

void Stopper::note(const proc::Member& member, int signal) {
  if (signal == SIGTERM) had_term_[member.pid] = member.start;
}

void Stopper::forget() {
  had_term_.clear();
  all_had_term_ = false;
}

bool Stopper::has_had_term(pid_t pid) const {
  if (all_had_term_) return true;
  const auto found = had_term_.find(pid);
  if (found == had_term_.end()) return false;
  const auto now = proc::find_member(pid);
  return now && now->start == found->second;
}

}  // namespace engine
