#include "init/engine/cluster/launcher_notifier.h"

#include <utility>

#include "base/peer_protocol.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::int64_t kPauseMs = 1000;
// Time limit of the child; a little more than the session's own time-out.
constexpr std::int64_t kAnswerMs = 25'000;
// Failures before a warning; the sshd may still be starting.
constexpr int kFailuresThatAreSaid = 10;

}  // namespace

void LauncherNotifier::ended(int exit_code) {
  if (std::exchange(ended_, true)) return;
  want(base::kPeerEnd, std::to_string(exit_code));
}

void LauncherNotifier::lost(bool is_lost) {
  if (ended_ || (!is_lost && wanted_.empty())) return;
  want(base::kPeerLauncher, is_lost ? "gone" : "back");
}

void LauncherNotifier::want(std::string_view word, const std::string& argument) {
  wanted_ = std::string(word) + " " + argument;
  if (!deadline_ms_) tell();
}

// Starts the child that sends the wanted message. Tries later if there is no main process. Does
// nothing when the machine has ended.
void LauncherNotifier::tell() {
  if (pid_ != 0 || wanted_ == told_ || !context_.job.plan.link) return;
  if (context_.machine.phase() == lifecycle::Phase::kExited) return;
  if (main_pids(context_.job).empty()) return try_later();
  proc::SpawnSpec spec;
  spec.argv = context_.job.plan.link->tell_sshd;
  spec.env = context_.start_context().base.env;
  spec.env.set("SSH_ORIGINAL_COMMAND", wanted_);
  spec.cwd = "/";
  spec.log_path = "/dev/null";
  spec.die_with_parent = true;
  auto spawned = proc::spawn(spec, context_.saved);
  if (!spawned) {
    sys::log::warning(to_line(spawned.error()) + "; trying again");
    return try_later();
  }
  start_pipe_ = std::move(spawned->start_pipe);
  adopt(spawned->pid);
  context_.job.helpers.push_back(pid_);
  telling_ = wanted_;
  deadline_ms_ = sys::monotonic_ms() + kAnswerMs;
}

void LauncherNotifier::try_later() { deadline_ms_ = sys::monotonic_ms() + kPauseMs; }

void LauncherNotifier::tend(std::int64_t now_ms) {
  if (pid_ != 0) return ChildWorker::tend(now_ms);
  if (!deadline_ms_ || now_ms < *deadline_ms_) return;
  deadline_ms_.reset();
  tell();
}

void LauncherNotifier::on_exit(const proc::Death& death) {
  start_pipe_.reset();
  if (!death.signaled && death.value == 0) {
    told_ = telling_;
    failures_ = 0;
    return tell();
  }
  if (++failures_ == kFailuresThatAreSaid) {
    sys::log::warning("this node's sshd does not take the message \"" + telling_ +
                      "\" about the launcher; trying again");
  }
  try_later();
}

}  // namespace engine
