#pragma once
// Real processes for tests of init/: a forked child whose output is collected, a scratch directory.

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "tests/test_timeout.h"

namespace child {

struct Pipe {
  sys::Fd out;
  sys::Fd in;
};

inline Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {sys::Fd(ends[0]), sys::Fd(ends[1])};
}

// A process that hangs is a failed test, not a hanging one: without `hung` that is only said.
inline std::string read_to_end(int fd, bool* hung = nullptr) {
  std::string text;
  std::array<char, 4096> part;
  pollfd ready{fd, POLLIN, 0};
  while (true) {
    TestTimeout timeout;
    while (::poll(&ready, 1, TestTimeout::kLookMs) == 0) {
      if (timeout.is_left()) continue;
      ADD_FAILURE() << "no end after three minutes";
      if (hung != nullptr) *hung = true;
      return text;
    }
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

// What can be read now.
inline std::string read_now(int fd) {
  std::string text;
  std::array<char, 4096> part;
  pollfd ready{fd, POLLIN, 0};
  while (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN) != 0) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

inline void say(int fd, const std::string& text) {
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

// 128 + n for a signal, as a shell says it.
inline int wait_for(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs `body` in a child whose stdout and stderr are pipes.
inline Outcome run(const std::function<int()>& body) {
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(out.in.get(), STDOUT_FILENO);
    ::dup2(err.in.get(), STDERR_FILENO);
    // Closed here, so that the body sees the descriptors that it would have in a fresh program.
    sys::close_descriptors(3, {});
    const int code = body();
    std::fflush(nullptr);
    ::_exit(code);
  }
  out.in.reset();
  err.in.reset();
  Outcome outcome;
  bool hung = false;
  outcome.out = read_to_end(out.out.get(), &hung);
  if (!hung) outcome.err = read_to_end(err.out.get(), &hung);
  if (hung && pid > 0) ::kill(pid, SIGKILL);
  outcome.code = wait_for(pid);
  return outcome;
}

inline bool is_root() { return ::geteuid() == 0; }

// Takes `groups` instead of root's.
inline bool become_nobody(const std::vector<gid_t>& groups = {}) {
  constexpr unsigned kNobody = 65534;
  return ::setgroups(groups.size(), groups.data()) == 0 && ::setgid(kNobody) == 0 &&
         ::setuid(kNobody) == 0;
}

// Mounts that nobody else sees, and that are gone with this.
class OwnMounts {
 public:
  OwnMounts()
      : before_(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)),
        here_(::open(".", O_PATH | O_CLOEXEC)) {
    apart_ = before_.valid() && here_.valid() && ::unshare(CLONE_NEWNS) == 0;
    private_ = apart_ && ::mount("", "/", "", MS_REC | MS_PRIVATE, "") == 0;
  }
  ~OwnMounts() {
    if (!apart_) return;
    EXPECT_EQ(::setns(before_.get(), CLONE_NEWNS), 0);
    EXPECT_EQ(::fchdir(here_.get()), 0);
  }
  OwnMounts(const OwnMounts&) = delete;
  OwnMounts& operator=(const OwnMounts&) = delete;

  // False: it may not, and errno says why.
  [[nodiscard]] bool add_tmpfs(const std::string& path, unsigned long flags = 0,
                               const char* options = "") const {
    return private_ && ::mount("none", path.c_str(), "tmpfs", flags, options) == 0;
  }
  [[nodiscard]] bool bind(const std::string& from, const std::string& to) const {
    return private_ && ::mount(from.c_str(), to.c_str(), "", MS_BIND, "") == 0;
  }

 private:
  sys::Fd before_;
  sys::Fd here_;
  bool apart_ = false;
  bool private_ = false;
};

class Scratch : public testing::Test {
 protected:
  Scratch() {
    std::string name = testing::TempDir() + "trainit-test-XXXXXX";
    // Without one every path of the test would lie in the root directory.
    if (::mkdtemp(name.data()) == nullptr) ::abort();
    directory_ = name;
    ::chmod(directory_.c_str(), 0755);
  }
  ~Scratch() override { EXPECT_TRUE(sys::remove_tree(directory_)); }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string write(const std::string& name, const std::string& content, mode_t mode = 0644) const {
    const std::string file = path(name);
    std::ofstream(file, std::ios::binary) << content;
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return file;
  }

 public:
  static std::string read(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

 private:
  std::string directory_;
};

}  // namespace child
