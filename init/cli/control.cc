#include "init/cli/control.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text.h"
#include "init/cli/invocation.h"
#include "init/engine/state/status_text.h"
#include "init/proc/tree.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"
#include "init/sys/unix_socket.h"

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
      return "";  // the files contain the result
    case ControlOp::kExtend:
    case ControlOp::kExpireIn:
      return "the job's time limit ends it in " + span;
    case ControlOp::kCheckpoint:
      if (request.keep_running) return "the job was asked for a checkpoint and goes on";
      if (value_ms == 0) return "the job ends at once, with exit code 75";
      return "the job was asked for a checkpoint, which it has " + span +
             " for; then it ends with exit code 75";
  }
  return "";
}

// Returns the effective id of a field in /proc/<pid>/status: "<field>\t<real>\t<effective>\t...".
std::optional<std::uint32_t> effective_id(std::string_view status, std::string_view field) {
  const std::size_t at = status.find(field);
  if (at == std::string_view::npos) return std::nullopt;
  status.remove_prefix(at + field.size() + 1);
  status.remove_prefix(std::min(status.find('\t') + 1, status.size()));
  return base::parse_count<std::uint32_t>(status.substr(0, status.find('\t')));
}

// Returns the user of PID 1, to whom this container belongs.
std::optional<envgen::Identity> user_of_init() {
  const std::string status = sys::inspect("/proc/1/status", true).content;
  const auto uid = effective_id(status, "\nUid:");
  const auto gid = effective_id(status, "\nGid:");
  if (!uid || !gid) return std::nullopt;
  return envgen::Identity{.uid = *uid, .gid = *gid, .groups = {*gid}, .name = "", .home = ""};
}

base::Error not_now(const ControlRequest& request) {
  switch (request.op) {
    case ControlOp::kRelease:
    case ControlOp::kHold:
      return {"", "", "no debug window", "it opens when a job fails and --hold was given"};
    case ControlOp::kExtend:
    case ControlOp::kExpireIn:
      return {"", "", "a job that is being ended, or has ended",
              "a debug window is made longer by: trainit hold --for 2h"};
    case ControlOp::kCheckpoint:
    case ControlOp::kStacks:
      return {"", "", "a job that does not run yet, or no longer runs", "see: trainit status"};
  }
  return {};
}

base::Error refusal(const ControlRequest& request, ControlAnswer answer) {
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
      return {"", "", "a job without a time limit",
              "it goes on until it ends by itself; give it one with: trainit extend --left 2h"};
    case ControlAnswer::kNoCheckpoint:
      return {"", "", "a job that nothing can ask for a checkpoint",
              "start it with --checkpoint-signal, or put hooks into checkpoint.d"};
    case ControlAnswer::kNothingSaved:
      return {
          "", "",
          request.keep_running
              ? "no process that can save: nothing was saved, and the job goes on"
              : "no process that can save: nothing was saved, and the job ends with exit code 75",
          "handle the checkpoint signal in the script (--checkpoint-signal), or put hooks into "
          "checkpoint.d"};
    default:
      return {"", "", "another version of trainit",
              "use the binary that the container was started with"};
  }
}

// Makes a request of `hold 2h` or `hold --for 2h`.
base::Result<ControlRequest> request_with_span(ControlOp op, const Options& options) {
  const char* name = op == ControlOp::kHold ? "hold" : "extend";
  std::optional<std::int64_t> span_ms = options.span_ms;
  std::span<const std::string> words = options.operands;
  if (!span_ms && words.size() == 1) {
    if (const auto parsed = parse_duration_ms(words[0])) span_ms = *parsed;
    if (span_ms) words = {};
  }
  if (span_ms && words.empty()) return ControlRequest{.op = op, .argument_ms = *span_ms};
  return base::fail("reading the options", name,
                    words.empty() ? "no duration" : base::quoted(words.back()),
                    std::string("say how long, at most 366d: trainit ") + name + " --for 2h");
}

base::Result<ControlRequest> request_with_left(const Options& options) {
  if (!options.span_ms && options.operands.empty()) {
    return ControlRequest{.op = ControlOp::kExpireIn, .argument_ms = *options.left_ms};
  }
  return base::fail("reading the options", "extend", "--left beside an extension",
                    "say one of them: what is left from now on, or what is added");
}

