#include "init/sshd/tool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <tuple>

#include "base/exit_codes.h"
#include "init/proc/exec.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace sshd {
namespace {

constexpr int kToolTimeoutMs = 30'000;

[[noreturn]] void become(proc::Program& program, int output, pid_t parent,
                         const proc::SavedSignals& saved) {
  constexpr int kFirst = 3;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(exit_code::kSignalBase + SIGKILL);
  ::setsid();
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  sys::close_descriptors(kFirst, {});
  proc::restore_signals(saved);
  const proc::StartFailure failure = program.exec();
  const std::string line = to_line(failure.error) + "\n";
  std::ignore = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(failure.exit_code);
}

// SIGCHLD is blocked, so one that came before the call is still there.
int wait_for(pid_t pid) {
  const std::int64_t deadline = sys::monotonic_ms() + kToolTimeoutMs;
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  while (true) {
    int status = 0;
    const std::int64_t left = deadline - sys::monotonic_ms();
    if (left <= 0) ::kill(-pid, SIGKILL);
    const pid_t ended = ::waitpid(pid, &status, left <= 0 ? 0 : WNOHANG);
    if (ended == pid)
      return WIFSIGNALED(status) ? exit_code::kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
    if (ended < 0 && errno != EINTR) return exit_code::kSignalBase;
    constexpr int kMsPerS = 1000;
    constexpr int kNsPerMs = 1'000'000;
    const timespec wait{std::max<std::int64_t>(left, 0) / kMsPerS,
                        std::max<std::int64_t>(left, 0) % kMsPerS * kNsPerMs};
    ::sigtimedwait(&child, nullptr, &wait);
  }
}

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

envgen::Result<Tool> start_tool(const std::vector<std::string>& argv, const envgen::Environ& env,
                                const proc::SavedSignals& saved) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return envgen::fail("starting " + argv[0], "pipe", sys::errno_text(errno),
                        "raise RLIMIT_NOFILE (ulimit -n)");
  }
  Tool tool;
  tool.output.reset(ends[0]);
  const sys::Fd input(ends[1]);
  ::fcntl(tool.output.get(), F_SETFL, O_NONBLOCK);
  proc::Program program(argv, env);
  const pid_t parent = ::getpid();
  tool.pid = ::fork();
  if (tool.pid == 0) become(program, input.get(), parent, saved);
  if (tool.pid < 0) {
    return envgen::fail("starting " + argv[0], "fork", sys::errno_text(errno),
                        "raise the limits on processes and memory");
  }
  return tool;
}

std::string read_output(const sys::Fd& output) {
  std::string text;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t count = ::read(output.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

std::string last_line(const std::string& text) {
  constexpr std::size_t kMostBytes = 300;
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const std::size_t before = text.find_last_of("\r\n", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::string line;
  for (const char c : std::string_view(text).substr(begin, std::min(end - begin + 1, kMostBytes))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f) {
      line += c;
    } else {
      line.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
  }
  return line;
}

envgen::Result<ToolResult> run_tool(const std::vector<std::string>& argv,
                                    const envgen::Environ& env, const proc::SavedSignals& saved) {
  TRY_ASSIGN(const auto tool, start_tool(argv, env, saved));
  ToolResult result;
  result.code = wait_for(tool.pid);
  result.output = read_output(tool.output);
  return result;
}

}  // namespace sshd
