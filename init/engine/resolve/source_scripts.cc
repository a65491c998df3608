#include "init/engine/resolve/source_scripts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/constants/words.h"
#include "base/exit_codes.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/conda/environment.h"
#include "init/proc/exec.h"
#include "init/proc/signals.h"
#include "init/proc/spawn.h"
#include "init/sandbox/apply.h"
#include "init/sys/clock.h"
#include "init/sys/death.h"
#include "init/sys/facts.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr const char* kWhat = "sourcing a script for the job's environment";
// dash takes one digit only; scripts that use descriptors begin at 3.
constexpr int kReportFd = 9;
// The environment goes where no script can name a descriptor by accident: it has secrets in it.
constexpr int kFirstEnvironmentFd = 64;
// A shell's end shows by waitpid: whatever a script left running holds the pipe open.
constexpr int kLookMs = 20;
constexpr std::size_t kMostReportBytes = 64U << 20;

// Says on kReportFd which script begins (B) and which one has failed (F), then becomes the program
// that writes its environment to `environment_fd`: no tool of the image can write every value. A
// script that took kReportFd for its own (flock's manual does) has these lines, which say nothing.
std::string shell_text(const std::vector<std::string>& scripts, const std::string& program,
                       int environment_fd) {
  const std::string report = " 2>/dev/null >&" + std::to_string(kReportFd) + " || :\n";
  std::string text;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const std::string index = std::to_string(i);
    text += "printf 'B %s\\n' " + index + report;
    text += ". " + envgen::shell_quoted(scripts[i]) + " || printf 'F %s %s\\n' " + index + " $?" +
            report;
  }
  text += "printf 'B %s\\n' " + std::to_string(scripts.size()) + report;
  return text + "exec " + envgen::shell_quoted(program) + " print-environment " +
         std::to_string(environment_fd);
}

// Ours, also where it has been replaced meanwhile, or lies where the job's user may not go. It
// stays open in the shell.
sys::Fd open_program() {
  constexpr int kFirst = 65;  // above kFirstEnvironmentFd
  const sys::Fd program(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  return sys::Fd(::fcntl(program.get(), F_DUPFD_CLOEXEC, kFirst));
}

std::string path_of(const sys::Fd& program) {
  if (!program.valid()) return sys::gather_facts().program;
  return "/proc/self/fd/" + std::to_string(program.get());
}

struct Report {
  std::size_t script = 0;                           // the last one that began
  std::vector<std::pair<std::size_t, int>> failed;  // with their exit codes
  std::optional<std::vector<std::string>> environment;
};

std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return number;
}

std::vector<std::string> entries_of(std::string_view bytes) {
  std::vector<std::string> entries;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    entries.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
  return entries;
}

Report read_report(std::string_view bytes) {
  Report report;
  while (true) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return report;
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    const char kind = line.empty() ? '\0' : line[0];
    line.remove_prefix(std::min<std::size_t>(line.size(), 2));
    const std::size_t number = take_number(line);
    if (kind == 'B') report.script = number;
    if (kind == 'F') report.failed.emplace_back(number, static_cast<int>(take_number(line)));
    if (kind != 'E') continue;
    if (number <= bytes.size()) report.environment = entries_of(bytes.substr(0, number));
    return report;
  }
}

[[noreturn]] void give_up(const envgen::Error& error, int code) {
  sys::log::error(to_line(error));
  ::_exit(code);
}

// A script is the job's own code, and may be its user's to change: it has what the job has, and no
// more. The kernel forgets the death signal with each change of credentials.
void confine(const envgen::Sandbox& sandbox, pid_t parent) {
  if (sandbox.identity) proc::give_standard_fds(*sandbox.identity, parent == 1);
  // PID 1 may not be dumpable, and its copy's /proc/self, which has oom_score_adj, is root's then.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (auto dropped = sandbox::drop_privileges(sandbox); !dropped)
    give_up(dropped.error(), exit_code::kOwnFailure);
  sys::die_with(parent, SIGKILL);
}

