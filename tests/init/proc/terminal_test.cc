// Whose the terminal is, once the job that it was handed to has ended.

#include "init/proc/terminal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "init/proc/spawn.h"
#include "tests/init/child.h"

namespace {

constexpr int kMinuteMs = 60'000;

// A process as an init is in a container with a terminal: leader of its session, in the foreground,
// its signals taken over.
class TakeBackTerminal : public testing::Test {
 protected:
  ~TakeBackTerminal() override {
    if (leader_ <= 0) return;
    ::kill(leader_, SIGKILL);
    ::waitpid(leader_, nullptr, 0);
  }

  void lead(const std::function<int()>& body) {
    int keyboard = -1;
    leader_ = ::forkpty(&keyboard, nullptr, nullptr, nullptr);
    if (leader_ == 0) {
      sys::close_descriptors(3, {});
      saved_ = proc::take_over_signals();
      ::_exit(body());
    }
    ASSERT_GT(leader_, 0);
    keyboard_.reset(keyboard);
  }

  void await(const std::string& text) {
    while (shown_.find(text) == std::string::npos) {
      pollfd ready{keyboard_.get(), POLLIN, 0};
      std::array<char, 512> part;
      ASSERT_EQ(::poll(&ready, 1, kMinuteMs), 1) << shown_;
      const ssize_t count = ::read(keyboard_.get(), part.data(), part.size());
      ASSERT_GT(count, 0) << shown_;
      shown_.append(part.data(), static_cast<std::size_t>(count));
    }
  }
  void type(const std::string& keys) const { child::say(keyboard_.get(), keys); }
  int code() { return child::wait_for(std::exchange(leader_, -1)); }

  // Runs as a job does that has the terminal, and returns when it has ended; -1: it has stopped.
  [[nodiscard]] pid_t run(const std::string& script, bool in_our_group = false) const {
    proc::SpawnSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.callers_group = in_our_group;
    spec.foreground = !in_our_group;
    const auto spawned = proc::spawn(spec, saved_);
    int status = 0;
    if (!spawned || ::waitpid(spawned->pid, &status, WUNTRACED) < 0) ::_exit(90);
    return WIFSTOPPED(status) ? -1 : spawned->pid;
  }

  // A child with a group of its own, which has the terminal.
  static pid_t start_foreground_group() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (;;) ::pause();
    }
    ::setpgid(pid, pid);
    ::tcsetpgrp(STDIN_FILENO, pid);
    return pid;
  }

  proc::SavedSignals saved_;

 private:
  pid_t leader_ = -1;
  sys::Fd keyboard_;
  std::string shown_;
};

TEST_F(TakeBackTerminal, LetsTheInterruptKeyReachUsAfterTheJob) {
  lead([this] {
    const pid_t job = run(":");
    if (::tcgetpgrp(STDIN_FILENO) != job) return 91;  // or there is nothing to take back
    proc::take_back_terminal(job);
    proc::SignalSource signals;
    child::say(STDOUT_FILENO, "ready\n");
    std::array<pollfd, 1> sources = {signals.source()};
    std::array<proc::Received, 4> room;
    while (true) {
      signals.wait(sources, kMinuteMs);
      const auto received = signals.read(room);
      if (received.empty()) return 92;
      for (const proc::Received& one : received) {
        if (one.signal == SIGINT) return 0;
      }
    }
  });
  await("ready");
  type("\x03");
  EXPECT_EQ(code(), 0);
}

TEST_F(TakeBackTerminal, LetsTheNextJobRead) {
  lead([this] {
    proc::take_back_terminal(run(":"));
    return run("echo ask-$((1+1)); read line; echo got-$line") > 0 ? 0 : 93;
  });
  await("ask-2");
  type("this\n");
  await("got-this");
  EXPECT_EQ(code(), 0);
}

