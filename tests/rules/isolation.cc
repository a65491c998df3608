#include "tests/rules/isolation.h"

#include <dirent.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "init/proc/tree.h"

namespace rules {

pid_t clone_into(unsigned long flags) {
  return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

void mount_own_proc() {
  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    ::_exit(kCannotStart);
  }
}

std::string program_of(const char* variable) {
  const char* path = std::getenv(variable);
  if (path != nullptr && ::access(path, X_OK) == 0) return path;
  std::fprintf(stderr, "%s names no program; ctest sets it\n", variable);
  std::exit(1);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return children;
  while (const dirent* entry = ::readdir(proc)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    // By getline, as an iterator throws when the process goes away under it.
    std::string text;
    std::getline(stat, text, '\0');
    const auto member = proc::parse_member(text);
    if (member && member->parent == parent) children.push_back(pid);
  }
  ::closedir(proc);
  return children;
}

void refuse_calls(const std::vector<long>& numbers, int error) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (long number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(
        BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) ::_exit(kCannotStart);
}

namespace {

constexpr int kFirstPort = 10'000;  // below ip_local_port_range, which begins at 32768
constexpr int kBlocks = 150;
constexpr int kPortsOfABlock = 120;

// The first port of this process's block. A name in the network namespace holds the block as long
// as the process lives.
int claim_block() {
  for (int i = 0; i < kBlocks; ++i) {
    const int block = (::getpid() + i) % kBlocks;
    const std::string name = "trainit-test-ports-" + std::to_string(block);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    name.copy(address.sun_path + 1, name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int holder = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (::bind(holder, reinterpret_cast<const sockaddr*>(&address), size) == 0) {
      return kFirstPort + block * kPortsOfABlock;
    }
    ::close(holder);
  }
  std::fprintf(stderr, "each block of ports has its process\n");
  std::exit(1);
}

bool may_bind(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool may = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return may;
}

}  // namespace

int free_port() {
  static const int first = claim_block();
  static int taken = 0;
  for (int tries = 0; tries < kPortsOfABlock; ++tries) {
    const int port = first + taken++ % kPortsOfABlock;
    if (may_bind(port)) return port;
  }
  std::fprintf(stderr, "no port from %d on is free\n", first);
  std::exit(1);
}

uid_t lone_user() {
  constexpr uid_t kFirst = 60'000;
  constexpr int kUsers = 4000;  // to below those that a namespace of users may end with
  return kFirst + static_cast<uid_t>(::getpid() % kUsers);
}

bool may_unshare() {
  static const bool may = [] {
    const pid_t pid = clone_into(CLONE_NEWPID | CLONE_NEWNS);
    if (pid < 0) return false;
    if (pid == 0) {
      mount_own_proc();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return may;
}

}  // namespace rules
