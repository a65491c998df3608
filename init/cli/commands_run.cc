#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/constants/words.h"
#include "base/nearest.h"
#include "base/text.h"
#include "envgen/resolve/hooks.h"
#include "init/cli/commands.h"
#include "init/cli/help.h"
#include "init/cli/options.h"
#include "init/engine/supervisor.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/start.h"
#include "init/sys/facts.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace cli {
namespace {

// Returns the names of trainit's variables that are set.
std::vector<std::string> own_variables(const base::Environ& env) {
  std::vector<std::string> names;
  const bool any = std::ranges::any_of(
      env.entries(), [](const std::string& entry) { return entry.starts_with("TRAINIT_"); });
  if (!any) return names;
  for (const Option& option : option_table()) {
    // The run directory stays set, because `trainit status` inside the job needs it.
    if (!has_variable(option) || option.name == "run-dir") continue;
    for (std::string& name : variable_names(option)) {
      if (env.get(name) || !env.service_link(name).empty()) names.push_back(std::move(name));
    }
  }
  return names;
}

bool may_have_hooks(const early::Handover& early) {
  if (early.started != 0) return early.hooks;  // the command may have made the directory
  if (::access(envgen::kHooksDirectory, F_OK) == 0) return true;
  return errno != ENOENT && errno != ENOTDIR;
}

// Sets the signal that the kernel sends when the parent dies. If the parent has already died, the
// kernel does not send it, so the signal is returned to be handled as if received. (The loop
// ignores signals that trainit sends to itself.)
std::optional<proc::Received> die_with_parent(int signal, pid_t first_parent) {
  ::prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
  if (::getppid() == first_parent) return std::nullopt;
  if (signal == SIGKILL) ::kill(::getpid(), signal);
  return proc::Received{.signal = signal};
}

// Returns a hint for a command that begins with a dash. The image's entrypoint can be
// ["trainit", "--"], so that options of trainit are taken for the command.
std::string dash_hint(const std::vector<std::string>& command) {
  const std::string& word = command[0];
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  const std::string_view typed = std::string_view(word).substr(dashes);
  const std::string_view name = typed.substr(0, typed.find('='));
  if (word == "--") return "leave out the second --";
  if (name == "help" || name == "h") return "for help: docker run --entrypoint trainit IMAGE help";
  if (name == "version") return "for the version: docker run --entrypoint trainit IMAGE --version";
  WordList names;
  for (const Option& option : option_table()) {
    if (!has_variable(option) || (option.commands & kRun) == 0) continue;
    names.push_back(option.name);
    if (!option.earlier.empty()) names.push_back(option.earlier);
    if (!is_called(option, name)) continue;
    std::string value = option.value.empty() ? "1" : std::string(option.value);
    if (name.size() < typed.size()) {
      value = typed.substr(name.size() + 1);
    } else if (!option.value.empty() && command.size() > 1) {
      value = command[1];
    }
    return concat({"--", name, " is an option of trainit: set ", variable_name(option), "=", value,
                   " (docker run -e), or put it before --"});
  }
  if (const auto foreign = foreign_option_hint(name); !foreign.empty()) return std::string(foreign);
  const std::string_view here = name_here(name);
  const std::string_view guess = here.empty() ? base::nearest(name, names) : here;
  return concat({guess.empty() ? "" : concat({"did you mean --", guess, "? "}),
                 "Options of trainit come before --, those of a program behind its name"});
}

// Words of other tools that users of containers type, and of shells.
struct ForeignWord {
  std::string_view word;
  std::string_view hint;
};
constexpr std::string_view kMeansStatus = "did you mean `trainit status`?";
constexpr std::string_view kStopsJob =
    "to stop the job, send SIGTERM to trainit, as `docker stop` does";
constexpr std::string_view kRestartsJob =
    "restart the container to run its job again; with --max-restarts, trainit restarts a failed "
    "job";
constexpr std::string_view kOfShells =
    "only a shell has it; give a shell the whole line: bash -c 'cd DIR && COMMAND'";
constexpr std::string_view kOfKubectl =
    "it is a command of kubectl, which runs outside the container";
constexpr ForeignWord kForeignWords[] = {
    {"logs", "docker logs CONTAINER shows the job's output; `trainit report` shows its end"},
    {"ps", kMeansStatus},
    {"top", kMeansStatus},
    {"describe", kMeansStatus},
    {"get", kMeansStatus},
    {"inspect", kMeansStatus},
    {"attach",
     "docker attach CONTAINER shows the job's output; `trainit status --watch` its state"},
    {"stop", kStopsJob},
    {"kill", kStopsJob},
    {"rm", kStopsJob},
    {"delete", kStopsJob},
    {"start", "leave out start: trainit starts the command"},
    {"restart", kRestartsJob},
    {"apply", kOfKubectl},
    {"rollout", kOfKubectl},
    {"cd", kOfShells},
    {"export", kOfShells},
    {"source", kOfShells},
    {"ulimit", kOfShells},
    {"exec", "leave out exec: trainit starts the command without a shell"}};

// Returns how to run trainit's own command `word` where the image's entrypoint takes each word for
// the job's command. Some commands ask the trainit of a running job.
std::string own_command_hint(std::string_view word) {
  const bool asks = std::ranges::any_of(command_table(), [word](const Command& command) {
    return first_word(command) == word && (command.bit & (kInstance | kRunReport)) != 0;
  });
  return concat({"for trainit's own command: docker ",
                 asks ? "exec CONTAINER trainit " : "run --entrypoint trainit IMAGE ", word});
}

// Returns what to do without a command. An image whose entrypoint is ["trainit", "--"] has lost the
// CMD of its base image.
std::string missing_command_hint(Arguments arguments) {
  if (arguments.size() != 1 || arguments[0] != "--") {
    return "name the program to run: trainit -- python train.py";
  }
  return "give the training command: docker run IMAGE python3 train.py, or CMD in the Dockerfile "
         "(ENTRYPOINT drops the base image's CMD)";
}

// Reports the error by the log, which never blocks on the reader of stderr.
int refuse(const char* termination_log, const base::Error& error) {
  sys::log::error(to_line(error));
  const sys::Fd lock = engine::lock_termination_log(termination_log);
  if (!lock.valid()) return kFailed;
  engine::write_termination_log(termination_log, "trainit: " + to_line(error) + "\n");
  return kFailed;
}

// Fills `setup`, or returns the exit code of a command that starts no job. This code is not in
// run_command(), because the frame of run_command() stays on PID 1's stack until the job ends.
[[gnu::noinline]] std::optional<int> set_up(Arguments arguments, const base::Environ& env,
                                            const early::Handover& early, engine::Setup& setup) {
  ImageTrust trust;
  auto options = take_options(arguments, env, kRun, trust);
  if (options && options->help) return print_as_is(usage());
  if (options && options->version) return print_as_is(version());
  // Read them before trainit opens a descriptor of its own.
  setup.callers_fds = sys::open_descriptors(3);
  const Options defaults;
  const Options& shown = options ? *options : defaults;
  const base::Status checked = options ? check_options(*options, env) : base::Status();
  // A usage error is for the person who has typed the command, who needs no time.
  const bool usable = options && checked && !options->request.command.empty();
  sys::log::open(shown.log_level, shown.log_format, usable);
  // An untrusted image could make the file a symlink.
  if (trust.untrusted && ::geteuid() == 0) setup.termination_log = nullptr;
  if (!options) return refuse(setup.termination_log, options.error());
  for (const std::string& line : trust.lines) sys::log::warning(line);
  if (!checked) return refuse(setup.termination_log, checked.error());
  for (const std::string& warning : variable_warnings(env)) sys::log::warning(warning);
  if (options->request.command.empty()) {
    if (arguments.empty()) print_as_is(usage());
    return refuse(setup.termination_log,
                  {"reading the command line", "", "no command", missing_command_hint(arguments)});
  }
  if (options->parent_death_signal) {
    setup.received =
        die_with_parent(*options->parent_death_signal, early.blocked ? early.parent : ::getppid());
  }
  setup.version = TRAINIT_VERSION;
  setup.command_hint = command_hint(arguments, options->request.command);
  setup.base.argv.assign(arguments.begin(), arguments.end());
  setup.base.env = env;
  set_run_dir(setup.base.env, options->run_dir);
  if (trust.untrusted) engine::unset_listen_fds(setup.base.env);  // the descriptors are closed
  setup.request = std::move(options->request);
  setup.started = early.started;
  setup.ended_well = early.ended_well;
  if (early.received) setup.received = proc::from_siginfo(early.signal);
  setup.own_variables = own_variables(env);
  setup.has_hooks = may_have_hooks(early);
#if !defined(__SANITIZE_ADDRESS__)  // the sanitizer searches for leaks at exit
  setup.ends_process = true;
#endif
  return std::nullopt;
}

}  // namespace

