// What a process of the job inherits, and what it may do to PID 1.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/keyctl.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/escape/border.h"
#include "tests/init/child.h"
#include "tests/init/refuse.h"
#include "tests/rules/shell.h"

namespace {

using escape::Border;
using escape::Instance;
using escape::Result;
using escape::Spec;
using escape::Words;
using testing::HasSubstr;

class Process : public Border {};

// Of the caller's: a directory of root's, by which openat goes past every mode above it.
TEST_F(Process, OfAnotherUserHasNoDescriptorOfTheCallers) {
  for (const bool other : {true, false}) {
    Words args = {"--", "/bin/sh", "-c", "echo fds: $(ls /proc/self/fd | tr '\\n' ' ')."};
    if (other) args.insert(args.begin(), {"--user", "1000:1000"});
    Spec spec = contained(args);
    spec.before = [before = spec.before, root = path("root")] {
      before();
      const int fd = ::open(root.c_str(), O_RDONLY | O_DIRECTORY);
      if (fd < 0 || ::dup2(fd, 17) != 17) ::_exit(rules::kCannotStart);
    };
    const Result result = rules::run(spec);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out.find(" 17 ") == std::string::npos, other) << result.out;
  }
}

// Keys are reached by possession, whatever the uid.
TEST_F(Process, OfAnotherUserHasNoKeyOfTheCallers) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "needs python3";
  if (::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1) < 0) {
    GTEST_SKIP() << "needs keys: " << std::strerror(errno);
  }
  const std::string look =
      "import ctypes\n"
      "key = ctypes.CDLL(None).syscall(" +
      std::to_string(SYS_keyctl) +
      ", 10, -3, b'user', b'trainit-test', 0)\n"  // KEYCTL_SEARCH in the session keyring
      "print('found' if key > 0 else 'none')";
  for (const char* user : {"0", "1000", "1000:1000"}) {
    Spec spec = contained({"--user", user, "--", "/usr/bin/python3", "-c", look});
    spec.before = [before = spec.before] {
      before();
      if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
          ::syscall(SYS_add_key, "user", "trainit-test", "secret", 6, KEY_SPEC_SESSION_KEYRING) <
              0) {
        ::_exit(rules::kCannotStart);
      }
    };
    const Result result = rules::run(spec);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, user == std::string("0") ? "found\n" : "none\n");
  }
}

// As Docker's filter does; the job has that filter too.
TEST_F(Process, OfAnotherUserStartsWhereKeysAreRefused) {
  for (const int error : {EPERM, ENOSYS}) {
    Spec spec = contained({"--user", "1000", "--", "/bin/sh", "-c", "echo started"});
    spec.before = [before = spec.before, error] {
      before();
      if (!refuse::calls({SYS_keyctl}, error)) ::_exit(rules::kCannotStart);
    };
    const Result result = rules::run(spec);
    EXPECT_EQ(result.out, "started\n") << result.err;
  }
}

// A job that may type into root's terminal has root's shell.
TEST_F(Process, OfAnotherUserHasNoTerminalOfTheCallers) {
  rules::Screen screen({"/bin/sh", "-c",
                        rules::trainit() +
                            " --user 1000:1000 -- /bin/sh -c "
                            "'cut -d\" \" -f7 /proc/$$/stat >" +
                            path("out/tty") + "'; echo end"},
                       env());
  ASSERT_TRUE(screen.await("end"));
  EXPECT_EQ(read(path("out/tty")), "0\n");
}

// Confined, also a job with trainit's own uid.
TEST_F(Process, ThatIsConfinedCannotReadTrainit) {
  const std::string look =
      "cat /proc/$PPID/environ >/dev/null 2>&1 && echo read; "
      "echo x 2>/dev/null >>/proc/$PPID/mem && echo opened; echo tried";
  Spec spec = contained({"--no-new-privs", "--", "/bin/sh", "-c", look});
  spec.before = [before = spec.before] {
    before();
    if (::setgroups(0, nullptr) != 0 || ::setresgid(1000, 1000, 1000) != 0 ||
        ::setresuid(1000, 1000, 1000) != 0) {
      ::_exit(rules::kCannotStart);
    }
  };
  give("run", 1000, 0755);
  const Result result = rules::run(spec);
  EXPECT_EQ(result.out, "tried\n") << result.err;
}

// Copies of trainit that have the job's uid and have not run their program yet.
struct Copies {
  int looks = 0;      // at one of them, at each of its system calls
  int traceable = 0;  // of those looks, a process of the same uid could have traced it
};

constexpr long kTraceAll = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                           PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD;

