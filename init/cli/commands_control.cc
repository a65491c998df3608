#include <optional>
#include <tuple>

#include "init/cli/commands.h"
#include "init/cli/control.h"
#include "init/engine/state/state.h"
#include "init/sys/facts.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace cli {
namespace {

// Returns the error for a job that has ended; nullopt if it has not, or nothing is known about it.
std::optional<base::Error> has_ended(const std::string& run_dir) {
  const std::string path = run_dir + "/" + engine::kStateFile;
  const auto state = engine::state_from_json(sys::inspect(path, true).content, path);
  if (!state || state->exit_code < 0 || sys::run_dir_in_use(run_dir)) return std::nullopt;
  return base::Error{"asking the instance", run_dir,
                     "a job that has ended with exit code " + std::to_string(state->exit_code),
                     "see: trainit status"};
}

}  // namespace

int control_command(Call& call) {
  const auto request = request_of(call.options);
  if (!request) return complain(request.error());
  std::optional<sys::AsUser> rights;
  const auto asked = asked_run_dir(call.options, call.env, rights);
  if (!asked) return complain(asked.error());
  const std::string& run_dir = *asked;
  if (run_dir.empty()) return no_instance("asking the instance", run_dir);
  sys::Fd connection;
  auto reply = engine::send_control(run_dir, *request, engine::kControlTimeoutMs, &connection);
  // Keep the connection open until this process exits, because the instance waits for that.
  std::ignore = connection.release();
  if (!reply) {
    complain(has_ended(run_dir).value_or(reply.error()));
    return kNoInstance;
  }
  auto line = describe_reply(*request, *reply, run_dir);
  if (line) {
    base::ShownLines lines;
    lines.add({*line});
    return print(lines);
  }
  complain(line.error());
  return code_of(reply->answer);
}

}  // namespace cli
