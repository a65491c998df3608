// plan and snapshot: run, stopped before the first action.

#include "base/constants/words.h"
#include "envgen/plan/command.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/parsed_command.h"
#include "envgen/show/plan_text.h"
#include "init/cli/commands.h"
#include "init/engine/hooks/hook_look.h"
#include "init/engine/policies.h"
#include "init/engine/report/job_messages.h"
#include "init/engine/resolve/collect.h"
#include "init/engine/resolve/start_values.h"
#include "init/proc/exec.h"
#include "init/sandbox/prepare.h"
#include "init/sys/cgroup.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"
#include "init/sys/path_state.h"

namespace cli {
namespace {

struct Case {
  envgen::Snapshot snapshot;
  Options options;
  bool replayed = false;
};

base::Result<envgen::Snapshot> read_snapshot(const std::string& path) {
  envgen::PathState state = sys::inspect(path, true);
  if (state.kind != envgen::PathState::Kind::kFile) {
    std::string found = state.kind == envgen::PathState::Kind::kAbsent ? "no such file"
                        : state.kind == envgen::PathState::Kind::kDirectory
                            ? "a directory"
                            : sys::errno_text(state.error);
    return base::fail("reading a snapshot", path, found,
                      "use a file that `trainit snapshot` wrote");
  }
  return envgen::snapshot_from_json(state.content, path);
}

// Replays a snapshot. The options are those of the snapshot, with those of the command line on top.
base::Result<Case> replayed_case(Arguments arguments, const Options& given) {
  Case result;
  result.replayed = true;
  TRY_ASSIGN(result.snapshot, read_snapshot(given.snapshot));
  TRY_ASSIGN(result.options, parse_options(result.snapshot.argv, result.snapshot.env, kPlan));
  TRY(parse_arguments(arguments, result.options));
  return result;
}

base::Result<Case> make_case(Call& call) {
  Case result;
  if (!call.options.snapshot.empty()) {
    TRY_ASSIGN(result, replayed_case(call.arguments, call.options));
  } else {
    result.options = std::move(call.options);
    result.snapshot.argv.assign(call.arguments.begin(), call.arguments.end());
    result.snapshot.env = call.env;
    set_run_dir(result.snapshot.env, result.options.run_dir);
    result.snapshot.facts = sys::gather_facts();
    result.snapshot.facts.run_dir = sys::find_run_dir(result.snapshot.env);
  }
  TRY(check_options(result.options, result.snapshot.env));
  return result;
}

envgen::Answer answer_of(Case& one) {
  if (!one.replayed) return engine::collect_and_resolve(one.snapshot, one.options.request);
  envgen::Answer answer = envgen::resolve(one.snapshot, one.options.request);
  const auto* pending = std::get_if<envgen::Pending>(&answer.outcome);
  if (pending != nullptr && pending->path.empty() && !answer.wants.empty()) {
    answer.outcome =
        base::Error{"replaying the snapshot", one.options.snapshot,
                    "nothing about " + answer.wants[0].path, "save it again with the same options"};
  }
  return answer;
}

// Adds the sandbox to the plan. A replay cannot check it, because the snapshot does not contain the
// other machine's users, limits and capabilities.
base::Status confine(envgen::Plan& plan, const Case& one) {
  const envgen::Request& request = one.options.request;
  if (one.replayed) {
    envgen::confine_unprepared(plan, request.sandbox);
    return {};
  }
  TRY_ASSIGN(auto prepared, sandbox::prepare(request.sandbox, request.strict));
  plan.warnings.insert(plan.warnings.end(), prepared.warnings.begin(), prepared.warnings.end());
  envgen::confine(plan, std::move(prepared.sandbox));
  std::string oom_group = sys::oom_group_warning();
  if (!oom_group.empty()) plan.warnings.push_back(std::move(oom_group));
  return {};
}

// Returns the script that an interpreter would read, or "".
std::string script_of(const envgen::Process& process) {
  const envgen::ParsedCommand command(process.argv);
  const auto& python = command.python();
  if (python && !python->module && !python->text) {
    return command[python->operand];
  }
  return python ? "" : command.shell_script();
}

// Returns the place that lacks a script. A rank whose directory the plan makes gets the script's
// path from the directory where trainit was started.
std::string missing_script(const envgen::Plan& plan, const envgen::Process& process,
                           const std::string& script, const std::string& started_in) {
  const bool own_directory =
      process.cwd != started_in &&
      std::ranges::find(plan.directories, process.cwd, &envgen::PlannedDirectory::path) !=
          plan.directories.end();
  const std::string searched = envgen::join_path(started_in, script);
  const bool absent = sys::inspect(searched, false).kind == envgen::PathState::Kind::kAbsent;
  if (own_directory && absent && !script.starts_with('/')) {
    return concat({"found no ", script, " in ", started_in, ", where trainit was started"});
  }
  return concat({"its script ", envgen::join_path(process.cwd, script), " does not exist"});
}

// Returns a warning if a process could not start. The plan remains valid, because a hook can still
// create the program, and a script can change PATH.
std::string start_warning(const envgen::Plan& plan, const Case& one) {
  const envgen::Process& process = plan.processes[0];
  base::Environ env = one.snapshot.env;
  if (process.argv.empty()) return "";
  for (const base::EnvEdit& edit : plan.env) env.apply(edit);
  for (const base::EnvEdit& edit : process.env) env.apply(edit);
  std::vector<std::string> argv = process.argv;
  const bool searched = argv[0].find('/') == std::string::npos;
  if (searched && !plan.scripts.empty()) return "";
  if (!searched) argv[0] = envgen::join_path(process.cwd, argv[0]);
  if (auto fault = proc::Program(argv, env).find_fault()) {
    const std::vector<std::string>& typed = one.options.request.command;
    if (process.argv == typed) proc::give_hint(*fault, command_hint(one.snapshot.argv, typed));
    return concat({process.name, " would not start: ", engine::start_text(*fault)});
  }
  const std::string script = script_of(process);
  const std::string path = envgen::join_path(process.cwd, script);
  if (script.empty() || sys::inspect(path, false).kind != envgen::PathState::Kind::kAbsent) {
    return "";
  }
  return concat({process.name,
                 " would fail: ", missing_script(plan, process, script, one.snapshot.facts.cwd),
                 "; correct the path"});
}

// Names that training scripts give their own options as well, often in a module or a dataclass, so
// that the text of the script does not have them.
constexpr auto kCommonNames =
    base::words("data", "data-root", "data-workers", "dataset", "device-id", "devices", "framework",
                "hosts", "log-dir", "log-format", "log-level", "master-addr", "master-port", "nice",
                "node-rank", "nodes", "output", "platform", "progress", "signal", "strict",
                "timeline", "timeout", "user", "verify", "work-dir", "workers");

// Returns a warning about options of trainit behind the script that the script's text does not
// have. They do not reach trainit. An option with a common name is only noted on stderr.
std::string misplaced_warning(const envgen::Process& process) {
  const std::string script = script_of(process);
  const auto at = std::ranges::find(process.argv, script);
  if (script.empty() || at == process.argv.end()) return "";
  const auto file = sys::inspect(envgen::join_path(process.cwd, script), true);
  if (file.kind != envgen::PathState::Kind::kFile) return "";
  for (const std::string& argument : std::span(at + 1, process.argv.end())) {
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    std::string spelt = name;
    std::ranges::replace(spelt, '-', '_');
    const bool ours = std::ranges::any_of(option_table(), [&name](const Option& option) {
      return is_called(option, name) && (option.commands & kRun) != 0;
    });
    if (!ours || file.content.contains(name) || file.content.contains(spelt)) continue;
    if (std::ranges::find(kCommonNames, name) != std::end(kCommonNames)) {
      remark(concat({"note: --", name, " goes to ", script, "; trainit's own --", name,
                     " comes before the command"}));
      continue;
    }
    return concat({process.name, " gets --", name, ", which ", script,
                   " does not name; if trainit is meant, put it before the command"});
  }
  return "";
}

// Adds to a snapshot what decides whether the plan's hooks run.
void look_at_hooks(const envgen::Plan& plan, envgen::Snapshot& snapshot) {
  if (plan.hooks.empty()) return;
  for (const envgen::HookGroup& group : plan.hooks) {
    for (const std::string& path : group.paths) {
      snapshot.paths[path].content = path == group.script ? "" : engine::hook_head(path);
    }
  }
  auto [devices, added] = snapshot.paths.try_emplace(envgen::kDevicesDirectory);
  if (added) devices->second = sys::inspect(envgen::kDevicesDirectory, true);
}

int show(envgen::Plan plan, Case& one) {
  // The ranks differ only in their numbers, so checking one is enough.
  if (!one.replayed && !plan.processes.empty()) {
    std::string warning = start_warning(plan, one);
    if (!warning.empty()) plan.warnings.push_back(std::move(warning));
    warning = misplaced_warning(plan.processes[0]);
    if (!warning.empty()) plan.warnings.push_back(std::move(warning));
    auto status = engine::fill_scheduler(plan, one.snapshot, 0, [](const std::string&) {});
    if (!status) plan.warnings.push_back(to_line(status.error()));
  }
  if (!one.replayed) look_at_hooks(plan, one.snapshot);
  if (auto status = confine(plan, one); !status) return complain(status.error());
  for (std::string& warning : engine::policy_warnings(plan)) {
    plan.warnings.push_back(std::move(warning));
  }
  const base::Environ& env = one.snapshot.env;
  if (one.options.json) return print_as_is(plan_to_json(plan, env));
  const envgen::SummaryFacts facts = {.command = one.options.request.command,
                                      .run_dir = one.snapshot.facts.run_dir,
                                      .hooks = envgen::notes_of_hooks(plan, one.snapshot)};
  return print(one.options.verbose ? plan_listing(plan, env, facts.hooks)
                                   : plan_summary(plan, env, facts));
}

}  // namespace

int plan_command(Call& call) {
  auto one = make_case(call);
  if (!one) return complain(one.error());
  envgen::Answer answer = answer_of(*one);
  if (const auto* error = std::get_if<base::Error>(&answer.outcome)) return complain(*error);
  if (const auto* pending = std::get_if<envgen::Pending>(&answer.outcome)) {
    return show(pending->plan, *one);
  }
  return show(std::move(std::get<envgen::Planned>(answer.outcome).plan), *one);
}

int snapshot_command(Call& call) {
  auto one = make_case(call);
  if (!one) return complain(one.error());
  // An error is part of the snapshot's purpose.
  const envgen::Answer answer = answer_of(*one);
  const auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
  if (planned != nullptr && !one->replayed) look_at_hooks(planned->plan, one->snapshot);
  return print_as_is(to_json(one->snapshot, true));
}

}  // namespace cli
