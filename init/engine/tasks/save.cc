#include "init/engine/tasks/save.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "init/proc/spawn.h"
#include "init/proc/tree.h"
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

Asked ask_to_save(const std::vector<pid_t>& mains, int signal) {
  Asked asked;
  const auto count = [&asked](pid_t pid, bool allowed) {
    if (allowed) {
      ++asked.count;
    } else if (!asked.refused) {
      asked.refused = pid;
    }
  };
  const auto below = proc::descendants({});
  if (!below) {
    for (const pid_t pid : mains) count(pid, ::kill(pid, signal) == 0 || errno != EPERM);
    return asked;
  }
  std::vector<pid_t> unasked;  // processes whose children are still to be checked
  // The nearest come first, so that a parent is checked before its children.
  for (const proc::Member& member : *below) {
    const bool main = std::ranges::find(mains, member.pid) != mains.end();
    if (!main && std::ranges::find(unasked, member.parent) == unasked.end()) continue;
    if (proc::awaits_signal(member.pid, signal)) {
      count(member.pid, proc::signal_member(member, signal));
    } else {
      unasked.push_back(member.pid);
    }
  }
  return asked;
}

bool ask_to_save(const Job& job) {
  const int signal = job.plan.policy.checkpoint_signal;
  const Asked asked = ask_to_save(main_pids(job), signal);
  if (asked.refused) {
    const proc::Refused refused = proc::refused_text("a process of the job", *asked.refused);
    sys::log::warning(refused.what + ", so it is not asked for a checkpoint; " + refused.fix);
  }
  if (asked.count > 0) {
    sys::log::info("asked for a checkpoint by " + proc::signal_name(signal) + ": " +
                   std::to_string(asked.count) + (asked.count == 1 ? " process" : " processes"));
  } else if (!asked.refused) {
    sys::log::warning("no process of the job catches " + proc::signal_name(signal) +
                      ", which asks for a checkpoint (--checkpoint-signal): none is saved for it");
  }
  return asked.count > 0;
}

pid_t touch_trigger(const std::string& path, const std::optional<envgen::Identity>& job_user,
                    const proc::SavedSignals& saved) {
  const auto pid = proc::fork_worker(saved, -1, [&] { return touch(path, job_user); });
  if (pid) return *pid;
  sys::log::warning(to_line(pid.error()) + ", so " + path + " is not made");
  return 0;
}

}  // namespace engine
