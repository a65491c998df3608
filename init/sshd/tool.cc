#include "init/sshd/tool.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/exit_codes.h"
#include "base/search_path.h"
#include "init/proc/child_run.h"
#include "init/sys/find_program.h"

namespace sshd {
namespace {

constexpr int kToolTimeoutMs = 30'000;

}  // namespace

std::string find_program(const std::string& name, const base::Environ& env) {
  return sys::find_program(base::server_path_of(env), name);
}

base::Error not_installed(const std::string& name) {
  const bool server = name == "sshd";
  return {"looking for " + name, "PATH, /usr/sbin, /usr/local/sbin, /sbin", "no such program",
          server ? "install OpenSSH's server in the image (openssh-server)"
                 : "install OpenSSH's client in the image (openssh-client, openssh-clients)"};
}

ToolResult run_tool(const std::vector<std::string>& argv, const base::Environ& env,
                    const proc::SavedSignals& saved) {
  const proc::RunLimits limits{.time_ms = kToolTimeoutMs, .linger_ms = kToolTimeoutMs};
  auto run = proc::capture({argv[0], env}, {argv.begin() + 1, argv.end()}, limits, &saved);
  if (!run) return {run.error().exit_code, to_line(run.error().error)};
  if (run->cut_short.empty()) return {run->exit_code, std::move(run->output)};
  return {exit_code::kSignalBase + SIGKILL, run->output + "\n" + run->cut_short};
}

}  // namespace sshd
