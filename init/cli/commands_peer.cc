// peer serve|session|end: sshd between the nodes of a job (envgen/framework/ssh.h). Plans start
// these commands, not users.

#include "base/text.h"
#include "init/cli/commands.h"
#include "init/cli/values/kinds.h"
#include "init/engine/cluster/link_status.h"
#include "init/sshd/end.h"
#include "init/sshd/serve.h"
#include "init/sshd/session.h"

namespace cli {
namespace {

int report(const std::expected<int, proc::StartFailure>& result) {
  if (result) return *result;
  complain(result.error().error);
  return result.error().exit_code;
}

// Reports an option that a plan's command needs but does not have.
int refuse(const char* option) {
  return complain({"reading the options", option, "nothing", "see trainit peer --help"});
}

int serve(const PeerRequest& request, const base::Environ& env) {
  return report(sshd::serve({.directory = request.directory,
                             .port = request.port,
                             .key = request.key,
                             .launcher_timeout_ms = request.launcher_timeout_ms},
                            env));
}

// Asks the link for the state of the nodes. Without an answer there is no link, and the result is
// empty, so that all nodes are called.
sshd::LinkedHosts linked_hosts(const std::string& socket) {
  constexpr int kAnswerMs = 500;  // part of the caller's time limit
  sshd::LinkedHosts linked;
  const auto rows = engine::ask_nodes(socket, kAnswerMs);
  if (!rows) return linked;
  for (const engine::NodeRow& row : *rows) {
    if (engine::is_present(row)) linked.told.insert(row.name);
    if (engine::is_lost(row)) linked.lost.insert(row.name);
  }
  return linked;
}

int end(const PeerRequest& request, const base::Environ& env) {
  constexpr const char* kVariable = "TRAINIT_EXIT_CODE";
  if (request.hosts_file.empty()) return refuse("--hosts-file");
  const std::string text(env.get_or(kVariable, ""));
  const auto code = request.code ? Parsed<std::int64_t>(*request.code) : kExitCode.parse(text);
  if (!code) {
    return complain({"reading the options", kVariable,
                     text.empty() ? "nothing" : base::quoted(text), "give " + kExitCode.list()});
  }
  sshd::EndOptions options{.directory = request.directory,
                           .hosts_file = request.hosts_file,
                           .port = request.port,
                           .key = request.key,
                           .exit_code = static_cast<int>(*code)};
  if (!request.link.empty()) options.ask_link = [&] { return linked_hosts(request.link); };
  const auto told = sshd::end(options, env);
  if (told) return 0;
  complain(told.error());
  return 1;
}

}  // namespace

int peer_command(Call& call) {
  const PeerRequest& request = call.options.peer;
  if (request.directory.empty()) return refuse("--dir");
  if (call.options.command == kPeerSession) {
    return report(sshd::session(request.directory, call.env));
  }
  if (request.port == 0) return refuse("--port");
  return call.options.command == kPeerServe ? serve(request, call.env) : end(request, call.env);
}

}  // namespace cli
