#include "init/proc/spawn.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/exit_codes.h"
#include "envgen/formats/cpu_list.h"
#include "init/proc/terminal.h"
#include "init/sandbox/apply.h"
#include "init/sys/as_user.h"
#include "init/sys/death.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/open_log.h"
#include "init/sys/terminate.h"

namespace proc {
namespace {

constexpr int kFirstInherited = 3;

// The record in the start pipe: exit code, whether the name is missing, four lengths, four texts.
// It has at most PIPE_BUF bytes, so that it is written as a whole.
constexpr std::size_t kTexts = 4;
constexpr std::size_t kNumbers = 2;
using RecordHead = std::array<std::uint32_t, kNumbers + kTexts>;
constexpr std::size_t kMaxText = (PIPE_BUF - sizeof(RecordHead)) / kTexts;

std::string encode(const StartFailure& failure) {
  const base::Error& error = failure.error;
  const std::array<std::string_view, kTexts> texts = {error.what, error.where, error.found,
                                                      error.fix};
  RecordHead head{static_cast<std::uint32_t>(failure.exit_code), failure.name_missing ? 1U : 0U};
  std::string body;
  for (std::size_t i = 0; i < kTexts; ++i) {
    const std::string_view text = texts[i].substr(0, kMaxText);
    head[kNumbers + i] = static_cast<std::uint32_t>(text.size());
    body += text;
  }
  return std::string(reinterpret_cast<const char*>(head.data()), sizeof head) + body;
}

std::optional<StartFailure> decode(std::string_view record) {
  RecordHead head{};
  if (record.size() < sizeof head) return std::nullopt;
  std::memcpy(head.data(), record.data(), sizeof head);
  record.remove_prefix(sizeof head);
  StartFailure failure;
  failure.exit_code = static_cast<int>(head[0]);
  failure.name_missing = head[1] != 0;
  std::array<std::string*, kTexts> texts = {&failure.error.what, &failure.error.where,
                                            &failure.error.found, &failure.error.fix};
  for (std::size_t i = 0; i < kTexts; ++i) {
    const std::size_t size = head[kNumbers + i];
    if (size > record.size()) return std::nullopt;
    *texts[i] = record.substr(0, size);
    record.remove_prefix(size);
  }
  if (!record.empty() || failure.exit_code <= 0 || failure.exit_code > 255) return std::nullopt;
  return failure;
}

// The data that the child gets from its parent.
struct ChildContext {
  const SpawnSpec& spec;
  const SavedSignals& saved;
  Program& program;
  int start_fd;
  pid_t parent;
  pid_t parent_group;
};

// Gives the terminal to the child's group, if trainit's group has it. After a start with '&', the
// shell has it.
void take_terminal(pid_t parent_group) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::tcgetpgrp(fd) != parent_group) continue;
    ::tcsetpgrp(fd, ::getpgrp());  // SIGTTOU is blocked, as all are
    return;
  }
}

base::Status put(const sys::Fd& fd, std::initializer_list<int> targets, const char* what,
                 const std::string& path) {
  for (const int target : targets) {
    if (::dup2(fd.get(), target) < 0) {
      return base::fail(what, path, sys::errno_text(errno), "");
    }
  }
  return {};
}

// Returns whether the descriptor is a terminal that is open for reading. Most terminals are, even
// as stdout and stderr.
bool reads_terminal(int fd) {
  return ::isatty(fd) == 1 && (::fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY;
}

void keep_from_reading() {
  write_terminals_only();
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!reads_terminal(fd)) continue;
    // If the terminal cannot be opened again (no /proc), the program gets no output.
    const sys::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (null.valid()) ::dup2(null.get(), fd);
  }
}

const envgen::Identity* other_user(const SpawnSpec& spec) {
  return spec.sandbox != nullptr && spec.sandbox->identity ? &*spec.sandbox->identity : nullptr;
}

