// doctor: finds faults of this machine before a job does.

#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "base/secrets/secrets.h"
#include "init/cli/commands.h"
#include "init/cli/files.h"
#include "init/doctor/doctor.h"
#include "init/doctor/parallel.h"
#include "init/engine/resolve/collect.h"
#include "init/sandbox/prepare.h"
#include "init/sys/facts.h"

namespace cli {
namespace {

constexpr int kFailedChecks = 1;

envgen::Snapshot snapshot_of(const base::Environ& env, const Options& options) {
  envgen::Snapshot snapshot;
  snapshot.env = env;
  set_run_dir(snapshot.env, options.run_dir);
  snapshot.facts = sys::gather_facts();
  snapshot.facts.run_dir = sys::find_run_dir(snapshot.env);
  return snapshot;
}

doctor::Context context_of(envgen::Snapshot snapshot, const envgen::Request& request) {
  doctor::Context context;
  const envgen::Answer answer = engine::collect_and_resolve(snapshot, request);
  if (const auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) {
    context = doctor::context_of(planned->plan, snapshot.env);
  } else {
    context.env = context.start = snapshot.env;
  }
  if (const auto* pending = std::get_if<envgen::Pending>(&answer.outcome)) {
    context.pending = pending->path + ": " + pending->why;
  }
  if (const auto* error = std::get_if<base::Error>(&answer.outcome)) {
    context.plan_fault = base::mask_secrets(to_line(*error));
  }
  if (context.work_dir.empty()) context.work_dir = snapshot.facts.cwd;
  context.run_dir = snapshot.facts.run_dir;
  // Errors about names of users and profiles are left to `plan`.
  if (auto prepared = sandbox::prepare(request.sandbox, request.strict)) {
    context.limits = std::move(prepared->sandbox.limits);
  }
  return context;
}

// Plans the job, first in a child: planning reads files on mounts that can hang.
doctor::Context examine(const envgen::Snapshot& snapshot, const envgen::Request& request,
                        std::int64_t limit_ms) {
  const doctor::Part trial{.check = "plan", .run = [&snapshot, &request] {
                             context_of(snapshot, request);
                             return doctor::Results{{}};
                           }};
  doctor::Context context;
  const doctor::Results tried = doctor::run_all({&trial, 1}, limit_ms);
  if (tried[0].verdict != doctor::CheckStatus::kFailed) {
    context = context_of(snapshot, request);
    context.limit_ms = limit_ms;
    return context;
  }
  context.env = context.start = snapshot.env;
  context.limit_ms = limit_ms;
  context.plan_fault = "reading the job's files: " + to_line(tried[0]);
  return context;
}

int columns_of_terminal() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int show(const doctor::Results& results, const Options& options, const envgen::Snapshot& snapshot) {
  if (!options.junit.empty()) {
    const std::string report = results_to_junit(results, snapshot.facts.host_name);
    if (options.junit == "-") return print_as_is(report);
    auto status = write_output(options.junit, report, "writing the JUnit report");
    if (!status) return complain(status.error());
  }
  if (options.json) return print_as_is(results_to_json(results));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const bool colour = terminal && snapshot.env.get_or("NO_COLOR", "").empty();
  return print_as_is(results_to_text(results, colour, terminal ? columns_of_terminal() : 0));
}

}  // namespace

int doctor_command(Call& call) {
  Options& options = call.options;
  if (auto status = check_options(options, call.env); !status) return complain(status.error());
  envgen::Request& request = options.request;
  if (request.command.empty()) request.command = {"true"};
  const envgen::Snapshot snapshot = snapshot_of(call.env, options);
  const doctor::Results results =
      doctor::run_checks(options.checks, examine(snapshot, request, options.check_timeout_ms));
  const int printed = show(results, options, snapshot);
  if (printed != 0) return printed;
  return doctor::count_results(results).failed > 0 ? kFailedChecks : 0;
}

}  // namespace cli
