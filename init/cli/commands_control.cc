#include <string_view>
#include <tuple>
#include <utility>

#include "init/cli/commands.h"
#include "init/cli/control.h"
#include "init/sys/facts.h"
#include "init/sys/fd.h"

namespace cli {
namespace {

int ask(std::string_view name, Arguments arguments, envgen::Environ env) {
  auto asked = parse_request(name, arguments);
  if (!asked) return complain(asked.error());
  auto options = options_alone(asked->rest, env);
  if (!options) return complain(options.error());
  if (options->help) return print(usage());
  const std::string run_dir = sys::find_run_dir(env);
  if (run_dir.empty()) return no_instance("asking the instance", run_dir);
  sys::Fd connection;
  auto reply =
      engine::send_control(run_dir, asked->request, engine::kControlTimeoutMs, &connection);
  // Open until this process has ended, which the instance waits for.
  std::ignore = connection.release();
  if (!reply) {
    complain(reply.error());
    return kNoInstance;
  }
  auto line = describe_reply(asked->request, *reply, run_dir);
  if (line) return print(*line + "\n");
  complain(line.error());
  return code_of(reply->answer);
}

}  // namespace

int release_command(Arguments arguments, const envgen::Environ& env) {
  return ask("release", arguments, env);
}

int hold_command(Arguments arguments, const envgen::Environ& env) {
  return ask("hold", arguments, env);
}

int extend_command(Arguments arguments, const envgen::Environ& env) {
  return ask("extend", arguments, env);
}

int checkpoint_command(Arguments arguments, const envgen::Environ& env) {
  return ask("checkpoint", arguments, env);
}

}  // namespace cli
