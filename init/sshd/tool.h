#pragma once
// The programs of OpenSSH, which run in the background. Without a terminal and with stdin from
// /dev/null, they ask for no input. The caller gets their output.

#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"

namespace sshd {

// Returns the absolute path of a program, from the PATH of `env` or the directories where packages
// put servers. Returns "" if it is not found.
std::string find_program(const std::string& name, const base::Environ& env);

// Returns the error for a program that is not found; exit code 127.
base::Error not_installed(const std::string& name);

// The result of run_tool(), which runs a program in a separate session. The program dies with its
// parent. Signals must have been taken over.
struct ToolResult {
  int code = 0;        // 128 + n for a signal; 128 + SIGKILL after a time-out
  std::string output;  // output (last line: why it was killed), or why it did not start
};
ToolResult run_tool(const std::vector<std::string>& argv, const base::Environ& env,
                    const proc::SavedSignals& saved);

}  // namespace sshd
