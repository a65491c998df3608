// What a sandbox looks like from inside.

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "tests/payload/payload.h"

namespace payload {
namespace {

constexpr std::array<std::string_view, 10> kFields = {"Uid",        "Gid",    "Groups", "CapInh",
                                                      "CapPrm",     "CapEff", "CapBnd", "CapAmb",
                                                      "NoNewPrivs", "Seccomp"};

// Blanks as one space, none at the ends.
std::string compact(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' && c != '\t') {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

void print_status(const char* prefix, const std::string& path) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    for (const std::string_view field : kFields) {
      if (!line.starts_with(std::string(field) + ":")) continue;
      const std::string value = compact(std::string_view(line).substr(field.size() + 1));
      printf("%s%.*s=%s\n", prefix, static_cast<int>(field.size()), field.data(), value.c_str());
    }
  }
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string limit_text(rlim_t value) {
  return value == RLIM_INFINITY ? "unlimited" : std::to_string(value);
}

void print_limits() {
  for (const auto& [name, resource] :
       {std::pair{"nofile", RLIMIT_NOFILE}, {"core", RLIMIT_CORE}, {"nproc", RLIMIT_NPROC}}) {
    rlimit limit{};
    getrlimit(resource, &limit);
    printf("%s=%s:%s\n", name, limit_text(limit.rlim_cur).c_str(),
           limit_text(limit.rlim_max).c_str());
  }
}

const char* outcome(long result) {
  if (result >= 0) return "allowed";
  const char* name = strerrorname_np(errno);
  return name != nullptr ? name : "?";
}

long call(std::string_view name) {
  // What the kernel refuses for its arguments was allowed to come that far.
  if (name == "mkdir") return syscall(SYS_mkdirat, AT_FDCWD, "/", 0755);
  if (name == "clone3") return syscall(SYS_clone3, nullptr, 0);
  if (name == "unshare") return syscall(SYS_unshare, 0);
  if (name == "ptrace") return syscall(SYS_ptrace, PTRACE_PEEKDATA, 0, 0, 0);
  if (name == "chroot") return syscall(SYS_chroot, "/");
  if (name == "setuid") return syscall(SYS_setresuid, 0, 0, 0);
  if (name == "write") return syscall(SYS_write, -1, "", 0);
  fprintf(stderr, "payload: no such call to try\n");
  exit(2);
}

}  // namespace

// confinement: a line NAME=VALUE for everything that a sandbox changes, and for our parent.
int confinement(Args) {
  print_status("", "/proc/self/status");
  print_status("parent.", "/proc/" + std::to_string(getppid()) + "/status");
  int death_signal = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  printf("death_signal=%d\n", death_signal);
  const mode_t mask = umask(0);
  printf("umask=%03o\n", mask);
  printf("nice=%d\n", getpriority(PRIO_PROCESS, 0));
  printf("oom_score_adj=%s\n", first_line("/proc/self/oom_score_adj").c_str());
  print_limits();
  for (const char* name : {"HOME", "USER", "LOGNAME"}) {
    const char* value = getenv(name);
    printf("%s=%s\n", name, value != nullptr ? value : "(unset)");
  }
  for (const char* name : {"mkdir", "clone3", "chroot"}) {
    printf("call.%s=%s\n", name, outcome(call(name)));
  }
  return 0;
}

// try-call NAME...: a line "NAME allowed", or "NAME EPERM" with the error it gave.
int try_call(Args args) {
  for (const char* name : args) printf("%s %s\n", name, outcome(call(name)));
  return 0;
}

}  // namespace payload
