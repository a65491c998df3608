#include "init/cli/control.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text.h"
#include "init/cli/invocation.h"
#include "init/engine/state/status_text.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"

namespace cli {
namespace {

using engine::ControlAnswer;
using engine::ControlOp;
using engine::ControlReply;
using engine::ControlRequest;

std::string done_text(const ControlRequest& request, std::int64_t value_ms) {
  const std::string span = engine::span_text(value_ms);
  switch (request.op) {
    case ControlOp::kRelease:
      return "the debug window ends";
    case ControlOp::kHold:
      return value_ms > 0 ? "the debug window ends in " + span : "the debug window ends";
    case ControlOp::kStacks:
      return "";  // the files say it
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

// Of /proc/<pid>/status: "<field>\t<real>\t<effective>\t...".
std::optional<std::uint32_t> effective_id(std::string_view status, std::string_view field) {
  const std::size_t at = status.find(field);
  if (at == std::string_view::npos) return std::nullopt;
  status.remove_prefix(at + field.size() + 1);
  status.remove_prefix(std::min(status.find('\t') + 1, status.size()));
  return envgen::parse_count<std::uint32_t>(status.substr(0, status.find('\t')));
}

// Whose container this is.
std::optional<envgen::Identity> user_of_init() {
  const std::string status = sys::inspect("/proc/1/status", true).content;
  const auto uid = effective_id(status, "\nUid:");
  const auto gid = effective_id(status, "\nGid:");
  if (!uid || !gid) return std::nullopt;
  return envgen::Identity{.uid = *uid, .gid = *gid, .groups = {*gid}, .name = "", .home = ""};
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
    case ControlOp::kStacks:
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

// `hold 2h` and `hold --for 2h`.
envgen::Result<ControlRequest> request_with_span(ControlOp op, const Options& options) {
  const char* name = op == ControlOp::kHold ? "hold" : "extend";
  std::optional<std::int64_t> span_ms = options.span_ms;
  std::span<const std::string> words = options.operands;
  if (!span_ms && words.size() == 1) {
    if (const auto parsed = parse_duration_ms(words[0])) span_ms = *parsed;
    if (span_ms) words = {};
  }
  if (span_ms && words.empty()) return ControlRequest{.op = op, .argument_ms = *span_ms};
  return envgen::fail("reading the options", name,
                      words.empty() ? "no duration" : envgen::quoted(words.back()),
                      std::string("say how long, at most 366d: trainit ") + name + " --for 2h");
}

}  // namespace

std::string asked_run_dir(const Options& options, envgen::Environ env,
                          std::optional<sys::AsUser>& rights) {
  set_run_dir(env, options.run_dir);
  std::string own = sys::find_run_dir(env);
  if (::geteuid() != 0 || (!own.empty() && sys::run_dir_in_use(own))) return own;
  const auto user = user_of_init();
  if (!user || user->uid == 0) return own;
  rights.emplace(*user);
  if (rights->switched()) {
    std::string theirs = sys::find_run_dir(env);
    if (!theirs.empty() && sys::run_dir_in_use(theirs)) return theirs;
  }
  rights.reset();
  return own;
}

envgen::Result<ControlRequest> request_of(const Options& options) {
  switch (options.command) {
    case kHold:
      return request_with_span(ControlOp::kHold, options);
    case kExtend:
      return request_with_span(ControlOp::kExtend, options);
    case kCheckpoint:
      return ControlRequest{.op = ControlOp::kCheckpoint, .keep_running = options.keep_running};
    default:
      return ControlRequest{.op = ControlOp::kRelease};
  }
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
            "run it inside the container, as the user of the instance or, where PID 1 is that "
            "user's, as root; TRAINIT_RUN_DIR must be the same"});
  return kNoInstance;
}

}  // namespace cli
