#include "init/cli/control.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "init/cli/values.h"
#include "init/engine/state/status_text.h"

namespace cli {
namespace {

using engine::ControlAnswer;
using engine::ControlOp;
using engine::ControlReply;
using engine::ControlRequest;

constexpr std::string_view kFor = "--for";
constexpr std::string_view kKeepRunning = "--keep-running";

std::string done_text(const ControlRequest& request, std::int64_t value_ms) {
  const std::string span = engine::span_text(value_ms);
  switch (request.op) {
    case ControlOp::kRelease:
      return "the debug window ends";
    case ControlOp::kHold:
      return value_ms > 0 ? "the debug window ends in " + span : "the debug window ends";
    case ControlOp::kExtend:
      return "the job's time limit ends it in " + span;
    case ControlOp::kCheckpoint:
      if (request.keep_running) return "the job was asked for a checkpoint and goes on";
      if (value_ms == 0) return "the job ends at once, with exit code 75";
      return "the job was asked for a checkpoint, which it has " + span +
             " for; then it ends with exit code 75";
  }
  return "";
}

envgen::Error not_now(const ControlRequest& request) {
  switch (request.op) {
    case ControlOp::kRelease:
    case ControlOp::kHold:
      return {"", "", "no debug window", "it opens when a job fails and --hold was given"};
    case ControlOp::kExtend:
      return {"", "", "a job that is being ended, or has ended",
              "a debug window is made longer by: trainit hold --for 2h"};
    case ControlOp::kCheckpoint:
      return {"", "", "a job that does not run yet, or no longer runs", "see: trainit status"};
  }
  return {};
}

envgen::Error refusal(const ControlRequest& request, ControlAnswer answer) {
  switch (answer) {
    case ControlAnswer::kNotNow:
      return not_now(request);
    case ControlAnswer::kRefused:
      return {"", "", "another user's instance", "use root or the user that it runs as"};
    case ControlAnswer::kBusy:
      return {"", "", "a checkpoint that is under way", "see: trainit status --watch"};
    case ControlAnswer::kRestarts:
      return {"", "", "a job that restarts on failure (--max-restarts), so it is not ended for one",
              "save and go on with: trainit checkpoint --keep-running"};
    case ControlAnswer::kNoLimit:
      return {"", "", "a job without a time limit", "it goes on until it ends by itself"};
    case ControlAnswer::kNoCheckpoint:
      return {"", "", "a job that nothing can ask for a checkpoint",
              "start it with --checkpoint-signal, or put hooks into checkpoint.d"};
    default:
      return {"", "", "another version of trainit",
              "use the binary that the container was started with"};
  }
}

bool asks_for_help(const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

// `hold 2h` and `hold --for 2h`, among the options.
envgen::Result<Asked> parse_duration_request(std::string_view name, ControlOp op,
                                             Arguments arguments) {
  Asked asked{.request = {.op = op}, .rest = {}};
  std::optional<std::string> text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == kFor && i + 1 < arguments.size()) {
      text = arguments[++i];
    } else if (argument.starts_with(kFor) && argument.substr(kFor.size()).starts_with('=')) {
      text = argument.substr(kFor.size() + 1);
    } else if (!text && parse_duration_ms(argument)) {
      text = argument;
    } else {
      asked.rest.emplace_back(argument);
    }
  }
  const auto duration = text ? parse_duration_ms(*text) : std::nullopt;
  asked.request.argument_ms = duration.value_or(0);
  if (duration || asks_for_help(asked.rest)) return asked;
  if (!text && !asked.rest.empty()) text = asked.rest.back();
  return envgen::fail("reading the options", std::string(name),
                      text ? '"' + *text + '"' : "no duration",
                      "say how long, at most 366d: trainit " + std::string(name) + " --for 2h");
}

}  // namespace

envgen::Result<Options> options_alone(Arguments arguments, envgen::Environ& env) {
  auto options = parse_options(arguments, env);
  if (!options) return options;
  set_run_dir(env, options->run_dir);
  if (!options->request.command.empty()) {
    return envgen::fail("reading the command line", options->request.command[0],
                        "an argument that is no option", "see trainit --help");
  }
  return options;
}

envgen::Result<Asked> parse_request(std::string_view name, Arguments arguments) {
  if (name == "hold") return parse_duration_request(name, ControlOp::kHold, arguments);
  if (name == "extend") return parse_duration_request(name, ControlOp::kExtend, arguments);
  Asked asked;
  if (name == "checkpoint") asked.request.op = ControlOp::kCheckpoint;
  for (const std::string& argument : arguments) {
    if (name == "checkpoint" && argument == kKeepRunning) {
      asked.request.keep_running = true;
    } else {
      asked.rest.push_back(argument);
    }
  }
  return asked;
}

envgen::Result<std::string> describe_reply(const ControlRequest& request, const ControlReply& reply,
                                           const std::string& run_dir) {
  if (reply.answer == ControlAnswer::kDone) return done_text(request, reply.value_ms);
  envgen::Error error = refusal(request, reply.answer);
  error.what = "asking the instance";
  error.where = run_dir;
  return std::unexpected(std::move(error));
}

int code_of(ControlAnswer answer) {
  if (answer == ControlAnswer::kDone) return 0;
  return answer == ControlAnswer::kUnknown ? kFailed : kNotNow;
}

int no_instance(const std::string& what, const std::string& run_dir) {
  complain({what, run_dir.empty() ? "the run directory" : run_dir,
            "no instance of trainit of this user",
            "run it inside the container, as the same user; TRAINIT_RUN_DIR must be the same"});
  return kNoInstance;
}

}  // namespace cli
