#include "init/engine/tasks/start.h"

#include <unistd.h>

#include <algorithm>

namespace engine {

using lifecycle::TaskKind;

namespace {

void add_end(const Job& job, const StartContext& context, base::Environ& env) {
  env.set("TRAINIT_EXIT_CODE", std::to_string(context.exit_code));
  env.unset("TRAINIT_FIRST_FAILURE");
  if (!job.start.first_failure.empty()) env.set("TRAINIT_FIRST_FAILURE", job.start.first_failure);
}

}  // namespace

bool is_foreign(const envgen::Plan& plan) {
  const envgen::Sandbox& sandbox = plan.sandbox;
  return sandbox.settings.given_up || (sandbox.identity && sandbox.identity->uid != ::geteuid());
}

base::Environ common_env(const Job& job, const StartContext& context, bool for_job) {
  base::Environ env = context.base.env;
  for (const std::string& name : context.own_variables) env.unset(name);
  // The job's user may have written the scripts, or may own the programs and libraries that the
  // edits select (PATH, LD_PRELOAD). A process with trainit's rights must not use them.
  if (for_job || !is_foreign(job.plan)) {
    for (const base::EnvEdit& edit : job.plan.env) env.apply(edit);
  }
  add_data_env(job.data, env);
  for (const base::EnvEdit& edit : job.start.exports) env.apply(edit);
  // A pass-through is never restarted, and its job gets the environment that exec would have passed
  // on.
  if (!context.pass_through || !for_job) {
    env.set("TRAINIT_RESTART_COUNT", std::to_string(context.restarts));
  }
  return env;
}

base::Environ watch_env(const Job& job, envgen::HookEvent event, const StartContext& context) {
  base::Environ env = common_env(job, context, false);
  for (const base::EnvEdit& edit : job.plan.hook_env) env.apply(edit);
  // A hook that is a bash script must not run BASH_ENV's file, which could change the plan's
  // environment.
  env.unset("BASH_ENV");
  unset_listen_fds(env);
  env.set("TRAINIT_HOOK", envgen::name_of(event));
  env.set("TRAINIT_PID", std::to_string(::getpid()));
  return env;
}

base::Environ hook_env(const Job& job, const TaskRecord& record, const StartContext& context) {
  base::Environ env = watch_env(job, *record.event, context);
  const bool ended = record.kind == TaskKind::kOnFailure || record.kind == TaskKind::kPostStop;
  if (ended) add_end(job, context, env);
  return env;
}

std::vector<std::string> forced_names(const envgen::Plan& plan) {
  std::vector<std::string> names;
  for (const envgen::Process& process : plan.processes) {
    for (const base::EnvEdit& edit : process.env) {
      // If the plan only prepends to a list, a hook may set the list.
      if (edit.kind != base::EnvEdit::Kind::kPutInFront) names.push_back(edit.name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

proc::SpawnSpec spec_of(const Job& job, const TaskRecord& record, const StartContext& context) {
  const envgen::Process& process = *planned(job, record);
  const bool main = record.kind == TaskKind::kMain;
  const bool alone = main && job.plan.processes.size() == 1;
  // A process of another user gets neither the caller's descriptors nor the caller's terminal: it
  // could push input into that (TIOCSTI). If trainit is PID 1, the terminal is the container's own.
  const bool of_job = main || process.of_job;
  const bool foreign = of_job && is_foreign(job.plan);
  const bool apart = !alone || (foreign && !context.pid1);
  proc::SpawnSpec spec;
  spec.argv = process.argv;
  spec.env =
      of_job && context.common != nullptr ? *context.common : common_env(job, context, of_job);
  for (const base::EnvEdit& edit : process.env) spec.env.apply(edit);
  spec.cwd = process.cwd == context.base.facts.cwd ? "" : process.cwd;
  spec.log_path = process.log;
  spec.cpus = process.cpus;
  spec.no_input = !main;
  spec.new_session = apart;
  spec.callers_group = !apart && context.callers_group;
  spec.foreground = !apart && !context.callers_group;
  // A single process gets the caller's descriptors, as by exec. With several processes it is not
  // known which one they are for.
  spec.callers_fds = alone && !foreign;
  spec.no_terminal = foreign && !context.pid1;
  spec.die_with_parent = !context.pid1;
  spec.share_memory = context.pass_through;
  if (of_job && !job.plan.sandbox.empty()) spec.sandbox = &job.plan.sandbox;
  // Only the first start has the descriptors of a socket activation.
  if (main && record.process == 0 && context.restarts == 0) {
    spec.inherited_fds = listen_fds(context.base.env);
  } else {
    // All other processes do not get these descriptors.
    unset_listen_fds(spec.env);
  }
  if (record.kind == TaskKind::kPostStop) add_end(job, context, spec.env);
  return spec;
}

void unset_listen_fds(base::Environ& env) {
  for (const char* name : {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}) env.unset(name);
}

int listen_fds(const base::Environ& env) {
  const std::string_view count = env.get_or("LISTEN_FDS", "");
  const bool small = !count.empty() && count.size() <= 3 &&
                     std::ranges::all_of(count, [](char c) { return c >= '0' && c <= '9'; });
  return small ? std::stoi(std::string(count)) : 0;
}

}  // namespace engine
