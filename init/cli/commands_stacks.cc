// Where the ranks of the job that runs are. The instance has the stacks taken by a worker of its
// own, which may signal the ranks; they come as a file.

#include <poll.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/printed_text.h"
#include "base/text.h"
#include "init/cli/commands.h"
#include "init/cli/control.h"
#include "init/engine/monitor/stack_dump.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/path_state.h"

namespace cli {
namespace {

constexpr std::int64_t kMaxMs = 20'000;
constexpr int kLookMs = 50;

// The text is written last.
bool await_files(const std::string& name) {
  const std::int64_t deadline_ms = sys::monotonic_ms() + kMaxMs;
  while (::access((name + ".txt").c_str(), F_OK) != 0) {
    if (sys::monotonic_ms() >= deadline_ms) return false;
    ::poll(nullptr, 0, kLookMs);
  }
  return true;
}

// The file is of the user who runs the instance, and a root console may be the one who asks.
std::string for_terminal(std::string_view text) {
  std::string shown;
  while (!text.empty()) shown += envgen::escaped_text(envgen::take_line(text)) + "\n";
  return shown;
}

}  // namespace

int stacks_command(Call& call) {
  const char* what = "asking for the stacks";
  std::optional<sys::AsUser> rights;
  const auto asked = asked_run_dir(call.options, call.env, rights);
  if (!asked) return complain(asked.error());
  const std::string& run_dir = *asked;
  if (run_dir.empty()) return no_instance(what, run_dir);
  const engine::ControlRequest request{.op = engine::ControlOp::kStacks};
  sys::Fd connection;
  auto reply = engine::send_control(run_dir, request, engine::kControlTimeoutMs, &connection);
  // Open until this process has ended, which the instance waits for.
  std::ignore = connection.release();
  if (!reply) {
    complain(reply.error());
    return kNoInstance;
  }
  if (reply->answer != engine::ControlAnswer::kDone) {
    auto line = describe_reply(request, *reply, run_dir);
    if (!line) complain(line.error());
    return code_of(reply->answer);
  }
  const std::string name = engine::asked_stacks(run_dir, reply->value_ms);
  if (!await_files(name)) {
    return complain({what, name + ".txt", "no answer", "has the job ended? see: trainit status"});
  }
  const envgen::PathState state = sys::inspect(name + (call.options.json ? ".json" : ".txt"), true);
  return print_as_is(for_terminal(state.content));
}

}  // namespace cli
