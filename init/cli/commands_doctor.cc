// doctor: what is wrong with this machine, before a job finds out.

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/secrets.h"
#include "init/cli/commands.h"
#include "init/cli/files.h"
#include "init/cli/options.h"
#include "init/cli/values.h"
#include "init/doctor/doctor.h"
#include "init/doctor/parallel.h"
#include "init/engine/resolve/collect.h"
#include "init/sandbox/prepare.h"
#include "init/sys/facts.h"

namespace cli {
namespace {

constexpr int kFailedChecks = 1;

std::string doctor_usage() {
  std::string text =
      "trainit doctor [--only CHECK,...] [--json] [--junit FILE] [OPTIONS] [-- COMMAND [ARG...]]\n"
      "    checks this machine for the job that `run` with these options would start; 0 nothing\n"
      "    has failed, 1 something has, 125 doctor itself\n"
      "    --junit FILE        a JUnit report too; - for stdout, instead of the table\n"
      "    --timeout DURATION  of each check, all of which run at once (30s)\n"
      "Checks:\n";
  for (const doctor::Check& check : doctor::all_checks()) {
    constexpr std::size_t kColumns = 13;
    std::string line = "    " + std::string(check.name);
    if (line.size() < kColumns + 4) line.resize(kColumns + 4, ' ');
    text += line + std::string(check.help) + "\n";
  }
  return text + "OPTIONS are those of run: see trainit --help\n";
}

// The flags that only doctor has; the others are left in `rest`.
struct Line {
  std::string only;
  std::string junit;
  std::string timeout = "30s";
  std::vector<std::string> rest;
};

envgen::Result<Line> parse_line(Arguments arguments) {
  Line line;
  const std::array<std::pair<std::string_view, std::string*>, 3> flags = {
      {{"--only", &line.only}, {"--junit", &line.junit}, {"--timeout", &line.timeout}}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    const auto* flag =
        std::ranges::find(flags, name, &std::pair<std::string_view, std::string*>::first);
    if (argument == "--") {
      line.rest.insert(line.rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                       arguments.end());
      return line;
    }
    if (flag == flags.end()) {
      line.rest.push_back(argument);
    } else if (name.size() < argument.size()) {
      *flag->second = argument.substr(name.size() + 1);
    } else if (i + 1 < arguments.size()) {
      *flag->second = arguments[++i];
    } else {
      return envgen::fail("reading the options", argument, "no value", "see trainit doctor --help");
    }
  }
  return line;
}

envgen::Snapshot snapshot_of(const envgen::Environ& env, const Options& options) {
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
    context.env = snapshot.env;
  }
  if (const auto* pending = std::get_if<envgen::Pending>(&answer.outcome)) {
    context.pending = pending->path + ": " + pending->why;
  }
  if (const auto* error = std::get_if<envgen::Error>(&answer.outcome)) {
    context.plan_fault = envgen::mask_secrets(to_line(*error));
  }
  if (context.work_dir.empty()) context.work_dir = snapshot.facts.cwd;
  context.run_dir = snapshot.facts.run_dir;
  // Names of users and profiles are for `plan` to judge.
  if (auto prepared = sandbox::prepare(request.sandbox, request.strict)) {
    context.limits = std::move(prepared->sandbox.limits);
  }
  return context;
}

// Planning reads files of mounts that may hang; tried in a child first.
doctor::Context examine(const envgen::Snapshot& snapshot, const envgen::Request& request,
                        std::int64_t limit_ms) {
  const doctor::Part trial{.check = "plan", .run = [&snapshot, &request] {
                             context_of(snapshot, request);
                             return doctor::Results{{}};
                           }};
  doctor::Context context;
  const doctor::Results tried = doctor::run_all({&trial, 1}, limit_ms);
  if (tried[0].verdict != envgen::Verdict::kFailed) {
    context = context_of(snapshot, request);
    context.limit_ms = limit_ms;
    return context;
  }
  context.env = snapshot.env;
  context.limit_ms = limit_ms;
  context.plan_fault = "reading the job's files: " + to_line(tried[0]);
  return context;
}

int columns_of_terminal() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int show(const doctor::Results& results, const Line& line, const Options& options,
         const envgen::Snapshot& snapshot) {
  if (!line.junit.empty()) {
    const std::string report = results_to_junit(results, snapshot.facts.host_name);
    if (line.junit == "-") return print(report);
    auto status = write_output(line.junit, report, "writing the JUnit report");
    if (!status) return complain(status.error());
  }
  if (options.json) return print(results_to_json(results));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const bool colour = terminal && snapshot.env.get_or("NO_COLOR", "").empty();
  return print(results_to_text(results, colour, terminal ? columns_of_terminal() : 0));
}

}  // namespace

int doctor_command(Arguments arguments, const envgen::Environ& env) {
  auto line = parse_line(arguments);
  if (!line) return complain(line.error());
  auto options = parse_options(line->rest, env);
  if (!options) return complain(options.error());
  if (options->help) return print(doctor_usage());
  if (auto status = check_options(*options, env); !status) return complain(status.error());
  auto only = doctor::parse_check_names(line->only);
  if (!only) return complain(only.error());
  std::int64_t limit_ms = 0;
  if (!set_time(line->timeout, limit_ms)) {
    return complain({"reading the options", "--timeout", '"' + line->timeout + '"',
                     "give a duration above 0 such as 10s"});
  }
  envgen::Request& request = options->request;
  if (request.command.empty()) request.command = {"true"};
  const envgen::Snapshot snapshot = snapshot_of(env, *options);
  const doctor::Results results = doctor::run_checks(*only, examine(snapshot, request, limit_ms));
  const int printed = show(results, *line, *options, snapshot);
  if (printed != 0) return printed;
  return envgen::count_results(results).failed > 0 ? kFailedChecks : 0;
}

}  // namespace cli