// Follows `init`, traced with kTraceAll, and all that it starts to the end of `init`.
Copies look_at_copies(pid_t init, uid_t user) {
  Copies copies;
  std::set<pid_t> programs;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) continue;
    const int event = status >> 16;
    if (event == PTRACE_EVENT_EXIT && pid == init) break;
    if (event == PTRACE_EVENT_EXEC) programs.insert(pid);
    const std::string directory = "/proc/" + std::to_string(pid);
    std::ifstream file(directory + "/status");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const bool theirs = text.find("\nUid:\t" + std::to_string(user) + "\t") != text.npos;
    if (pid != init && theirs && !programs.contains(pid)) {
      struct stat memory{};
      ++copies.looks;
      if (::stat((directory + "/mem").c_str(), &memory) == 0 && memory.st_uid == user) {
        ++copies.traceable;
      }
    }
    const int signal = WSTOPSIG(status);
    ::ptrace(PTRACE_SYSCALL, pid, nullptr, event == 0 && signal != (SIGTRAP | 0x80) ? signal : 0);
  }
  ::ptrace(PTRACE_DETACH, init, nullptr, nullptr);
  return copies;
}

// A rank that traces one that is being started would run what it likes, without the filter.
TEST_F(Process, OfTheJobCannotBeTracedBeforeItsProgramRuns) {
  for (Words args : {Words{"--user", "1000:1000", "--oom-score-adj", "900", "--", "true"},
                     Words{"--no-new-privs", "--", "true"}}) {
    const bool own = args[0] != "--user";
    if (own) give("run", escape::kJob, 0755);
    Spec spec = contained(args, false);  // traced from the start: never PID 1, nor below an init
    spec.pid1 = false;
    child::Pipe go = child::make_pipe();
    spec.before = [before = spec.before, fd = go.out.get(), own] {
      if (::unshare(CLONE_NEWNS) != 0) ::_exit(rules::kCannotStart);
      before();
      char byte = 0;
      std::ignore = ::read(fd, &byte, 1);
      if (own && (::setgroups(0, nullptr) != 0 || ::setresgid(1000, 1000, 1000) != 0 ||
                  ::setresuid(1000, 1000, 1000) != 0)) {
        ::_exit(rules::kCannotStart);
      }
    };
    Instance instance(spec);
    ASSERT_EQ(::ptrace(PTRACE_SEIZE, instance.pid(), nullptr, kTraceAll), 0);
    child::say(go.in.get(), "x");
    const Copies copies = look_at_copies(instance.pid(), escape::kJob);
    EXPECT_EQ(instance.wait(), 0) << instance.err();
    EXPECT_GT(copies.looks, 0);
    EXPECT_EQ(copies.traceable, 0) << args[0];
  }
}

// What somebody types is the shell's, also behind a job that reads all it can.
TEST_F(Process, OfAnotherUserReadsNothingThatIsTyped) {
  rules::Screen screen({"/bin/sh", "-c",
                        rules::trainit() +
                            " --user 1000:1000 -- /bin/sh -c "
                            "'for n in 0 1 2; do cat <&$n & done; wait; "
                            "echo none' >" +
                            path("out/read") + "; echo end"},
                       env());
  ASSERT_TRUE(screen.await("end"));
  EXPECT_EQ(read(path("out/read")), "none\n");
}

// Where trainit keeps its state the job would lead it elsewhere.
TEST_F(Process, OfAnotherUserDoesNotOwnTheRunDirectory) {
  make("home/run", 0, 0755);
  Spec spec = contained({"--user", "1000:1000", "--", "/bin/true"});
  spec.env.emplace_back("TRAINIT_RUN_DIR=" + path("home/run"));
  std::erase_if(spec.env, [this](const std::string& entry) {
    return entry == "TRAINIT_RUN_DIR=" + path("run");
  });
  const Result theirs = rules::run(spec);
  EXPECT_EQ(theirs.code, 125);
  EXPECT_THAT(theirs.err, HasSubstr("home (owner 1000"));

  // A link of the job's: nothing is written behind it.
  as(escape::kJob, path("home"), "ln -s " + path("root") + " state");
  spec.env.back() = "TRAINIT_RUN_DIR=" + path("home/state");
  const Result linked = rules::run(spec);
  EXPECT_THAT(linked.err, HasSubstr("the link"));
  EXPECT_TRUE(std::filesystem::is_empty(path("root")));

  // One that all may write.
  spec.env.back() = "TRAINIT_RUN_DIR=" + path("tmp");
  const Result shared = rules::run(spec);
  EXPECT_EQ(shared.code, 125);
  EXPECT_THAT(shared.err, HasSubstr("mode 1777"));
}

TEST_F(Process, LeavesTheModeOfASharedRunDirectoryAlone) {
  give("run", 0, 01777);
  EXPECT_EQ(rules::run(contained({"--", "/bin/true"})).code, 0);
  EXPECT_EQ(status_of("run").st_mode & 07777U, 01777U);
}

}  // namespace