// Redirects the standard descriptors. A rank that does not own the terminal must not read from it
// either.
base::Status redirect(const SpawnSpec& spec) {
  if (!spec.log_path.empty()) {
    constexpr std::uint32_t kMode = 0644;
    auto log = sys::open_to_append(spec.log_path, kMode, other_user(spec), true);
    // If another user has put a file there, the output goes to trainit's own, so that the job can
    // still start.
    const bool theirs = !log && log.error().what == sys::kNotOurs;
    if (!log && !theirs) return std::unexpected(std::move(log.error()));
    if (theirs) sys::log::warning(to_line(log.error()) + "; its output comes with trainit's own");
    TRY(theirs ? base::Status()
               : put(*log, {STDOUT_FILENO, STDERR_FILENO}, "opening a log file", spec.log_path));
  } else if (spec.output_fd >= 0) {
    ::dup2(spec.output_fd, STDOUT_FILENO);
    ::dup2(spec.error_fd >= 0 ? spec.error_fd : spec.output_fd, STDERR_FILENO);
  }
  const bool typed = spec.no_terminal && ::isatty(STDIN_FILENO) == 1;
  if (spec.no_terminal) keep_from_reading();
  if (spec.log_path.empty() && !spec.no_input && !typed) return {};
  constexpr const char* kWhat = "opening the standard input";
  const sys::Fd null(::open("/dev/null", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (null.valid()) return put(null, {STDIN_FILENO}, kWhat, "/dev/null");
  return base::fail(kWhat, "/dev/null", sys::errno_text(errno), "the image needs /dev/null");
}

base::Status change_directory(const std::string& path) {
  if (path.empty() || ::chdir(path.c_str()) == 0) return {};
  const int error = errno;
  if (error == EACCES) {
    return base::fail("entering the working directory", path,
                      sys::errno_text(error) + " for uid " + std::to_string(::geteuid()),
                      "let that user search it and its parents (chmod, chown), or choose "
                      "another one");
  }
  return base::fail("entering the working directory", path, sys::errno_text(error),
                    "create it, or choose another one");
}

// Binds the child to its CPUs. A failure does not stop the job: a cpuset may have changed since the
// plan, or a filter may forbid the call.
void bind_to(const SpawnSpec& spec) {
  if (spec.cpus.empty()) return;
  const envgen::CpuList cpus = envgen::parse_cpu_list(spec.cpus).value_or(envgen::CpuList());
  const std::size_t size = CPU_ALLOC_SIZE(cpus.empty() ? 1 : cpus.back() + 1);
  std::vector<unsigned long> mask(size / sizeof(unsigned long));
  auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
  for (const int cpu : cpus) CPU_SET_S(cpu, size, set);
  if (::sched_setaffinity(0, size, set) == 0) return;
  sys::log::warning("binding " + spec.argv[0] + " to the CPUs " + spec.cpus + ": " +
                    sys::errno_text(errno) + "; it runs unbound");
}

// Applies the sandbox. The kernel clears the death signal at each change of credentials.
base::Status confine(const SpawnSpec& spec, pid_t parent) {
  const envgen::Sandbox& sandbox = *spec.sandbox;
  if (sandbox.identity) give_standard_fds(*sandbox.identity, !spec.die_with_parent);
  TRY(sandbox::drop_privileges(sandbox));
  if (spec.die_with_parent) sys::die_with(parent, SIGKILL);
  return {};
}

// Closes what the child must not inherit. The caller's descriptors are those without CLOEXEC. If
// trainit's own descriptors are among their numbers, in gaps, they close at the exec.
void close_the_rest(int start_fd, int channel_fd, int inherited_fds) {
  std::vector<int> keep = {start_fd};
  if (channel_fd >= 0) keep.push_back(channel_fd);
  sys::close_descriptors(kFirstInherited + inherited_fds, keep);
}

void report(int start_fd, const StartFailure& failure) {
  const std::string record = encode(failure);
  // A failure is ignored: the exit code still reports the error.
  std::ignore = ::write(start_fd, record.data(), record.size());
}

base::Status prepare(const ChildContext& child) {
  const SpawnSpec& spec = child.spec;
  if (spec.die_with_parent) sys::die_with(child.parent, SIGKILL);
  if (spec.new_session) {
    ::setsid();
  } else if (!spec.callers_group) {
    ::setpgid(0, 0);
  }
  if (spec.foreground) take_terminal(child.parent_group);
  TRY(redirect(spec));
  if (spec.inherited_fds > 0) child.program.set_listen_pid(::getpid());
  bind_to(spec);
  // Closes before the sandbox is applied, because that may remove /proc/self and lower the limit on
  // descriptors, which closing needs.
  if (!spec.callers_fds) close_the_rest(child.start_fd, spec.channel_fd, spec.inherited_fds);
  if (spec.channel_fd >= 0) ::fcntl(spec.channel_fd, F_SETFD, 0);
  if (spec.sandbox != nullptr) {
    TRY(confine(spec, child.parent));
  }
  return change_directory(spec.cwd);
}

// Runs the program. Restores the signals first: a filter may forbid that later, and the job would
// then get no signal.
StartFailure run_program(const ChildContext& child) {
  restore_signals(child.saved);
  if (child.spec.sandbox == nullptr) return child.program.exec();
  // Looks for faults first, because the filter may forbid the calls that explain a failed start.
  if (auto missing = child.program.find_fault()) return std::move(*missing);
  if (auto installed = sandbox::install_seccomp(*child.spec.sandbox); !installed) {
    return {exit_code::kOwnFailure, std::move(installed.error())};
  }
  return child.program.exec();
}

// Runs the steps of the child. All its objects must be destroyed when it returns, because with
// vfork the memory belongs to the parent.
int run_child(const ChildContext& child) {
  StartFailure failure{exit_code::kOwnFailure, {}};
  if (auto prepared = prepare(child); prepared) {
    failure = run_program(child);
  } else {
    failure.error = std::move(prepared.error());
  }
  report(child.start_fd, failure);
  return failure.exit_code;
}

// Forks in a small frame of its own, because vfork returns into it twice.
[[gnu::noinline]] pid_t fork_child(const ChildContext& child) {
  // The unsafe part of vfork is intended: the parent waits until the program runs.
  const bool share = child.spec.share_memory && child.spec.sandbox == nullptr && !has_terminal();
  // NOLINTNEXTLINE(bugprone-unsafe-functions)
  const pid_t pid = share ? ::vfork() : ::fork();
  if (pid != 0) return pid;
  ::_exit(run_child(child));
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

std::string process_limits() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  std::string text = "RLIMIT_NPROC is " + limit_text(limit.rlim_cur);
  for (const char* path : {"/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"}) {
    const envgen::PathState state = sys::inspect(path, true);
    if (state.kind != envgen::PathState::Kind::kFile) continue;
    text += std::string(", ") + path + " is " + state.content.substr(0, state.content.find('\n'));
  }
  return text;
}

std::unexpected<base::Error> fork_failed(std::string what, int error) {
  if (error == EAGAIN) {
    return base::fail(std::move(what), "fork",
                      sys::errno_text(error) + ", a limit on processes: " + process_limits(),
                      "raise the pids limit of the container or the user's RLIMIT_NPROC "
                      "(--pids-limit, podPidsLimit, ulimit -u)");
  }
  return base::fail(std::move(what), "fork", sys::errno_text(error),
                    error == ENOMEM ? "raise the memory limit of the container" : "");
}

}  // namespace

void write_terminals_only() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!reads_terminal(fd)) continue;
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const sys::Fd only_writes(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (only_writes.valid()) ::dup2(only_writes.get(), fd);
  }
}

