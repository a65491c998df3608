#include "init/engine/tasks/save.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/open_log.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

int touch(const std::string& path, const std::optional<envgen::Identity>& job_user) {
  constexpr std::uint32_t kMode = 0644;
  const auto file = sys::open_to_append(path, kMode, job_user ? &*job_user : nullptr);
  if (file && ::futimens(file->get(), nullptr) == 0) return 0;
  const std::string why = file ? sys::errno_text(errno) : file.error().found;
  sys::log::warning("cannot make the file " + path + " that a signal asks for (--signal): " + why);
  return 1;
}

}  // namespace

void ask_to_save(const std::vector<pid_t>& mains, int signal, bool last, Asked& asked) {
  asked.unsure = false;
  const auto note = [&asked](const proc::Member& member, bool allowed) {
    if (allowed) {
      asked.reached.push_back(member);
    } else if (!asked.refused) {
      asked.refused = member.pid;
    }
  };
  const auto was_reached = [&asked](const proc::Member& member) {
    return std::ranges::any_of(asked.reached, [&member](const proc::Member& one) {
      return one.pid == member.pid && one.start == member.start;
    });
  };
  const auto below = proc::descendants({});
  if (!below) {
    for (const pid_t pid : mains) note({.pid = pid}, ::kill(pid, signal) == 0 || errno != EPERM);
    return;
  }
  // Processes that did not get the signal, so their children are checked.
  std::vector<pid_t> unasked;
  // The list has parents before their children.
  for (const proc::Member& member : *below) {
    const bool main = std::ranges::find(mains, member.pid) != mains.end();
    if (!main && std::ranges::find(unasked, member.parent) == unasked.end()) continue;
    if (was_reached(member)) continue;
    const proc::SignalUse use = proc::signal_use(member.pid, signal);
    if (use == proc::SignalUse::kAwaits) {
      note(member, proc::signal_member(member, signal));
    } else if (use == proc::SignalUse::kBlocksMost && !last) {
      asked.unsure = true;
    } else {
      unasked.push_back(member.pid);
    }
  }
}

// --- The request ---

namespace {

// All looks together take far longer than a process blocks its signals for a fork.
constexpr int kMaxLooks = 10;
constexpr std::int64_t kPauseMs = 20;

}  // namespace

void SaveRequest::begin() {
  asked_ = {};
  left_ = kMaxLooks;
  look();
}

std::optional<std::int64_t> SaveRequest::deadline_ms() const {
  return left_ > 0 ? std::optional(next_ms_) : std::nullopt;
}

void SaveRequest::tend(std::int64_t now_ms) {
  if (left_ > 0 && now_ms >= next_ms_) look();
}

// Ends the looks when the job ends, because its processes then get another signal.
void SaveRequest::stepped() {
  using lifecycle::Phase;
  const Phase phase = context_.machine.phase();
  const bool lives =
      phase == Phase::kStarting || phase == Phase::kRunning || phase == Phase::kCheckpointing;
  if (!lives) left_ = 0;
}

void SaveRequest::look() {
  const Job& job = context_.job;
  --left_;
  ask_to_save(main_pids(job), job.plan.policy.checkpoint_signal, left_ == 0, asked_);
  if (!asked_.unsure) left_ = 0;
  if (left_ == 0) return finish();
  next_ms_ = sys::monotonic_ms() + kPauseMs;
}

void SaveRequest::finish() {
  const std::string signal(proc::signal_name(context_.job.plan.policy.checkpoint_signal));
  const std::size_t count = asked_.reached.size();
  if (asked_.refused) {
    const proc::Refused refused = proc::refused_text("a process of the job", *asked_.refused);
    sys::log::warning(refused.what + ", so it is not asked for a checkpoint; " + refused.fix);
  }
  if (count > 0) {
    sys::log::info("asked for a checkpoint by " + signal + ": " + std::to_string(count) +
                   (count == 1 ? " process" : " processes"));
  } else if (!asked_.refused) {
    sys::log::warning("no process of the job catches " + signal +
                      ", which asks for a checkpoint (--checkpoint-signal): none is saved for it");
  }
  if (count == 0) context_.post(lifecycle::event::NobodySaves{});
}

pid_t touch_trigger(const std::string& path, const std::optional<envgen::Identity>& job_user,
                    const proc::SavedSignals& saved) {
  const auto pid = proc::fork_worker(saved, -1, [&] { return touch(path, job_user); });
  if (pid) return *pid;
  sys::log::warning(to_line(pid.error()) + ", so " + path + " is not made");
  return 0;
}

}  // namespace engine
