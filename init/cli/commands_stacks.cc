// stacks: shows where the ranks of the running job are. A worker of the instance collects the
// stacks, because it has the right to signal the ranks. The result is a file.

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

// Blocks until the files exist, at most kMaxMs. The text is written last.
bool await_files(const std::string& name) {
  const std::int64_t deadline_ms = sys::monotonic_ms() + kMaxMs;
  while (::access((name + ".txt").c_str(), F_OK) != 0) {
    if (sys::monotonic_ms() >= deadline_ms) return false;
    sys::pause_ms(kLookMs);
  }
  return true;
}

// Escapes the file's text. The file belongs to the user of the instance, and the reader can be
// root's console.
std::string for_terminal(std::string_view text) {
  std::string shown;
  while (!text.empty()) shown += base::escaped_text(base::take_line(text)) + "\n";
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
  // Keep the connection open until this process exits, because the instance waits for that.
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
