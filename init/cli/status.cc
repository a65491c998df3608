// status, release, hold: talking to the instance that runs.

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "init/cli/commands.h"
#include "init/cli/options.h"
#include "init/engine/control.h"
#include "init/engine/state.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"

namespace cli {
namespace {

constexpr int kNoInstance = 2;
constexpr int kWatchPollMs = 200;

envgen::Result<Options> options_of(Arguments arguments, envgen::Environ& env) {
  auto options = parse_options(arguments, env);
  if (!options) return options;
  set_run_dir(env, options->run_dir);
  if (!options->request.command.empty()) {
    return envgen::fail("reading the command line", options->request.command[0],
                        "an argument that is no option", "see trainit --help");
  }
  return options;
}

// 0 running or ended well, 1 failed or held, 2 no instance.
int code_of(const engine::JobReport& report, bool in_use) {
  if (!in_use && report.exit_code < 0) return kNoInstance;  // killed before it could say more
  if (report.exit_code > 0 || report.state == "error" || report.state == "expired" ||
      report.phase == "hold")
    return 1;
  return 0;
}

struct Look {
  std::string text;  // of the state file
  bool in_use = false;
};

Look look_at(const std::string& run_dir) {
  Look look;
  if (run_dir.empty()) return look;
  look.in_use = sys::run_dir_in_use(run_dir);
  look.text = sys::look(run_dir + "/state.json", true).content;
  return look;
}

int show(const Look& look, const std::string& run_dir, const Options& options) {
  if (look.text.empty()) {
    complain({"asking for the status", run_dir.empty() ? "the run directory" : run_dir,
              "no instance of trainit",
              "run it inside the container, as the same user; TRAINIT_RUN_DIR must be the same"});
    return kNoInstance;
  }
  auto report = engine::state_from_json(look.text, run_dir + "/state.json");
  if (!report) return complain(report.error());
  int code = code_of(*report, look.in_use);
  std::string text =
      options.json ? look.text : engine::state_to_text(*report, ::isatty(STDOUT_FILENO) == 1);
  if (code == kNoInstance && !options.json) {
    text += "no instance runs: it was killed before it could end the job\n";
  }
  int printed = print(text);
  return printed == 0 ? code : printed;
}

int ask(Arguments arguments, envgen::Environ env, const engine::ControlRequest& request) {
  auto options = options_of(arguments, env);
  if (!options) return complain(options.error());
  if (options->help) return print(usage());
  std::string run_dir = sys::find_run_dir(env);
  auto answer = engine::send_control(run_dir, request);
  if (!answer) {
    complain(answer.error());
    return kNoInstance;
  }
  switch (*answer) {
    case engine::ControlAnswer::kDone:
      return 0;
    case engine::ControlAnswer::kNotNow:
      complain({"asking the instance", run_dir, "no debug window",
                "it opens when a job fails and --hold was given"});
      return 1;
    case engine::ControlAnswer::kRefused:
      return complain({"asking the instance", run_dir, "another user's instance",
                       "use root or the user that it runs as"});
    case engine::ControlAnswer::kUnknown:
      return complain({"asking the instance", run_dir, "another version of trainit",
                       "use the container's own binary"});
  }
  return kFailed;
}

}  // namespace

int status_command(Arguments arguments, const envgen::Environ& env) {
  envgen::Environ own = env;
  auto options = options_of(arguments, own);
  if (!options) return complain(options.error());
  if (options->help) return print(usage());
  std::string run_dir = sys::find_run_dir(own);
  Look last = look_at(run_dir);
  int code = show(last, run_dir, *options);
  while (options->watch && last.in_use && code != kFailed) {
    ::poll(nullptr, 0, kWatchPollMs);
    Look now = look_at(run_dir);
    bool changed = now.text != last.text || now.in_use != last.in_use;
    last = std::move(now);
    if (changed) code = show(last, run_dir, *options);
  }
  return code;
}

int release_command(Arguments arguments, const envgen::Environ& env) {
  return ask(arguments, env, {engine::ControlOp::kRelease, 0});
}

// `hold 2h` and `hold --for 2h`, among the options.
int hold_command(Arguments arguments, const envgen::Environ& env) {
  constexpr std::string_view kFor = "--for";
  std::vector<std::string> rest;
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (argument == kFor && i + 1 < arguments.size()) {
      text = arguments[++i];
    } else if (argument.starts_with(kFor) && argument.substr(kFor.size()).starts_with('=')) {
      text = argument.substr(kFor.size() + 1);
    } else if (text.empty() && parse_duration_ms(argument)) {
      text = argument;
    } else {
      rest.emplace_back(argument);
    }
  }
  auto duration = parse_duration_ms(text);
  bool help = std::ranges::any_of(
      rest, [](const std::string& word) { return word == "--help" || word == "-h"; });
  if (!duration && !help) {
    if (text.empty() && !rest.empty()) text = rest.back();
    return complain({"reading the options", "hold", text.empty() ? "no duration" : '"' + text + '"',
                     "say how long from now: trainit hold --for 2h"});
  }
  return ask(rest, env, {engine::ControlOp::kHold, duration.value_or(0)});
}

}  // namespace cli
