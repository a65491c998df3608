#include "init/engine/resolve/source_scripts.h"

#include <fcntl.h>
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
#include "envgen/plan/command.h"
#include "init/proc/child_run.h"
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
// The shell dash accepts only one digit, and scripts that use descriptors begin at 3. So this is
// the highest one.
constexpr int kReportFd = 9;
// The pipe for the environment, which can contain secrets, gets at least this number: no script
// uses it by accident.
constexpr int kFirstEnvironmentFd = 64;
constexpr std::size_t kMaxReportBytes = 64U << 20;
constexpr std::int64_t kStartUpMs = 5'000;

// Variables that name a start-up file, which a shell reads before its script: BASH_ENV for bash,
// ENV for old Korn shells.
constexpr auto kStartUpFiles = base::words("BASH_ENV", "ENV");
constexpr const char* kBash = "/bin/bash";

// Returns shell text that sources `scripts`. On kReportFd it reports which script begins (B) and
// which one has failed (F). At the end the shell executes `program`, which writes its environment
// to `environment_fd`, because no tool of the image can write every value. A script that uses
// kReportFd itself, as in flock's manual, gets these lines, which reveal nothing.
std::string shell_text(const std::vector<std::string>& scripts, const std::string& program,
                       int environment_fd) {
  const std::string report = " 2>/dev/null >&" + std::to_string(kReportFd) + " || :\n";
  std::string text;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const std::string index = std::to_string(i);
    text += "printf 'B %s\\n' " + index + report;
    text +=
        ". " + base::shell_quoted(scripts[i]) + " || printf 'F %s %s\\n' " + index + " $?" + report;
  }
  text += "printf 'B %s\\n' " + std::to_string(scripts.size()) + report;
  return text + "exec " + base::shell_quoted(program) + " print-environment " +
         std::to_string(environment_fd);
}

// Opens trainit's own program. This works even if the file was replaced, or lies where the job's
// user may not go. The descriptor stays open in the shell.
sys::Fd open_program() {
  constexpr int kFirst = 65;  // higher than kFirstEnvironmentFd, which stays free for the pipe
  const sys::Fd program(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  return sys::Fd(::fcntl(program.get(), F_DUPFD_CLOEXEC, kFirst));
}

std::string path_of(const sys::Fd& program) {
  if (!program.valid()) return sys::gather_facts().program;
  return "/proc/self/fd/" + std::to_string(program.get());
}

struct Report {
  std::size_t script = 0;                           // index of the last script that began
  std::vector<std::pair<std::size_t, int>> failed;  // scripts and their exit codes
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

[[noreturn]] void give_up(const base::Error& error, int code) {
  sys::log::error(to_line(error));
  ::_exit(code);
}

// Applies the job's sandbox to this process. The job's user may be able to change a script, so it
// gets only the job's rights. The kernel clears the death signal when the credentials change, so it
// is set again. `parent`: the process whose death ends this one.
void confine(const envgen::Sandbox& sandbox, pid_t parent) {
  if (sandbox.identity) proc::give_standard_fds(*sandbox.identity, parent == 1);
  if (auto dropped = sandbox::drop_privileges(sandbox); !dropped)
    give_up(dropped.error(), exit_code::kOwnFailure);
  sys::die_with(parent, SIGKILL);
}

struct ShellFds {
  int report = -1;
  int environment = -1;
  int program = -1;
  bool silent = false;  // the shell's own output goes to /dev/null
};

[[noreturn]] void become_shell(proc::Program& program, const envgen::Sandbox& sandbox,
                               const ShellFds& fds, pid_t parent) {
  sys::die_with(parent, SIGKILL);
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  if (fds.silent) ::dup2(null, STDERR_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::dup2(fds.report, kReportFd);
  ::fcntl(kReportFd, F_SETFD, 0);
  for (const int fd : {fds.environment, fds.program}) ::fcntl(fd, F_SETFD, 0);
  const std::array<int, 3> keep = {kReportFd, fds.environment, fds.program};
  sys::close_descriptors(STDERR_FILENO + 1, keep);
  confine(sandbox, parent);
  if (auto installed = sandbox::install_seccomp(sandbox); !installed)
    give_up(installed.error(), exit_code::kOwnFailure);
  const proc::StartFailure failure = program.exec();
  give_up(failure.error, failure.exit_code);
}

// The work of one shell: the scripts that it sources, and how.
struct Task {
  std::string shell;
  std::string prologue;  // shell text before the scripts
  std::vector<std::string> scripts;
  bool silent = false;
};

base::Result<proc::ChildRun> run_shell(const envgen::Plan& plan, const Task& task,
                                       const base::Environ& env, std::int64_t deadline_ms) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail(kWhat, "pipe", sys::errno_text(errno), "raise RLIMIT_NOFILE (ulimit -n)");
  }
  sys::Fd pipe(ends[0]);
  const sys::Fd report(ends[1]);
  ::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
  const sys::Fd high(::fcntl(report.get(), F_DUPFD_CLOEXEC, kFirstEnvironmentFd));
  // If the limit on open files is low, no high number is free: kReportFd.
  const int environment_fd = high.valid() ? high.get() : kReportFd;
  const sys::Fd ours = open_program();
  const std::vector<std::string> argv = {
      task.shell, "-c", task.prologue + shell_text(task.scripts, path_of(ours), environment_fd)};
  proc::Program program(argv, env);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become_shell(program, plan.sandbox, {report.get(), environment_fd, ours.get(), task.silent},
                 parent);
  }
  if (pid < 0) {
    return base::fail(kWhat, "fork", sys::errno_text(errno),
                      "raise the pids limit of the container");
  }
  ::setpgid(pid, pid);
  // The end of the pipe does not show the end of the shell: a script may close it, or leave a
  // process that holds it open.
  const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
  proc::ChildRun shell(pid, std::move(pipe),
                       {.time_ms = left_ms,
                        .most_bytes = kMaxReportBytes,
                        .linger_ms = left_ms,
                        .keeps_group = true});
  shell.wait();
  shell.end();
  return shell;
}

