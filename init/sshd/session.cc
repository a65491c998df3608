#include "init/sshd/session.h"

#include <unistd.h>

#include <charconv>

#include "init/sshd/channel.h"
#include "init/sshd/config.h"
#include "init/sys/files.h"

namespace peer {
namespace {

constexpr int kOwnFailure = 125;
constexpr int kAnswerTimeoutMs = 20'000;  // hundreds of sessions may begin at once

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::expected<int, proc::StartFailure> tell(const Paths& paths, Op op, int argument) {
  const auto accepted = ask(paths.socket, op, argument, kAnswerTimeoutMs);
  if (!accepted) return std::unexpected(proc::StartFailure{kOwnFailure, accepted.error()});
  if (*accepted) return 0;
  return std::unexpected(proc::StartFailure{
      kOwnFailure,
      {"opening a session", paths.directory, "that the job on this node is ending", ""}});
}

}  // namespace

envgen::Result<SessionCommand> parse_session_command(std::string_view original) {
  constexpr int kMaxCode = 255;
  const std::string_view text = trimmed(original);
  if (text == kPingWord) return SessionCommand{SessionCommand::Kind::kPing, 0};
  const std::string_view first = text.substr(0, text.find_first_of(" \t"));
  if (first != kEndWord) return SessionCommand{};
  const std::string number(trimmed(text.substr(first.size())));
  SessionCommand command{SessionCommand::Kind::kEnd, 0};
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, command.exit_code);
  if (error == std::errc() && stop == end && command.exit_code >= 0 &&
      command.exit_code <= kMaxCode) {
    return command;
  }
  return envgen::fail("reading the end message", std::string(kEndWord),
                      "\"" + number + "\" instead of an exit code", "give one from 0 to 255");
}

std::vector<std::string> shell_argv(std::string_view shell, std::string_view original) {
  std::vector<std::string> argv = {std::string(shell.empty() ? "/bin/sh" : shell)};
  if (trimmed(original).empty()) {
    argv.emplace_back("-l");
  } else {
    argv.insert(argv.end(), {"-c", std::string(original)});
  }
  return argv;
}

std::expected<int, proc::StartFailure> session(const std::string& directory,
                                               const envgen::Environ& env) {
  const Paths paths(directory);
  const std::string original(env.get_or("SSH_ORIGINAL_COMMAND", ""));
  const auto command = parse_session_command(original);
  if (!command) return std::unexpected(proc::StartFailure{kOwnFailure, command.error()});
  switch (command->kind) {
    case SessionCommand::Kind::kPing:
      return tell(paths, Op::kPing, 0);
    case SessionCommand::Kind::kEnd:
      return tell(paths, Op::kEnd, command->exit_code);
    case SessionCommand::Kind::kRun:
      break;
  }
  const envgen::PathState file = sys::look(paths.environment, true);
  if (file.kind != envgen::PathState::Kind::kFile) {
    return std::unexpected(
        proc::StartFailure{kOwnFailure,
                           {"opening a session", paths.environment,
                            "no environment that can be read by uid " + std::to_string(::geteuid()),
                            "log in as the user that the job runs as"}});
  }
  // Not before the rest is known to work: a session that is counted should run.
  if (auto counted = tell(paths, Op::kSession, 0); !counted) return counted;
  const envgen::Environ own = session_environ(file.content, env);
  const std::vector<std::string> argv = shell_argv(env.get_or("SHELL", ""), original);
  return std::unexpected(proc::Program(argv, own).exec());
}

}  // namespace peer