// A shell as the job hands the terminal on to its own jobs, and is killed.
TEST_F(TakeBackTerminal, TakesItFromWhateverTheJobLeft) {
  lead([this] {
    const pid_t job = run(":");
    const pid_t left = start_foreground_group();
    if (::tcgetpgrp(STDIN_FILENO) != left) return 91;
    proc::take_back_terminal(job);
    ::kill(left, SIGKILL);
    return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() ? 0 : 92;
  });
  EXPECT_EQ(code(), 0);
}

TEST_F(TakeBackTerminal, FindsItBehindTheErrorsAlone) {
  lead([this] {
    const pid_t job = run(":");
    ::close(STDIN_FILENO);
    ::close(STDOUT_FILENO);
    proc::take_back_terminal(job);
    return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp() ? 0 : 92;
  });
  EXPECT_EQ(code(), 0);
}

// Below a shell: this process is a job of the leader.
int below_a_shell(const std::function<bool()>& body) {
  const pid_t ours = ::fork();
  if (ours == 0) {
    ::setpgid(0, 0);
    ::_exit(body() ? 0 : 94);
  }
  return child::wait_for(ours);
}

TEST_F(TakeBackTerminal, LeavesAShellItsOwn) {
  lead([this] {
    const pid_t shell = ::getpgrp();
    return below_a_shell([&] {
      proc::take_back_terminal(run(":", true));
      return ::tcgetpgrp(STDIN_FILENO) == shell;
    });
  });
  EXPECT_EQ(code(), 0);
}

// A shell as the command made a group of its own, and was killed before it gave the terminal back.
TEST_F(TakeBackTerminal, BelowAShellTakesItFromTheEndedCommandsGroup) {
  lead([] {
    return below_a_shell([] {
      const pid_t command = start_foreground_group();
      ::kill(command, SIGKILL);
      child::wait_for(command);
      if (::tcgetpgrp(STDIN_FILENO) != command) return false;
      proc::take_back_terminal(command);
      return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
    });
  });
  EXPECT_EQ(code(), 0);
}

// The terminal's interrupt key, read by a process that shares its group with a job of ours: true
// where the job has had it too.
bool key_has_reached(const proc::JobControl& control, pid_t job) {
  proc::SignalSource signals;
  std::array<pollfd, 1> sources = {signals.source()};
  std::array<proc::Received, 4> room;
  while (true) {
    signals.wait(sources, kMinuteMs);
    for (const proc::Received& one : signals.read(room)) {
      if (one.signal == SIGINT) return control.has_reached(job, one);
    }
  }
}

void await_key() {
  while ((proc::pending_signals() & (1ULL << (SIGINT - 1))) == 0) ::sched_yield();
}

// It runs, and was answered by a key, before we do again.
TEST_F(TakeBackTerminal, AKeyThatComesWhileTheJobIsStartedReachesItOnce) {
  lead([] {
    return below_a_shell([] {
      ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
      auto control = proc::JobControl::at_start();
      control.started(proc::pending_signals());
      const pid_t job = ::fork();
      if (job == 0) {
        for (;;) ::pause();
      }
      child::say(STDOUT_FILENO, "ready\n");
      await_key();
      const bool reached = key_has_reached(control, job);
      ::kill(job, SIGKILL);
      return reached;
    });
  });
  await("ready");
  type("\x03");
  EXPECT_EQ(code(), 0);
}

TEST_F(TakeBackTerminal, AKeyThatCameBeforeTheJobHasNotReachedIt) {
  lead([] {
    return below_a_shell([] {
      ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
      auto control = proc::JobControl::at_start();
      child::say(STDOUT_FILENO, "ready\n");
      await_key();
      control.started(proc::pending_signals());
      const pid_t job = ::fork();
      if (job == 0) {
        for (;;) ::pause();
      }
      const bool reached = key_has_reached(control, job);
      ::kill(job, SIGKILL);
      return !reached;
    });
  });
  await("ready");
  type("\x03");
  EXPECT_EQ(code(), 0);
}

}  // namespace