std::string end_text(const siginfo_t& exited) {
  return exited.si_code == CLD_EXITED ? "exit code " + std::to_string(exited.si_status)
                                      : proc::signal_name(exited.si_status);
}

// Removes duplicates of variables and keeps the first: a shell takes the last one, but getenv(3)
// the first.
base::Environ without_doubles(const base::Environ& env) {
  std::set<std::string_view> names;
  std::vector<std::string> entries;
  for (const std::string& entry : env.entries()) {
    const std::size_t equals = entry.find('=');
    const bool first = names.insert(std::string_view(entry).substr(0, equals)).second;
    if (first && equals != std::string::npos) entries.push_back(entry);
  }
  return base::Environ(std::move(entries));
}

// Removes BASH_ENV and ENV from `env`, whose files could undo the plan or end the shell. Returns
// shell text that sets them again for the scripts and the programs that these start.
std::string take_start_up(base::Environ& env) {
  std::string prologue;
  for (const std::string_view name : kStartUpFiles) {
    const auto file = env.get(name);
    if (!file) continue;
    prologue += base::concat({"export ", name, "=", base::shell_quoted(*file), "\n"});
    env.unset(name);
  }
  return prologue;
}

// Runs `scripts` in a shell that begins with `env`. Returns the environment after them.
base::Result<base::Environ> after_scripts(const envgen::Plan& plan,
                                          const std::vector<std::string>& scripts,
                                          const base::Environ& env, std::int64_t deadline_ms) {
  if (scripts.empty()) return env;
  const std::int64_t timeout_ms = deadline_ms - sys::monotonic_ms();
  base::Environ first = without_doubles(env);
  const Task task{plan.shell, take_start_up(first), scripts, false};
  TRY_ASSIGN(const auto shell, run_shell(plan, task, first, deadline_ms));
  Report report = read_report(shell.output());
  const bool all_done = report.script >= scripts.size();
  const std::string& script = all_done ? plan.shell : scripts[report.script];
  if (!shell.exited()) {
    return base::fail(
        kWhat, script, "no end after " + std::to_string((timeout_ms + 500) / 1000) + " s",
        "it must not wait for anything: its stdin is /dev/null" +
            std::string(task.prologue.empty() ? ""
                                              : "; each bash that it starts reads BASH_ENV first"));
  }
  for (const auto& [index, code] : report.failed) {
    if (index >= scripts.size()) continue;
    sys::log::warning("the script " + scripts[index] + " failed with " + std::to_string(code) +
                      ", ignoring, as conda does: what it sets may be missing");
  }
  if (report.environment) return base::Environ(std::move(*report.environment));
  if (all_done) {
    return base::fail(kWhat, script, "a shell that ended with " + end_text(*shell.exited()),
                      "it could not run trainit to tell the environment: see its message above");
  }
  return base::fail(kWhat, script, "it ended the shell with " + end_text(*shell.exited()),
                    "a script that is sourced must not exit: correct it, or remove it");
}

