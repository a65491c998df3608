#pragma once
// Runs the programs of OpenSSH in the background. They have no terminal and stdin is /dev/null, so
// they cannot ask for input. The caller gets their output.

#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"

namespace sshd {

// Returns the absolute path of a program, found in the PATH of `env` or in the directories where
// packages install servers; "" if it is not found.
std::string find_program(const std::string& name, const base::Environ& env);

// Returns the error for a program that is not installed, for exit code 127.
base::Error not_installed(const std::string& name);

// The result of run_tool(), which runs a program in its own session. If the caller dies, the
// program dies too. All signals must be blocked (take_over_signals()).
struct ToolResult {
  int code = 0;        // 128 + n for a signal; 128 + SIGKILL after a time-out
  std::string output;  // what the program printed (the last line says if it was killed), or why it
                       // did not start
};
ToolResult run_tool(const std::vector<std::string>& argv, const base::Environ& env,
                    const proc::SavedSignals& saved);

}  // namespace sshd
