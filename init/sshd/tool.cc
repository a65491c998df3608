#include "init/sshd/tool.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include "base/exit_codes.h"
#include "init/proc/child_run.h"

namespace sshd {
namespace {

constexpr int kToolTimeoutMs = 30'000;

bool can_run(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

}  // namespace

std::string find_program(const std::string& name, const envgen::Environ& env) {
  std::string_view list = env.get_or("PATH", "/usr/bin:/bin");
  while (true) {
    const std::size_t colon = list.find(':');
    const std::string_view directory = list.substr(0, colon);
    std::string path = std::string(directory) + "/" + name;
    if (directory.starts_with('/') && can_run(path)) return path;
    if (colon == std::string_view::npos) break;
    list.remove_prefix(colon + 1);
  }
  for (const char* directory : {"/usr/sbin/", "/usr/local/sbin/", "/sbin/", "/usr/bin/"}) {
    if (can_run(directory + name)) return directory + name;
  }
  return {};
}

envgen::Error not_installed(const std::string& name) {
  const bool server = name == "sshd";
  return {"looking for " + name, "PATH, /usr/sbin, /usr/local/sbin, /sbin", "no such program",
          server ? "install OpenSSH's server in the image (openssh-server)"
                 : "install OpenSSH's client in the image (openssh-client, openssh-clients)"};
}

ToolResult run_tool(const std::vector<std::string>& argv, const envgen::Environ& env,
                    const proc::SavedSignals& saved) {
  const proc::RunLimits limits{.time_ms = kToolTimeoutMs, .linger_ms = kToolTimeoutMs};
  auto run = proc::capture({argv[0], env}, {argv.begin() + 1, argv.end()}, limits, &saved);
  if (!run) return {run.error().exit_code, to_line(run.error().error)};
  if (run->cut_short.empty()) return {run->exit_code, std::move(run->output)};
  return {exit_code::kSignalBase + SIGKILL, run->output + "\n" + run->cut_short};
}

}  // namespace sshd
