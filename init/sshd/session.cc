#include "init/sshd/session.h"

#include <unistd.h>

#include <tuple>

#include "base/exit_codes.h"
#include "base/peer_protocol.h"
#include "base/text.h"
#include "init/sshd/channel.h"
#include "init/sshd/config.h"
#include "init/sys/files.h"

namespace sshd {
namespace {

constexpr int kAnswerTimeoutMs = 20'000;  // long, because hundreds of sessions may begin at once

std::expected<int, proc::StartFailure> notify(const Paths& paths, Op op, int argument) {
  const auto accepted = ask(paths.socket, op, argument, kAnswerTimeoutMs);
  if (!accepted)
    return std::unexpected(proc::StartFailure{exit_code::kOwnFailure, accepted.error()});
  if (*accepted) return 0;
  return std::unexpected(proc::StartFailure{
      exit_code::kOwnFailure,
      {"opening a session", paths.directory, "that the job on this node is ending", ""}});
}

base::Result<SessionCommand> parse_launcher(std::string_view text) {
  constexpr std::string_view kGone = "gone";
  if (text == kGone || text == "back") {
    return SessionCommand{.kind = SessionCommand::Kind::kLauncher, .gone = text == kGone};
  }
  return base::fail("reading the message about the launcher", base::kPeerLauncher,
                    base::quoted(text), "give gone or back");
}

}  // namespace

base::Result<SessionCommand> parse_session_command(std::string_view original) {
  std::string_view text = base::trimmed(original);
  if (text == base::kPeerPing) return SessionCommand{.kind = SessionCommand::Kind::kPing};
  const std::string_view word = base::take_word(text);
  if (word == base::kPeerLauncher) return parse_launcher(base::trimmed(text));
  if (word != base::kPeerEnd) return SessionCommand{};
  const std::string_view number = base::trimmed(text);
  const auto code = base::parse_count<int>(number);
  if (code && *code <= exit_code::kMax) {
    return SessionCommand{.kind = SessionCommand::Kind::kEnd, .exit_code = *code};
  }
  return base::fail("reading the end message", base::kPeerEnd,
                    base::quoted(number) + " instead of an exit code", "give one from 0 to 255");
}

std::vector<std::string> shell_argv(std::string_view shell, std::string_view original) {
  std::vector<std::string> argv = {std::string(shell.empty() ? "/bin/sh" : shell)};
  if (base::trimmed(original).empty()) {
    argv.emplace_back("-l");
  } else {
    argv.insert(argv.end(), {"-c", std::string(original)});
  }
  return argv;
}

std::expected<int, proc::StartFailure> session(const std::string& directory,
                                               const base::Environ& env) {
  const Paths paths(directory);
  const std::string original(env.get_or("SSH_ORIGINAL_COMMAND", ""));
  const auto command = parse_session_command(original);
  if (!command) return std::unexpected(proc::StartFailure{exit_code::kOwnFailure, command.error()});
  switch (command->kind) {
    case SessionCommand::Kind::kPing:
      return notify(paths, Op::kPing, 0);
    case SessionCommand::Kind::kEnd:
      return notify(paths, Op::kEnd, command->exit_code);
    case SessionCommand::Kind::kLauncher:
      return notify(paths, Op::kLauncher, command->gone ? 1 : 0);
    case SessionCommand::Kind::kRun:
      break;
  }
  const envgen::PathState file = sys::inspect(paths.environment, true);
  if (file.kind != envgen::PathState::Kind::kFile) {
    return std::unexpected(
        proc::StartFailure{exit_code::kOwnFailure,
                           {"opening a session", paths.environment,
                            "no environment that can be read by uid " + std::to_string(::geteuid()),
                            "log in as the user that the job runs as"}});
  }
  // Registers last, so that only a session that will run is counted.
  TRY_ASSIGN(std::ignore, notify(paths, Op::kSession, 0));
  const base::Environ own = session_environ(file.content, env);
  const std::vector<std::string> argv = shell_argv(env.get_or("SHELL", ""), original);
  return std::unexpected(proc::Program(argv, own).exec());
}

}  // namespace sshd