struct Running {
  std::string run_dir;
  pid_t pid = -1;  // 0 = in another pid namespace, -1 = unknown
};

// Returns the process that listens at the control socket, by the kernel's SO_PEERCRED.
Running running_at(const std::string& run_dir) {
  constexpr int kTimeoutMs = 1000;
  Running one{.run_dir = run_dir};
  const sys::Fd socket = sys::connect_to(run_dir + "/control", SOCK_SEQPACKET, kTimeoutMs);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (socket.valid() && ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
    one.pid = peer.pid;
  }
  return one;
}

// Returns true if the process runs the same program file.
bool is_trainit(pid_t pid) {
  struct stat own{};
  struct stat other{};
  return ::stat("/proc/self/exe", &own) == 0 &&
         ::stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

// Returns the run directory of the instance above the caller, otherwise of PID 1 of its container,
// otherwise of the only one. A command for one job must not reach another job.
base::Result<std::string> choose(const std::vector<std::string>& run_dirs,
                                 const base::Environ& env) {
  std::vector<Running> all;
  all.reserve(run_dirs.size());
  for (const std::string& run_dir : run_dirs) all.push_back(running_at(run_dir));
  auto run_by = [&](pid_t pid) { return std::ranges::find(all, pid, &Running::pid); };
  bool is_below_another = false;
  for (auto one = proc::find_member(::getppid()); one; one = proc::find_member(one->parent)) {
    if (const auto above = run_by(one->pid); above != all.end()) return above->run_dir;
    is_below_another = is_below_another || is_trainit(one->pid);
  }
  if (is_below_another) return "";  // that instance has no run directory
  if (const auto first = run_by(1); first != all.end()) return first->run_dir;
  // Instances of other containers can share the directory. Such an instance is meant only if
  // TRAINIT_RUN_DIR is set.
  if (!env.get("TRAINIT_RUN_DIR")) std::erase_if(all, [](const auto& one) { return one.pid == 0; });
  if (all.empty()) return "";
  if (all.size() == 1) return all[0].run_dir;
  std::string found = std::to_string(all.size()) + " instances";
  for (const Running& one : all) {
    found += (&one == all.data() ? ": " : ", ") + one.run_dir;
    if (one.pid > 0) found += " (pid " + std::to_string(one.pid) + ")";
  }
  return base::fail("finding the instance", "this user's run directories", std::move(found),
                    "name one: --run-dir DIR");
}

}  // namespace

base::Result<std::string> asked_run_dir(const Options& options, base::Environ env,
                                        std::optional<sys::AsUser>& rights) {
  set_run_dir(env, options.run_dir);
  const bool is_named =
      std::ranges::find(options.given, "--run-dir", &Given::where) != options.given.end();
  auto find = [&]() -> base::Result<std::string> {
    if (is_named) return sys::find_run_dir(env);
    const auto all = sys::run_dirs_in_use(env);
    return all.empty() ? std::string() : choose(all, env);
  };
  auto own = find();
  if (!own || (!own->empty() && (is_named || sys::run_dir_in_use(*own)))) return own;
  if (const auto user = user_of_init(); ::geteuid() == 0 && user && user->uid != 0) {
    rights.emplace(*user);
    if (rights->switched()) {
      auto theirs = find();
      if (!theirs || sys::run_dir_in_use(*theirs)) return theirs;
    }
    rights.reset();
  }
  // Instances that are in use belong to other containers.
  return sys::run_dirs_in_use(env).empty() ? sys::find_run_dir(env) : std::string();
}

base::Result<ControlRequest> request_of(const Options& options) {
  switch (options.command) {
    case kHold:
      return request_with_span(ControlOp::kHold, options);
    case kExtend:
      if (options.left_ms) return request_with_left(options);
      return request_with_span(ControlOp::kExtend, options);
    case kCheckpoint:
      return ControlRequest{.op = ControlOp::kCheckpoint, .keep_running = options.keep_running};
    default:
      return ControlRequest{.op = ControlOp::kRelease};
  }
}

base::Result<std::string> describe_reply(const ControlRequest& request, const ControlReply& reply,
                                         const std::string& run_dir) {
  if (reply.answer == ControlAnswer::kDone) return done_text(request, reply.value_ms);
  base::Error error = refusal(request, reply.answer);
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