void give_standard_fds(const envgen::Identity& who, bool pid1) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) continue;
    const bool terminal = pid1 && S_ISCHR(status.st_mode) && ::isatty(fd) == 1;
    struct statfs system{};
    // A FIFO that has a name in a directory keeps its owner.
    const bool pipe =
        S_ISFIFO(status.st_mode) && ::fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
    if (!pipe && !terminal) continue;
    // A failure is ignored: without CAP_CHOWN, or on a read-only file system, the owner stays.
    std::ignore = ::fchown(fd, who.uid, status.st_gid);
  }
}

base::Result<Spawned> spawn(const SpawnSpec& spec, const SavedSignals& saved) {
  const std::string what = "starting " + (spec.argv.empty() ? "a program" : spec.argv[0]);
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail(what, "pipe", sys::errno_text(errno), "raise RLIMIT_NOFILE (ulimit -n)");
  }
  Spawned spawned;
  spawned.start_pipe.reset(ends[0]);
  const sys::Fd start(ends[1]);
  ::fcntl(spawned.start_pipe.get(), F_SETFL, O_NONBLOCK);
  Program program(spec.argv, spec.env);
  spawned.pending = pending_signals();
  spawned.pid = fork_child({.spec = spec,
                            .saved = saved,
                            .program = program,
                            .start_fd = start.get(),
                            .parent = ::getpid(),
                            .parent_group = ::getpgrp()});
  if (spawned.pid < 0) return fork_failed(what, errno);
  if (spec.log_path.empty() && spec.output_fd < 0) sys::log::share_stderr();
  // The child does this too. So the group exists before either of them continues.
  if (!spec.new_session && !spec.callers_group) ::setpgid(spawned.pid, spawned.pid);
  return spawned;
}