[[noreturn]] void become_shell(proc::Program& program, const envgen::Sandbox& sandbox,
                               int report_fd, int environment_fd, int program_fd, pid_t parent) {
  sys::die_with(parent, SIGKILL);
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::dup2(report_fd, kReportFd);
  ::fcntl(kReportFd, F_SETFD, 0);
  for (const int fd : {environment_fd, program_fd}) ::fcntl(fd, F_SETFD, 0);
  const std::array<int, 3> keep = {kReportFd, environment_fd, program_fd};
  sys::close_descriptors(STDERR_FILENO + 1, keep);
  confine(sandbox, parent);
  if (auto installed = sandbox::install_seccomp(sandbox); !installed)
    give_up(installed.error(), exit_code::kOwnFailure);
  const proc::StartFailure failure = program.exec();
  give_up(failure.error, failure.exit_code);
}

struct Shell {
  pid_t pid = -1;
  sys::Fd pipe;
  std::string bytes;
  std::optional<int> status;
};

envgen::Result<Shell> start_shell(const envgen::Plan& plan, const std::vector<std::string>& scripts,
                                  const envgen::Environ& env) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return envgen::fail(kWhat, "pipe", sys::errno_text(errno), "raise RLIMIT_NOFILE (ulimit -n)");
  }
  Shell shell;
  shell.pipe.reset(ends[0]);
  const sys::Fd report(ends[1]);
  ::fcntl(shell.pipe.get(), F_SETFL, O_NONBLOCK);
  const sys::Fd high(::fcntl(report.get(), F_DUPFD_CLOEXEC, kFirstEnvironmentFd));
  const int environment_fd = high.valid() ? high.get() : kReportFd;  // a low limit on open files
  const sys::Fd ours = open_program();
  const std::vector<std::string> argv = {plan.shell, "-c",
                                         shell_text(scripts, path_of(ours), environment_fd)};
  proc::Program program(argv, env);
  const pid_t parent = ::getpid();
  shell.pid = ::fork();
  if (shell.pid == 0) {
    become_shell(program, plan.sandbox, report.get(), environment_fd, ours.get(), parent);
  }
  if (shell.pid < 0) {
    return envgen::fail(kWhat, "fork", sys::errno_text(errno),
                        "raise the pids limit of the container");
  }
  ::setpgid(shell.pid, shell.pid);
  return shell;
}

