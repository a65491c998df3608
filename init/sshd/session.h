#pragma once
// `trainit peer session`: what sshd runs for each session (ForceCommand), with what was asked for
// in SSH_ORIGINAL_COMMAND. Three words are ours:
//   trainit-peer-ping       exits with 0 when this node's serve answers
//   trainit-peer-end CODE   tells it the exit code of the job; 0 when it knows
//   trainit-peer-launcher gone|back
//                           tells it whether the launcher's node is lost: of this node's PID 1
// Anything else is run by the user's shell with the environment that serve was given, a login shell
// without a command. It becomes that shell, so signals and exit codes are the command's own.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/exec.h"

namespace sshd {

struct SessionCommand {
  enum class Kind : unsigned char { kRun, kPing, kEnd, kLauncher };
  Kind kind = Kind::kRun;
  int exit_code = 0;  // kEnd
  bool gone = false;  // kLauncher
};
envgen::Result<SessionCommand> parse_session_command(std::string_view original);

// The argv for `original`.
std::vector<std::string> shell_argv(std::string_view shell, std::string_view original);

// The exit code of one of our words, or why it, or the shell, did not work.
std::expected<int, proc::StartFailure> session(const std::string& directory,
                                               const envgen::Environ& env);

}  // namespace sshd
