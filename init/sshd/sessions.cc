#include "init/sshd/sessions.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>

#include "init/proc/reap.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace sshd {
namespace {

constexpr std::size_t kMaxDescriptors = 256;

std::uint64_t start_time_of(pid_t pid) {
  return start_time_in_stat(sys::inspect("/proc/" + std::to_string(pid) + "/stat", true).content);
}

sys::Fd open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  return {};
#endif
}

}  // namespace

std::uint64_t start_time_in_stat(std::string_view stat) {
  constexpr int kFieldsAfterState = 19;  // fields 4 .. 22
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return 0;
  std::string_view rest = stat.substr(name_end + 2);
  if (rest[0] == 'Z' || rest[0] == 'X') return 0;
  for (int i = 0; i < kFieldsAfterState; ++i) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space + 1);
  }
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return error == std::errc() && stop != rest.data() ? value : 0;
}

void Sessions::add(pid_t pid) {
  Session session{.pid = pid, .start_time = 0, .fd = {}};
  const auto with_fd =
      std::ranges::count_if(sessions_, [](const Session& s) { return s.fd.valid(); });
  if (static_cast<std::size_t>(with_fd) < kMaxDescriptors) session.fd = open_pidfd(pid);
  if (!session.fd.valid()) session.start_time = start_time_of(pid);
  sessions_.push_back(std::move(session));
}

std::vector<int> Sessions::descriptors() const {
  std::vector<int> list;
  for (const Session& session : sessions_) {
    if (session.fd.valid()) list.push_back(session.fd.get());
  }
  return list;
}

bool Sessions::has_ended(const Session& session) {
  if (session.fd.valid()) return sys::is_ready(session.fd.get(), POLLIN);
  if (session.start_time != 0) return start_time_of(session.pid) != session.start_time;
  return ::kill(session.pid, 0) != 0 && errno == ESRCH;
}

int Sessions::count(pid_t listener) {
  std::erase_if(sessions_, has_ended);
  const std::vector<pid_t> children = proc::children_of_self();
  // A session that has become a child of this process has lost its sshd, and with it the connection
  // to its client.
  const auto held = std::ranges::count_if(sessions_, [&children](const Session& session) {
    return std::ranges::find(children, session.pid) == children.end();
  });
  if (held > 0) return static_cast<int>(held);
  return static_cast<int>(std::ranges::count_if(children, [this, listener](pid_t child) {
    return child != listener &&
           std::ranges::find(sessions_, child, &Session::pid) == sessions_.end();
  }));
}

}  // namespace sshd