// What is there now; false at the end of the file.
bool read_some(Shell& shell) {
  std::array<char, 65536> part;
  while (shell.bytes.size() < kMostReportBytes) {
    const ssize_t count = ::read(shell.pipe.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return true;
    if (count == 0) return false;
    shell.bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  return false;
}

// Until the shell, or what it became, has ended. False at the deadline: all of it is killed then.
bool await_end(Shell& shell, std::int64_t deadline_ms) {
  bool open = true;
  while (true) {
    // Looked for before the pipe is read: what it wrote before its end is then all there.
    int status = 0;
    if (::waitpid(shell.pid, &status, WNOHANG) == shell.pid) shell.status = status;
    if (open) open = read_some(shell);
    if (shell.status) return true;
    if (sys::monotonic_ms() >= deadline_ms) break;
    pollfd ready{open ? shell.pipe.get() : -1, POLLIN, 0};
    ::poll(&ready, 1, kLookMs);
  }
  ::kill(-shell.pid, SIGKILL);
  while (::waitpid(shell.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return false;
}

std::string end_text(int status) {
  return WIFSIGNALED(status) ? proc::signal_name(WTERMSIG(status))
                             : "exit code " + std::to_string(WEXITSTATUS(status));
}

// Of doubles a shell takes the last one, where getenv takes the first.
envgen::Environ without_doubles(const envgen::Environ& env) {
  std::set<std::string_view> names;
  std::vector<std::string> entries;
  for (const std::string& entry : env.entries()) {
    const std::size_t equals = entry.find('=');
    const bool first = names.insert(std::string_view(entry).substr(0, equals)).second;
    if (first && equals != std::string::npos) entries.push_back(entry);
  }
  return envgen::Environ(std::move(entries));
}

// The environment after `scripts` in a shell that began with `env`.
envgen::Result<envgen::Environ> after_scripts(const envgen::Plan& plan,
                                              const std::vector<std::string>& scripts,
                                              const envgen::Environ& env,
                                              std::int64_t deadline_ms) {
  if (scripts.empty()) return env;
  const std::int64_t timeout_ms = deadline_ms - sys::monotonic_ms();
  TRY_ASSIGN(auto shell, start_shell(plan, scripts, without_doubles(env)));
  const bool ended = await_end(shell, deadline_ms);
  Report report = read_report(shell.bytes);
  const bool all_done = report.script >= scripts.size();
  const std::string& script = all_done ? plan.shell : scripts[report.script];
  if (!ended) {
    return envgen::fail(kWhat, script,
                        "no end after " + std::to_string((timeout_ms + 500) / 1000) + " s",
                        "it must not wait for anything: its stdin is /dev/null");
  }
  for (const auto& [index, code] : report.failed) {
    if (index >= scripts.size()) continue;
    sys::log::warning("the script " + scripts[index] + " failed with " + std::to_string(code) +
                      ", ignoring, as conda does: what it sets may be missing");
  }
  if (report.environment) return envgen::Environ(std::move(*report.environment));
  if (all_done) {
    return envgen::fail(kWhat, script, "a shell that ended with " + end_text(*shell.status),
                        "it could not run trainit to tell the environment: see its message above");
  }
  return envgen::fail(kWhat, script, "it ended the shell with " + end_text(*shell.status),
                      "a script that is sourced must not exit: correct it, or remove it");
}

// Set by the shell for itself. An exported function (BASH_FUNC_f%%) is the script's.
bool is_shells_own(std::string_view name) {
  static constexpr auto kOwn = envgen::words("PWD", "OLDPWD", "SHLVL", "_", "SHELLOPTS");
  if (name.starts_with("BASH")) return name != "BASH_ENV" && !name.starts_with("BASH_FUNC_");
  return std::ranges::find(kOwn, name) != kOwn.end();
}

using Values = std::map<std::string_view, std::string_view>;

// As getenv sees them: the first of doubles.
Values values_of(const envgen::Environ& env) {
  Values values;
  for (const std::string& entry : env.entries()) {
    const std::string_view text = entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      values.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return values;
}

std::vector<envgen::EnvEdit> difference(const envgen::Environ& from, const envgen::Environ& to) {
  using Kind = envgen::EnvEdit::Kind;
  const Values before = values_of(from);
  const Values after = values_of(to);
  std::vector<envgen::EnvEdit> edits;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (is_shells_own(name) || (old != before.end() && old->second == value)) continue;
    edits.push_back({Kind::kSet, std::string(name), std::string(value)});
  }
  for (const auto& [name, value] : before) {
    // dash does not pass on what it cannot name ("BATCH_JOB.0_HOSTS"), which no script has unset.
    if (after.contains(name) || is_shells_own(name) || !envgen::is_shell_name(name)) continue;
    edits.push_back({Kind::kUnset, std::string(name), ""});
  }
  envgen::stable_sort(edits, std::less(), &envgen::EnvEdit::name);
  return edits;
}

constexpr std::string_view kLibraries = "LD_LIBRARY_PATH";

void copy_variable(std::string_view name, const envgen::Environ& from, envgen::Environ& to) {
  if (const auto value = from.get(name)) {
    to.set(name, std::string(*value));
  } else {
    to.unset(name);
  }
}

// A script that runs as the job's user must not look for files in root's home.
envgen::Environ at_home(envgen::Environ env, const std::optional<envgen::Identity>& who) {
  if (!who) return env;
  env.set("HOME", who->home);
  if (who->name.empty()) return env;
  env.set("USER", who->name);
  env.set("LOGNAME", who->name);
  return env;
}

}  // namespace

envgen::Result<std::vector<envgen::EnvEdit>> source_scripts(const envgen::Plan& plan,
                                                            const envgen::Environ& environment,
                                                            std::int64_t timeout_ms) {
  if (plan.shell.empty() || (plan.scripts.empty() && plan.leave_scripts.empty())) {
    return std::vector<envgen::EnvEdit>{};
  }
  const std::int64_t deadline_ms = sys::monotonic_ms() + timeout_ms;
  const envgen::Environ base = at_home(environment, plan.sandbox.identity);
  TRY_ASSIGN(auto left, after_scripts(plan, plan.leave_scripts, base, deadline_ms));

  envgen::Environ planned = base;
  envgen::Environ entered = left;
  for (const envgen::EnvEdit& edit : plan.env) {
    planned.apply(edit);
    entered.apply(edit);
  }
  copy_variable(kLibraries, left, entered);
  TRY_ASSIGN(auto done, after_scripts(plan, plan.scripts, entered, deadline_ms));

  const std::string libraries = envgen::with_planned_libraries(
      base.get_or(kLibraries, ""), planned.get_or(kLibraries, ""), done.get_or(kLibraries, ""));
  if (!libraries.empty() || done.get(kLibraries)) done.set(kLibraries, libraries);
  return difference(planned, done);
}

}  // namespace engine