// Returns whether the shell sets this variable itself. An exported function (BASH_FUNC_f%%) is a
// script's.
bool is_shells_own(std::string_view name) {
  static constexpr auto kOwn = base::words("PWD", "OLDPWD", "SHLVL", "_", "SHELLOPTS");
  if (name.starts_with("BASH")) return name != "BASH_ENV" && !name.starts_with("BASH_FUNC_");
  return std::ranges::find(kOwn, name) != kOwn.end();
}

using Values = std::map<std::string_view, std::string_view>;

// Returns the variables with their values. If a variable has several entries, takes the first one,
// like getenv(3).
Values values_of(const base::Environ& env) {
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

std::vector<base::EnvEdit> difference(const base::Environ& from, const base::Environ& to) {
  using Kind = base::EnvEdit::Kind;
  const Values before = values_of(from);
  const Values after = values_of(to);
  std::vector<base::EnvEdit> edits;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (is_shells_own(name) || (old != before.end() && old->second == value)) continue;
    edits.push_back({Kind::kSet, std::string(name), std::string(value)});
  }
  for (const auto& [name, value] : before) {
    // If dash dropped a variable because of its name ("BATCH_JOB.0_HOSTS"), no script has unset it.
    if (after.contains(name) || is_shells_own(name) || !envgen::is_shell_name(name)) continue;
    edits.push_back({Kind::kUnset, std::string(name), ""});
  }
  base::stable_sort(edits, std::less(), &base::EnvEdit::name);
  return edits;
}

constexpr std::string_view kLibraries = "LD_LIBRARY_PATH";

void copy_variable(std::string_view name, const base::Environ& from, base::Environ& to) {
  if (const auto value = from.get(name)) {
    to.set(name, std::string(*value));
  } else {
    to.unset(name);
  }
}

// Returns `env` with the home and name of the job's user, whose scripts must not look for files in
// root's home.
base::Environ at_home(base::Environ env, const std::optional<envgen::Identity>& who) {
  if (!who) return env;
  env.set("HOME", who->home);
  if (who->name.empty()) return env;
  env.set("USER", who->name);
  env.set("LOGNAME", who->name);
  return env;
}

bool decides_what_is_found(std::string_view name) { return name == "PATH" || name == kLibraries; }

// Returns whether a start-up file has undone the plan's value of a variable. It may add to a list,
// but not in front of PATH: then other programs would be found before the planned ones.
bool is_undone(std::string_view name, std::string_view planned, std::string_view after) {
  if (name == "PATH") return !after.starts_with(planned);
  // A number must be equal. "129500" contains the text "29500", but not as an item of a list.
  const bool number = planned.find_first_not_of("0123456789.") == std::string_view::npos;
  return number ? after != planned : !after.contains(planned);
}

bool is_bash_script(const std::string& path) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::array<char, 128> head{};
  const ssize_t count = ::pread(file.get(), head.data(), head.size(), 0);
  if (count <= 0) return false;
  std::string_view text(head.data(), static_cast<std::size_t>(count));
  const std::string_view line = base::take_line(text);
  return line.starts_with("#!") && line.find("bash") != std::string_view::npos;
}