StartState read_start(const sys::Fd& start_pipe, StartFailure* failure) {
  std::array<char, PIPE_BUF> record;
  ssize_t count = 0;
  do {
    count = ::read(start_pipe.get(), record.data(), record.size());
  } while (count < 0 && errno == EINTR);
  if (count == 0) return StartState::kRunning;
  if (count < 0 && errno == EAGAIN) return StartState::kPending;
  const int error = errno;
  auto decoded =
      count < 0 ? std::nullopt : decode({record.data(), static_cast<std::size_t>(count)});
  if (!decoded) {
    const std::string found = count < 0 ? sys::errno_text(error) : "a damaged record";
    decoded = StartFailure{exit_code::kOwnFailure, {"starting a program", "start pipe", found, ""}};
  }
  *failure = std::move(*decoded);
  return StartState::kFailed;
}

namespace {

[[noreturn]] void run_worker(const SavedSignals& saved, std::span<const int> keep, pid_t parent,
                             const std::function<int()>& body) {
  sys::on_terminate([](const sys::Thrown& thrown) {
    sys::log::error(std::string("a worker process failed: ") + thrown.what);
  });
  sys::die_with(parent, SIGKILL);
  ::setpgid(0, 0);
  std::vector<int> kept = sys::log::descriptors();
  kept.insert(kept.end(), keep.begin(), keep.end());
  sys::close_descriptors(kFirstInherited, kept);
  restore_signals_of_worker(saved);
  ::_exit(body());
}

}  // namespace

base::Result<pid_t> fork_worker(const SavedSignals& saved, std::span<const int> keep,
                                const std::function<int()>& body) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fork_failed("starting a worker process", errno);
  if (pid == 0) run_worker(saved, keep, parent, body);
  ::setpgid(pid, pid);
  return pid;
}

namespace {

// Sends the standard descriptors of this process, and the end of a start pipe, to the spare
// process.
bool send_descriptors(int channel, std::string_view message, int start_fd) {
  const std::array<int, 4> fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, start_fd};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> control{};
  iovec part{const_cast<char*>(message.data()), message.size()};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control.data();
  packet.msg_controllen = control.size();
  cmsghdr* head = CMSG_FIRSTHDR(&packet);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(head), fds.data(), sizeof fds);
  return ::sendmsg(channel, &packet, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

int carry(const SpawnSpec& spec, int channel, std::string_view message, int start_fd) {
  StartFailure failure{exit_code::kOwnFailure, {}};
  if (auto ready = redirect(spec); !ready) {
    failure.error = std::move(ready.error());
  } else {
    if (const auto* who = other_user(spec)) give_standard_fds(*who, !spec.die_with_parent);
    if (send_descriptors(channel, message, start_fd)) return 0;
    const int error = errno;
    if (error == EPIPE || error == ECONNRESET)
      return 0;  // the spare process has died, and will be
                 // reaped
    failure.error = {"handing a rank over", "sendmsg", sys::errno_text(error), ""};
  }
  report(start_fd, failure);
  return failure.exit_code;
}

}  // namespace

base::Result<HandedOver> hand_over(const SpawnSpec& spec, const SavedSignals& saved, pid_t pid,
                                   int channel, std::string_view message) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail("handing a rank over", "pipe", sys::errno_text(errno),
                      "raise RLIMIT_NOFILE (ulimit -n)");
  }
  HandedOver handed;
  handed.spawned.start_pipe.reset(ends[0]);
  const sys::Fd start(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  handed.spawned.pending = pending_signals();
  handed.spawned.pid = pid;
  std::vector<int> keep = {channel, start.get()};
  for (const int fd : {spec.output_fd, spec.error_fd}) {
    if (fd >= 0) keep.push_back(fd);
  }
  TRY_ASSIGN(handed.messenger,
             fork_worker(saved, keep, [&] { return carry(spec, channel, message, start.get()); }));
  return handed;
}

}  // namespace proc
