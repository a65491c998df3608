#include "init/proc/tree.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "init/engine/tasks/stop.h"
#include "tests/init/child.h"

namespace {

using testing::StartsWith;

const std::string kAfterState = " 7 6 5 0 -1 1 2 3 4 5 6 7 8 9 10 11 12 0 987654321 4096 1\n";

// One that is there for as long as this object.
class Process {
 public:
  // `body` returns what is to follow when the process is up; it then waits for its end.
  explicit Process(const std::function<void()>& body) {
    const child::Pipe up = child::make_pipe();
    pid_ = ::fork();
    if (pid_ != 0) {
      char byte = 0;
      ::read(up.out.get(), &byte, 1) != 1 ? ::abort() : void();
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    if (::write(up.in.get(), "u", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

bool holds(const std::vector<proc::Member>& members, pid_t pid) {
  return std::ranges::find(members, pid, &proc::Member::pid) != members.end();
}

bool is_pending(int signal) {
  sigset_t set;
  ::sigpending(&set);
  return ::sigismember(&set, signal) == 1;
}

void hold(int signal) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

TEST(Member, IsReadFromAStatWhoseNameHoldsAnything) {
  const auto member = proc::parse_member("42 (a) R (b)) S" + kAfterState);
  ASSERT_TRUE(member.has_value());
  EXPECT_EQ(member->pid, 42);
  EXPECT_EQ(member->parent, 7);
  EXPECT_EQ(member->group, 6);
  EXPECT_EQ(member->start, 987654321U);
}

TEST(Member, ExitsWhereNoSignalChangesItsEndAnyMore) {
  const std::string before = "42 (a) R 7 6 5 0 -1 ";
  const std::string after = " 1 2 3 4 5 6 7 8 20 0 1 0 987654321 1";
  EXPECT_FALSE(proc::parse_member(before + "4194304" + after)->exits);
  EXPECT_TRUE(proc::parse_member(before + "4194308" + after)->exits) << "in exit(2)";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(3);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(proc::find_member(child)->exits) << "a zombie";
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(proc::find_member(::getpid())->exits);
}

TEST(Member, IsReadFromTheKernelsOwn) {
  const auto outcome = child::run([] {
    ::prctl(PR_SET_NAME, ") S 1 (x");
    const auto self = proc::find_member(::getpid());
    if (!self || self->pid != ::getpid()) return 1;
    return self->parent == ::getppid() && self->group == ::getpgrp() ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Member, IsNoneOfACutOrForeignText) {
  const std::string whole = "42 (name) S" + kAfterState;
  for (std::size_t size = 0; size < whole.find("987654321"); ++size) {
    EXPECT_FALSE(proc::parse_member(whole.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(proc::parse_member("not (one").has_value());
}

TEST(Descendants, AreThoseOfAnySessionNearestFirst) {
  const child::Pipe pids = child::make_pipe();
  const Process parent([&pids] {
    const pid_t below = ::fork();
    if (below == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setsid();
      // By now it ends with its parent, which the test waits for.
      const pid_t own = ::getpid();
      if (::write(pids.in.get(), &own, sizeof own) != sizeof own) ::_exit(1);
      while (true) ::pause();
    }
  });
  pid_t below = 0;
  ASSERT_EQ(::read(pids.out.get(), &below, sizeof below), static_cast<ssize_t>(sizeof below));
  const auto all = proc::descendants({});
  ASSERT_TRUE(all.has_value());
  EXPECT_TRUE(holds(*all, parent.pid()));
  EXPECT_TRUE(holds(*all, below));
  EXPECT_TRUE(std::ranges::is_sorted(*all, {}, &proc::Member::depth));
  EXPECT_FALSE(holds(*all, ::getpid()));
  EXPECT_FALSE(holds(*all, ::getppid()));
  const auto others = proc::descendants({parent.pid()});
  ASSERT_TRUE(others.has_value());
  EXPECT_FALSE(holds(*others, parent.pid()));
  EXPECT_FALSE(holds(*others, below));
}

TEST(SignalMember, NeverReachesAnotherProcessOfThePid) {
  const auto outcome = child::run([] {
    hold(SIGUSR1);
    auto self = proc::find_member(::getpid());
    if (!self) return 1;
    ++self->start;
    proc::signal_member(*self, SIGUSR1);
    if (is_pending(SIGUSR1)) return 2;
    --self->start;
    proc::signal_member(*self, SIGUSR1);
    return is_pending(SIGUSR1) ? 0 : 3;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(StateText, NamesTheProcessAndItsState) {
  const Process one([] { ::prctl(PR_SET_NAME, "odd) name"); });
  // On its way to pause(), or there.
  EXPECT_THAT(proc::state_text(one.pid()),
              StartsWith("pid " + std::to_string(one.pid()) + " (odd) name), state "));
}

TEST(StateText, OfAZombieOrNothingIsEmpty) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(proc::state_text(pid), "");
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(proc::state_text(pid), "");
}

// A shell that runs init and job in one group: the init must not stop itself.
TEST(Stopper, NeverSignalsItsOwnGroup) {
  for (const auto scope : {base::StopScope::kGroup, base::StopScope::kTree}) {
    const auto outcome = child::run([scope] {
      ::setpgid(0, 0);
      const Process task([] {});
      hold(SIGTERM);
      engine::Stopper stopper;
      stopper.begin_step();
      stopper.send({.main = task.pid(), .signal = SIGTERM, .scope = scope, .spared = {}});
      siginfo_t info{};
      ::waitid(P_PID, static_cast<id_t>(task.pid()), &info, WEXITED | WNOWAIT);
      return info.si_status == SIGTERM && !is_pending(SIGTERM) ? 0 : 1;
    });
    EXPECT_EQ(outcome.code, 0);
  }
}

// What the terminal sent to the whole group has reached all in it.
TEST(Stopper, DoesNotRepeatWhatTheTerminalSent) {
  for (const auto scope :
       {base::StopScope::kMain, base::StopScope::kGroup, base::StopScope::kTree}) {
    const auto outcome = child::run([scope] {
      ::setpgid(0, 0);
      const Process task([] {});
      engine::Stopper stopper;
      stopper.send(
          {.main = task.pid(), .signal = SIGKILL, .scope = scope, .reached = true, .spared = {}});
      siginfo_t info{};
      ::waitid(P_PID, static_cast<id_t>(task.pid()), &info, WEXITED | WNOWAIT | WNOHANG);
      return info.si_pid == 0 ? 0 : 1;
    });
    EXPECT_EQ(outcome.code, 0);
  }
}

TEST(Stopper, RemembersWhoHasHadTheTerm) {
  const auto outcome = child::run([] {
    const Process task([] {
      ::setpgid(0, 0);
      hold(SIGTERM);
    });
    engine::Stopper stopper;
    if (stopper.has_had_term(task.pid())) return 1;
    stopper.send(
        {.main = task.pid(), .signal = SIGTERM, .scope = base::StopScope::kGroup, .spared = {}});
    if (!stopper.has_had_term(task.pid())) return 2;
    stopper.forget();
    return stopper.has_had_term(task.pid()) ? 3 : 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

}  // namespace