// Returns whether the command runs bash, perhaps through other programs (env, timeout).
bool runs_bash(const envgen::Process& process) {
  for (const std::string& word : process.argv) {
    const std::string_view name = envgen::base_name(word);
    if (name == "bash") return true;
    if (name == "sh") return false;
    if (word.contains('/') && is_bash_script(envgen::join_path(process.cwd, word))) return true;
  }
  return false;
}

// Returns what the start-up file does wrong in a bash of the job: it does not end, it ends the
// shell, or it changes variables of the plan. "": nothing. `planned`: the job's environment.
std::string start_up_fault(const envgen::Plan& plan, const std::vector<base::EnvEdit>& edits,
                           const base::Environ& planned, std::int64_t deadline_ms) {
  const std::int64_t now_ms = sys::monotonic_ms();
  deadline_ms = std::min(deadline_ms, now_ms + kStartUpMs);
  auto shell = run_shell(plan, {kBash, "", {}, true}, without_doubles(planned), deadline_ms);
  if (!shell) return "";
  if (!shell->exited()) {
    return " shows no end after " + base::seconds((deadline_ms - now_ms + 500) / 1000 * 1000);
  }
  const Report report = read_report(shell->output());
  if (!report.environment) return " ends the shell with " + end_text(*shell->exited());
  const base::Environ after(*report.environment);
  std::set<std::string_view> changed;
  for (const base::EnvEdit& edit : edits) {
    const auto value = planned.get(edit.name);
    const bool undone = value ? is_undone(edit.name, *value, after.get_or(edit.name, ""))
                              : after.get(edit.name).has_value();
    if (undone) changed.insert(edit.name);
  }
  std::string names;
  for (const std::string_view name : changed) {
    names += base::concat({names.empty() ? "" : ", ", name});
  }
  return names.empty() ? "" : " changes " + names + " of the plan";
}

// Warns if the start-up file of bash (BASH_ENV) undoes the plan. The file is the job's own, so the
// job still uses it. It is run here only for a job that runs bash, because it may start programs
// that read it again without an end.
void warn_of_start_up(const envgen::Plan& plan, const base::Environ& base,
                      std::int64_t deadline_ms) {
  const auto bash = std::ranges::find_if(plan.processes, runs_bash);
  if (bash == plan.processes.end()) return;
  const bool finds = std::ranges::any_of(plan.env, decides_what_is_found, &base::EnvEdit::name);
  if (!finds && bash->env.empty()) return;
  std::vector<base::EnvEdit> edits = plan.env;
  edits.insert(edits.end(), bash->env.begin(), bash->env.end());
  base::Environ planned = base;
  for (const base::EnvEdit& edit : edits) planned.apply(edit);
  const std::string_view file = planned.get_or(kStartUpFiles[0], "");
  if (file.empty() || ::access(kBash, X_OK) != 0) return;
  const std::string fault = start_up_fault(plan, edits, planned, deadline_ms);
  if (fault.empty()) return;
  sys::log::warning(
      base::concat({"BASH_ENV=", file, ", which each bash of the job reads first,", fault,
                    ": correct that file, or give the job an empty BASH_ENV"}));
}

base::Result<std::vector<base::EnvEdit>> sourced(const envgen::Plan& plan,
                                                 const base::Environ& base,
                                                 std::int64_t deadline_ms) {
  if (plan.shell.empty() || (plan.scripts.empty() && plan.leave_scripts.empty())) {
    return std::vector<base::EnvEdit>{};
  }
  TRY_ASSIGN(auto left, after_scripts(plan, plan.leave_scripts, base, deadline_ms));

  base::Environ planned = base;
  base::Environ entered = left;
  for (const base::EnvEdit& edit : plan.env) {
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

}  // namespace

base::Status source_scripts(envgen::Plan& plan, const base::Environ& environment,
                            std::int64_t timeout_ms) {
  const std::int64_t deadline_ms = sys::monotonic_ms() + timeout_ms;
  const base::Environ base = at_home(environment, plan.sandbox.identity);
  TRY_ASSIGN(auto edits, sourced(plan, base, deadline_ms));
  plan.env.insert(plan.env.end(), edits.begin(), edits.end());
  warn_of_start_up(plan, base, deadline_ms);
  return {};
}

}  // namespace engine
