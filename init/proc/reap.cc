#include "init/proc/reap.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "init/proc/tree.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace proc {
namespace {

std::optional<std::string> read_all(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  std::string text;
  std::array<char, 16384> part;
  while (true) {
    const ssize_t count = ::read(fd.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

std::vector<pid_t> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  for (const std::string_view word : base::words_of(text)) {
    if (const auto pid = base::parse_number<pid_t>(word)) pids.push_back(*pid);
  }
  return pids;
}

}  // namespace

int wait_id(idtype_t type, id_t id, siginfo_t* info, int options) {
  *info = {};
  if (::waitid(type, id, info, options) == 0) return 0;
  if (errno == ECHILD || errno == EINTR || errno == EINVAL || (options & WEXITED) == 0) return -1;
  int status = 0;
  const pid_t which = type == P_PID ? static_cast<pid_t>(id) : -1;
  const pid_t pid = ::wait4(which, &status, (options & WNOHANG) | __WALL, nullptr);
  if (pid <= 0) return pid;
  info->si_pid = pid;
  info->si_code = WIFEXITED(status) ? CLD_EXITED : WCOREDUMP(status) ? CLD_DUMPED : CLD_KILLED;
  info->si_status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  return 0;
}

Reaped reap(int limit) {
  Reaped result;
  // __WALL: also reaps a child of clone() whose exit signal is not SIGCHLD.
  int options = WEXITED | WNOHANG | __WALL;
  while (limit > 0) {
    siginfo_t info{};
    if (wait_id(P_ALL, 0, &info, options) != 0) {
      if (errno == EINTR) continue;
      if (errno == EINVAL && (options & __WALL) != 0) {
        options &= ~__WALL;  // gVisor supports it for wait4 only
        continue;
      }
      result.childless = errno == ECHILD;
      if (!result.childless) result.refused = errno;
      break;
    }
    if (info.si_pid == 0) break;
    result.deaths.push_back({.pid = info.si_pid,
                             .signaled = info.si_code != CLD_EXITED,
                             .value = info.si_status,
                             .core = info.si_code == CLD_DUMPED});
    --limit;
  }
  return result;
}

std::vector<pid_t> children_of_self() {
  const std::string thread = std::to_string(::syscall(SYS_gettid));
  if (const auto text = read_all("/proc/self/task/" + thread + "/children")) {
    return parse_pids(*text);
  }
  return children_by_scan();
}

std::vector<pid_t> children_by_scan() {
  const pid_t self = ::getpid();
  std::vector<pid_t> pids;
  for (const Member& member : all_processes()) {
    if (member.parent == self) pids.push_back(member.pid);
  }
  return pids;
}

base::Status become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return base::fail("becoming the parent of orphaned processes", "prctl PR_SET_CHILD_SUBREAPER",
                    sys::errno_text(errno),
                    "run trainit as PID 1, or allow prctl in the seccomp profile");
}

}  // namespace proc
