// What a kernel, a seccomp profile or an image may lack is done without: trainit never gives up
// because of it.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;

class Fallback : public rules::EitherWay {
 protected:
  // trainit with this command, where `calls` are refused.
  [[nodiscard]] Spec without(std::vector<long> calls, const Words& command,
                             int error = EPERM) const {
    Spec made = spec(rules::joined({"--"}, command));
    made.before = [calls = std::move(calls), error] { rules::refuse_calls(calls, error); };
    return made;
  }
};
RULES_EITHER_WAY(Fallback);

// What the loop waits with, and what it could wait with.
const std::vector<std::vector<long>> kWays = {
    {SYS_signalfd4},
    {SYS_signalfd4, SYS_rt_sigtimedwait},
    {SYS_ppoll},
    {SYS_signalfd4, SYS_ppoll},
    {SYS_epoll_create1, SYS_epoll_ctl, SYS_timerfd_create},
    {SYS_prctl},
    {SYS_signalfd4, SYS_ppoll, SYS_epoll_create1, SYS_timerfd_create, SYS_prctl, SYS_pidfd_open,
     SYS_clone3, SYS_close_range},
};

TEST_P(Fallback, EndsWithTheCommandsOwnCode) {
  for (const auto& calls : kWays) {
    for (const int error : {EPERM, ENOSYS}) {
      const Result result = rules::run(without(calls, rules::shell("exit 6"), error));
      EXPECT_EQ(result.code, 6) << calls[0] << ": " << result.err;
    }
  }
}

TEST_P(Fallback, StopsWhenItIsTold) {
  for (const auto& calls : kWays) {
    Instance instance(without(calls, rules::shell("trap 'exit 9' TERM; echo up; "
                                                  "while :; do sleep 0.1 & wait; done")));
    instance.await_out("up");
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 9) << calls[0];
  }
}

TEST_P(Fallback, KillsWhatOutlivesTheGrace) {
  for (const auto& calls : kWays) {
    Spec stubborn = without(calls, {});
    stubborn.args = rules::joined({"--grace", "500ms", "--"},
                                  rules::shell("trap '' TERM; echo up; exec sleep 1000"));
    Instance instance(stubborn);
    instance.await_out("up");
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 137) << calls[0];
  }
}

TEST_P(Fallback, ForwardsEverySignalOfABurst) {
  for (const auto& calls : kWays) {
    if (std::ranges::find(calls, SYS_rt_sigtimedwait) != calls.end()) continue;  // payload needs it
    Instance instance(without(calls, {rules::payload(), "record-signals"}));
    await_told("ready-0");
    const std::vector<int> burst = {SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGSEGV,
                                    SIGILL, SIGABRT, SIGURG,  SIGALRM};
    for (const int signal : burst) instance.signal(signal);
    for (const int signal : burst) {
      const std::string name = std::string(::sigabbrev_np(signal)) + " ";
      TestTimeout timeout;
      while (told("signals-0").find(name) == std::string::npos) {
        ASSERT_TRUE(instance.alive());
        ASSERT_TRUE(timeout.is_left()) << name << " is lost, without call " << calls[0];
      }
    }
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 0);
    ::unlink(path("out/ready-0").c_str());
    ::unlink(path("out/signals-0").c_str());
  }
}

TEST_P(Fallback, RunsSeveralRanks) {
  for (const auto& calls : kWays) {
    Spec several = without(calls, {});
    several.args = ranks(2, rules::shell("exit $((RANK_ID * 4))"));
    EXPECT_EQ(rules::run(several).code, 4) << calls[0];
  }
}

TEST_P(Fallback, GivesACommandTheSignalsOfTheCaller) {
  const Words show = {rules::payload(), "status", "SigBlk", "SigIgn", "SigCgt"};
  const auto odd = [] {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (const int signal : {SIGUSR2, SIGRTMIN + 5}) ::sigaddset(&blocked, signal);
    ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
    for (const int signal : {SIGHUP, SIGCHLD}) ::signal(signal, SIG_IGN);
  };
  Spec plain{.args = show, .env = env(), .pid1 = GetParam(), .program = rules::payload()};
  plain.before = odd;
  const std::string wanted = rules::run(plain).out;
  ASSERT_THAT(wanted, HasSubstr("SigCgt"));
  Spec handlers = without({SYS_signalfd4}, show);
  handlers.before = [odd] {
    odd();
    rules::refuse_calls({SYS_signalfd4}, EPERM);
  };
  EXPECT_EQ(rules::run(handlers).out, wanted);
  handlers.args = ranks(2, show);
  EXPECT_EQ(rules::run(handlers).out, wanted);
}