std::string command_hint(Arguments arguments, const std::vector<std::string>& command) {
  const std::string& word = command[0];
  if (word.find('/') != std::string::npos) return "";
  if (word.starts_with('-')) return dash_hint(command);
  const std::size_t at = arguments.size() - command.size();
  const bool in_image = at > 0 && arguments[at - 1] == "--";
  const auto* foreign = std::ranges::find(kForeignWords, word, &ForeignWord::word);
  if (foreign != std::end(kForeignWords)) {
    const bool shows_status = foreign->hint == kMeansStatus;
    return in_image && shows_status ? own_command_hint("status") : std::string(foreign->hint);
  }
  WordList words = command_words();
  if (in_image) {
    // A program was meant, unless trainit itself has the command.
    const bool own = word == "help" || std::ranges::find(words, word) != words.end();
    return own ? own_command_hint(word) : "";
  }
  std::erase(words, "run");  // srun and prun are launchers
  const std::string_view guess = base::nearest(word, words);
  return guess.empty() ? "" : concat({"did you mean `trainit ", guess, "`?"});
}

int run_command(Arguments arguments, const base::Environ& env, const proc::SavedSignals& saved,
                const early::Handover& early) {
  engine::Setup setup;
  setup.saved = saved;
  if (const auto code = set_up(arguments, env, early, setup)) return *code;
  return engine::supervise(setup);
}

// print-environment FD: replaces a job's shell after it has sourced scripts. Not for users.
int environment_command(Call& call) {
  const std::vector<std::string>& words = call.options.operands;
  const auto fd = words.size() == 1 ? base::parse_count<int>(words[0]) : std::nullopt;
  if (!fd) return complain({"printing the environment", "", "no descriptor", ""});
  std::string bytes;
  for (const std::string& entry : call.env.entries()) bytes.append(entry).push_back('\0');
  bytes.insert(0, "E " + std::to_string(bytes.size()) + "\n");
  if (sys::write_all(*fd, bytes) == bytes.size()) return 0;
  return complain({"printing the environment", "descriptor " + std::to_string(*fd),
                   sys::errno_text(errno), ""});
}

}  // namespace cli
