#pragma once
// The border between trainit, as root, and the user that the job runs as: a container in which
// nothing but a directory of the test can be written. Tests attack as that user, and must fail.

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/rules/job.h"

namespace escape {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;

inline constexpr uid_t kJob = 1000;
inline constexpr uid_t kOther = 2000;  // another user of the node

// How a container starts trainit, by the variable ESCAPE_AS: "pid1" or "child" (of a small init
// that is PID 1), without CAP_SYS_PTRACE, as most engines do; "pid1-ptrace" or "child-ptrace" with
// it. Each test holds for all four, unless it says which.
struct Container {
  bool pid1 = true;
  bool ptrace = true;
};
inline Container container() {
  const char* named = ::getenv("ESCAPE_AS");
  const std::string as = named == nullptr ? "pid1-ptrace" : named;
  return {.pid1 = as.starts_with("pid1"), .ptrace = as.ends_with("-ptrace")};
}

class Border : public rules::JobTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || !rules::may_unshare()) rules::skip("needs root and namespaces");
    ::chmod(path("").c_str(), 0755);
    for (const char* name : {"out", "tmp"}) make(name, 0, 01777);
    make("home", kJob, 0755);
    make("root", 0, 0700);
  }

  // A directory of that owner and mode, whatever the umask.
  void make(const std::string& name, uid_t owner, mode_t mode) const {
    ::mkdir(path(name).c_str(), 0700);
    give(name, owner, mode);
  }
  void give(const std::string& name, uid_t owner, mode_t mode) const {
    EXPECT_EQ(::lchown(path(name).c_str(), owner, owner), 0) << name;
    EXPECT_EQ(::chmod(path(name).c_str(), mode), 0) << name;
  }
  [[nodiscard]] uid_t owner_of(const std::string& name) const { return status_of(name).st_uid; }
  [[nodiscard]] bool exists(const std::string& name) const { return status_of(name).st_nlink > 0; }
  [[nodiscard]] struct stat status_of(const std::string& name) const {
    struct stat status{};
    ::lstat(path(name).c_str(), &status);
    return status;
  }

  // trainit in a pid and a mount namespace of its own, where the test's directory is the only place
  // of the disk that can be written: an attack that succeeds costs nothing.
  [[nodiscard]] Spec contained(Words args, bool below_init = !container().pid1) const {
    Spec spec{.args = std::move(args), .env = env()};
    if (below_init) {
      spec.program = rules::trainit();
      spec.args = joined({"tini", "--", spec.program}, spec.args);
    }
    spec.before = [here = path("")] { contain(here); };
    return spec;
  }

  // In the new process.
  static void contain(const std::string& here) {
    const auto must = [](bool done) {
      if (!done) ::_exit(rules::kCannotStart);
    };
    must(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    must(::mount(here.c_str(), here.c_str(), nullptr, MS_BIND, nullptr) == 0);
    must(::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0);
    must(::chdir(here.c_str()) == 0);
    must(container().ptrace || ::prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) == 0);
  }

  // Two names that a user exchanges without end, until it goes out of scope.
  class Exchange {
   public:
    Exchange(uid_t user, const std::string& one, const std::string& other) : pid_(::fork()) {
      if (pid_ != 0) return;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      if (::setresuid(user, user, user) != 0) ::_exit(rules::kCannotStart);
      while (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
      }
      ::_exit(rules::kCannotStart);
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    ~Exchange() {
      EXPECT_EQ(::kill(pid_, SIGKILL), 0);
      int status = 0;
      ::waitpid(pid_, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status)) << "it could not exchange them";
    }

   private:
    pid_t pid_;
  };

  // Runs `script` in a shell as `user`, in the test's directory, with nothing of ours.
  static void as(uid_t user, const std::string& directory, const std::string& script) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
          ::setresuid(user, user, user) != 0 || ::chdir(directory.c_str()) != 0) {
        ::_exit(rules::kCannotStart);
      }
      ::execl("/bin/sh", "sh", "-ec", script.c_str(), nullptr);
      ::_exit(rules::kCannotStart);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << script;
  }
};

}  // namespace escape
