#pragma once
// The programs of OpenSSH, run in the background: no terminal, so that none of them asks anything,
// stdin is /dev/null, what they print is kept.

#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"

namespace sshd {

// An absolute path: in the PATH of `env`, else where packages put servers; "" when it is nowhere.
std::string find_program(const std::string& name, const envgen::Environ& env);

// The error for one that is nowhere; exit code 127.
envgen::Error not_installed(const std::string& name);

// The program has a session of its own and dies with its parent. Signals must have been taken over.
struct ToolResult {
  int code = 0;        // 128 + n for a signal; that of the kill when it took too long
  std::string output;  // or why it did not start; its last line says why it was ended
};
ToolResult run_tool(const std::vector<std::string>& argv, const envgen::Environ& env,
                    const proc::SavedSignals& saved);

}  // namespace sshd
