#pragma once
// `trainit peer session`: the program that sshd runs for each session (ForceCommand). The requested
// command is in SSH_ORIGINAL_COMMAND. Three commands are trainit's own:
//  trainit-peer-ping       exits with 0 if this node's serve answers
//  trainit-peer-end CODE   sends serve the exit code of the job; exits with 0 if serve has got it
//  trainit-peer-launcher gone|back
//                          reports to serve whether the launcher's node is lost; PID 1 of this
//                          node sends it
// Any other command runs in the user's shell, with the environment that serve was given. Without a
// command, a login shell runs. This process becomes that shell, so signals and exit codes are the
// shell's.

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
  int exit_code = 0;  // only for kEnd
  bool gone = false;  // only for kLauncher: its node is lost; false = it is back
};
base::Result<SessionCommand> parse_session_command(std::string_view original);

// Returns the arguments with which `shell` runs the command `original`.
std::vector<std::string> shell_argv(std::string_view shell, std::string_view original);

// Runs the session. Returns the exit code of one of trainit's commands, or why that or the shell
// failed. Does not return if the shell starts.
std::expected<int, proc::StartFailure> session(const std::string& directory,
                                               const base::Environ& env);

}  // namespace sshd
