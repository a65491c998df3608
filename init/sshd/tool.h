#pragma once
// The programs of OpenSSH, run in the background: no terminal, so that none of them asks anything,
// stdin is /dev/null, what they print is kept.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"

namespace sshd {

// An absolute path: in the PATH of `env`, else where packages put servers; "" when it is nowhere.
std::string find_program(const std::string& name, const envgen::Environ& env);

// The error for one that is nowhere; exit code 127.
envgen::Error not_installed(const std::string& name);

struct Tool {
  pid_t pid = -1;
  sys::Fd output;  // stdout and stderr, non-blocking, read after its end: at most 64 KiB
};

// In a session of its own, so that kill(-pid) reaches what it starts; dies with its parent. Signals
// must have been taken over.
envgen::Result<Tool> start_tool(const std::vector<std::string>& argv, const envgen::Environ& env,
                                const proc::SavedSignals& saved);

// What has been printed so far.
std::string read_output(const sys::Fd& output);
// The last line with anything in it, at most 300 bytes of it. Another node may have written it: its
// control characters become "\x1b".
std::string last_line(const std::string& text);

struct ToolResult {
  int code = 0;  // 128 + n for a signal; that of the kill when it took too long
  std::string output;
};
envgen::Result<ToolResult> run_tool(const std::vector<std::string>& argv,
                                    const envgen::Environ& env, const proc::SavedSignals& saved);

}  // namespace sshd
