#include "init/engine/hooks/hook_look.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/hook_condition.h"
#include "init/proc/privileged.h"
#include "init/sys/facts.h"
#include "init/sys/fd.h"
#include "init/sys/path_state.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

// Returns whether the condition in the hook's text is true. If the hook cannot be read, it applies,
// and its start then fails.
bool applies(const std::string& path, const base::Environ& env) {
  const std::string head = hook_head(path);
  return hook_condition::applies(
      head.data(), static_cast<long>(head.size()), [&env](auto need, const auto& word) {
        return hook_condition::holds(need, word, env, [] {
          return hook_condition::has_device(sys::inspect("/dev", true).entries);
        });
      });
}

}  // namespace

std::string hook_head(const std::string& path) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::string head(hook_condition::kMaxBytes, '\0');
  const ssize_t size = ::read(file.get(), head.data(), head.size());
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return head;
}

HookLook look_at_hook(const std::string& path, bool is_script, const base::Environ& env,
                      const std::optional<envgen::Identity>& job) {
  HookLook look;
  const bool root = ::geteuid() == 0;
  // True if the hook runs as root and the job as another user, who must not influence the hook.
  const bool border = root && job && job->uid != 0;
  // Check the file before its text is read: if others can change the file, its text must decide
  // nothing. A path that passes this check cannot be changed by others.
  if (root) {
    auto ours =
        sys::check_ours_alone(path, job ? &*job : nullptr, border ? proc::trusted_path(*job) : "");
    if (!ours) {
      look.where = std::move(ours.error().where);
      look.found = std::move(ours.error().found);
      look.fix = std::move(ours.error().fix);
      return look;
    }
  }
  look.applies = is_script || applies(path, env);
  if (!look.applies) return look;
  if (!border) {
    look.env = env.entries();
    return look;
  }
  look.env = proc::trusted_env(env, *job, sys::inspect(path, true).content).entries();
  // A hook in Python would load modules from its working directory.
  look.leaves_directory = proc::may_change(*job, sys::working_directory());
  return look;
}

}  // namespace engine
