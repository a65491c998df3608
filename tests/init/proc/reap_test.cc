#include "init/proc/reap.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include "tests/init/child.h"
#include "tests/init/refuse.h"

namespace {

// Until its death is there to be reaped; nothing is reaped.
void await_death(pid_t pid) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | __WALL);
}

pid_t start(const std::function<void()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return pid;
}

TEST(Reap, TellsCodesAndSignalsApart) {
  const auto outcome = child::run([] {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const pid_t exits = start([] { ::_exit(255); });
    const pid_t dies = start([] { ::raise(SIGKILL); });
    const pid_t late = start([] { ::raise(SIGRTMAX); });
    for (const pid_t pid : {exits, dies, late}) await_death(pid);
    const proc::Reaped reaped = proc::reap(10);
    if (reaped.deaths.size() != 3 || !reaped.childless) return 1;
    for (const proc::Death& death : reaped.deaths) {
      if (death.core) return 2;
      if (death.pid == exits && (death.signaled || death.value != 255)) return 3;
      if (death.pid == dies && (!death.signaled || death.value != SIGKILL)) return 4;
      if (death.pid == late && (!death.signaled || death.value != 64)) return 5;
    }
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Reap, DoesWithoutWaitid) {
  for (const int error : {EPERM, ENOSYS}) {
    const auto outcome = child::run([error] {
      if (!refuse::calls({SYS_waitid}, error)) return 1;
      const pid_t exits = start([] { ::_exit(255); });
      const pid_t dies = start([] { ::raise(SIGKILL); });
      std::vector<proc::Death> deaths;
      proc::Reaped reaped;
      while (!reaped.childless) {
        reaped = proc::reap(10);
        if (reaped.refused != 0) return 2;
        deaths.insert(deaths.end(), reaped.deaths.begin(), reaped.deaths.end());
      }
      for (const proc::Death& death : deaths) {
        if (death.pid == exits && (death.signaled || death.value != 255)) return 3;
        if (death.pid == dies && (!death.signaled || death.value != SIGKILL)) return 4;
      }
      return deaths.size() == 2 ? 0 : 5;
    });
    EXPECT_EQ(outcome.code, 0);
  }
}

TEST(Reap, SaysThatItCannotWaitAtAll) {
  const auto outcome = child::run([] {
    if (!refuse::calls({SYS_waitid, SYS_wait4}, EPERM)) return 1;
    const proc::Reaped reaped = proc::reap(10);
    return reaped.refused == EPERM && !reaped.childless ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Reap, WithoutAChildSaysSo) {
  const auto outcome = child::run([] {
    const proc::Reaped reaped = proc::reap(10);
    return reaped.childless && reaped.deaths.empty() ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Reap, LivingAndStoppedChildrenAreNoDeaths) {
  const auto outcome = child::run([] {
    const pid_t pid = start([] { ::raise(SIGSTOP); });
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT);
    const proc::Reaped reaped = proc::reap(10);
    if (reaped.childless || !reaped.deaths.empty()) return 1;
    ::kill(pid, SIGKILL);
    await_death(pid);
    return proc::reap(10).deaths.size() == 1 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Reap, LeavesTheRestForTheNextTurn) {
  const auto outcome = child::run([] {
    for (int i = 0; i < 100; ++i) await_death(start([] {}));
    const proc::Reaped first = proc::reap(64);
    if (first.deaths.size() != 64 || first.childless) return 1;
    const proc::Reaped second = proc::reap(64);
    return second.deaths.size() == 36 && second.childless ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Reap, TakesChildrenThatEndWithoutASignalToo) {
  const auto outcome = child::run([] {
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));
    if (pid == 0) ::_exit(7);
    await_death(pid);
    const proc::Reaped reaped = proc::reap(10);
    return reaped.deaths.size() == 1 && reaped.deaths[0].value == 7 ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(BecomeSubreaper, OrphansBecomeOurs) {
  const auto outcome = child::run([] {
    if (!proc::become_subreaper()) return 1;
    child::Pipe pid_pipe = child::make_pipe();
    child::Pipe end = child::make_pipe();
    const pid_t middle = start([&] {
      const pid_t orphan = start([&] {
        end.in.reset();
        child::read_to_end(end.out.get());
        ::_exit(9);
      });
      child::say(pid_pipe.in.get(),
                 std::string(reinterpret_cast<const char*>(&orphan), sizeof orphan));
    });
    pid_t orphan = 0;
    if (::read(pid_pipe.out.get(), &orphan, sizeof orphan) != sizeof orphan) return 2;
    await_death(middle);
    if (proc::reap(10).deaths.size() != 1) return 3;
    if (proc::children_of_self() != std::vector<pid_t>{orphan}) return 4;
    end.in.reset();
    await_death(orphan);
    const proc::Reaped reaped = proc::reap(10);
    return reaped.deaths.size() == 1 && reaped.deaths[0].value == 9 && reaped.childless ? 0 : 5;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(ChildrenOfSelf, AreThoseNotReapedYet) {
  const auto outcome = child::run([] {
    if (!proc::children_of_self().empty()) return 1;
    child::Pipe end = child::make_pipe();
    const auto wait_for_end = [&end] {
      end.in.reset();
      child::read_to_end(end.out.get());
    };
    std::vector<pid_t> pids = {start(wait_for_end), start(wait_for_end), start([] {})};
    await_death(pids[2]);
    std::vector<pid_t> seen = proc::children_of_self();
    std::ranges::sort(pids);
    std::ranges::sort(seen);
    if (seen != pids) return 2;
    seen = proc::children_by_scan();
    std::ranges::sort(seen);
    if (seen != pids) return 4;
    end.in.reset();
    for (const pid_t pid : pids) child::wait_for(pid);
    return proc::children_of_self().empty() ? 0 : 3;
  });
  EXPECT_EQ(outcome.code, 0);
}

}  // namespace