TEST_P(Fallback, ReapsOrphansWithoutASignalfd) {
  const Result result = rules::run(without(
      {SYS_signalfd4},
      rules::shell("for i in 1 2 3 4 5 6 7 8; do (/bin/true & exec /bin/true); done; exit 3")));
  EXPECT_EQ(result.code, 3);
}

TEST_P(Fallback, NeedsNoStandardDescriptors) {
  Spec closed = spec({"--", "/bin/sh", "-c", "exit 9"});
  closed.before = [] {
    for (const int fd : {0, 1, 2}) ::close(fd);
  };
  EXPECT_EQ(rules::run(closed).code, 9);
  closed.args = ranks(2, rules::shell("exit $((RANK_ID * 4))"));
  EXPECT_EQ(rules::run(closed).code, 4);
}

// --- As PID 1 in an image that lacks something ---

class Image : public rules::JobTest {
 protected:
  void SetUp() override {
    if (!rules::may_unshare()) GTEST_SKIP() << "no namespaces of our own";
  }
};

TEST_F(Image, NeedsNoProc) {
  Spec bare = spec({"--", "/bin/sh", "-c", "ls /proc; echo up; exec sleep 1000"});
  bare.before = [] { ::mount("none", "/proc", "tmpfs", 0, nullptr); };
  Instance instance(bare);
  instance.await_out("up");
  EXPECT_EQ(instance.out(), "up\n") << "there is a /proc";
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  bare.args = ranks(2, rules::shell("exit $((RANK_ID * 4))"));
  EXPECT_EQ(rules::run(bare).code, 4);
}

TEST_F(Image, NeedsNothingToWriteTo) {
  Spec bare = spec({"--", "/bin/sh", "-c", "echo x >/tmp/x 2>/dev/null && exit 1; exit 6"});
  bare.env = {"PATH=/usr/bin:/bin"};
  bare.before = [] {
    for (const char* place : {"/run", "/tmp", "/dev/shm", "/"}) {
      ::mount(place, place, nullptr, MS_BIND, nullptr);
      ::mount(nullptr, place, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr);
    }
  };
  const Result result = rules::run(bare);
  EXPECT_EQ(result.code, 6) << result.err;
}

// --- 9. What PID 1 holds ---

TEST_P(Fallback, HoldsNoDirectoryOfTheCallers) {
  Spec moved = spec({"--", "/bin/sh", "-c", "pwd; echo up; exec sleep 1000"});
  moved.before = [here = path("")] { std::ignore = ::chdir(here.c_str()); };
  Instance instance(moved);
  instance.await_out("up");
  EXPECT_THAT(instance.out() + "/", testing::StartsWith(path("").substr(0, path("").size() - 1)));
  const std::string cwd = "/proc/" + std::to_string(instance.pid()) + "/cwd";
  std::string target;
  TestTimeout timeout;
  while (target != "/") {
    std::array<char, 4096> text;
    const ssize_t size = ::readlink(cwd.c_str(), text.data(), text.size());
    ASSERT_GT(size, 0);
    target.assign(text.data(), static_cast<std::size_t>(size));
    ASSERT_TRUE(timeout.is_left()) << target;
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_P(Fallback, StartsInADirectoryThatIsGone) {
  Spec gone = spec({"--", "/bin/sh", "-c", "readlink /proc/self/cwd; exit 7"});
  gone.before = [place = path("gone")] {
    ::mkdir(place.c_str(), 0755);
    std::ignore = ::chdir(place.c_str());
    ::rmdir(place.c_str());
  };
  const Result result = rules::run(gone);
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out, HasSubstr("gone (deleted)"));
}

}  // namespace
