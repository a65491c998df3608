#include "init/engine/fallback/fallback.h"

#include <sys/prctl.h>

#include <csignal>
#include <initializer_list>

#include "base/policy.h"
#include "init/proc/signals.h"
#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using engine::FallbackJob;

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : signals) ::sigaddset(&set, signal);
  return set;
}

int await(std::initializer_list<int> signals) {
  sigset_t set = set_of(signals);
  siginfo_t info{};
  return ::sigwaitinfo(&set, &info);
}

// A main task, whose signals are blocked until it awaits them.
pid_t start(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(body());
}

// Sent to this process by another one: what we send ourselves is no request.
void send_from_outside(int signal) {
  const pid_t sender = start([signal] { return ::kill(::getppid(), signal); });
  ::waitpid(sender, nullptr, 0);
}

// In a process of its own, as an init that failed.
child::Outcome outcome_of(const std::function<FallbackJob()>& begin) {
  return child::run([&begin] {
    proc::take_over_signals();
    proc::SignalSource signals;
    return engine::reap_and_forward(signals, begin());
  });
}
int code_of(const std::function<FallbackJob()>& begin) { return outcome_of(begin).code; }

base::Budget stop_within(std::int64_t grace_ms) {
  base::Policy policy;
  policy.grace_ms = grace_ms;
  return base::make_budget(policy, {}, 0);
}

FallbackJob of(std::initializer_list<pid_t> mains) {
  FallbackJob job;
  for (pid_t pid : mains) job.mains.push_back({.pid = pid});
  job.single = mains.size() == 1;
  job.stop = stop_within(60'000);
  return job;
}

TEST(Fallback, EndsWithItsOnlyTasksCode) {
  EXPECT_EQ(code_of([] { return of({start([] { return 0; })}); }), 0);
  EXPECT_EQ(code_of([] { return of({start([] { return 7; })}); }), 7);
  EXPECT_EQ(code_of([] { return of({start([] { return ::raise(SIGKILL); })}); }), 137);
}

TEST(Fallback, EndsWellWhenAllEndWell) {
  EXPECT_EQ(code_of([] { return of({start([] { return 0; }), start([] { return 0; })}); }), 0);
}

TEST(Fallback, StopsTheOthersWhenOneFailsAndEndsWithItsCode) {
  EXPECT_EQ(code_of([] {
              return of({start([] { return await({SIGTERM}) == SIGTERM ? 9 : 1; }),
                         start([] { return 3; })});
            }),
            3);
}

TEST(Fallback, ForwardsASignalToAllTasks) {
  auto wait = [] { return start([] { return await({SIGUSR1}) == SIGUSR1 ? 0 : 1; }); };
  EXPECT_EQ(code_of([&] {
              send_from_outside(SIGUSR1);
              return of({wait(), wait()});
            }),
            0);
}

TEST(Fallback, ForwardsAStopAndEndsWithTheSingleCommandsOwnCode) {
  for (int signal : {SIGTERM, SIGINT}) {
    EXPECT_EQ(code_of([signal] {
                send_from_outside(signal);
                return of({start([signal] { return await({signal}) == signal ? 42 : 1; })});
              }),
              42);
  }
}

TEST(Fallback, SendsAStopOnceWhicheverRequestItStandsFor) {
  EXPECT_EQ(code_of([] {
              send_from_outside(SIGINT);
              FallbackJob job = of({start([] {
                await({SIGTERM});
                ::kill(::getppid(), SIGTERM);
                ::kill(::getppid(), SIGRTMIN + 5);  // passed on behind it
                return await({SIGTERM, SIGRTMIN + 5}) == SIGTERM ? 5 : 0;
              })});
              job.signals = {{SIGINT, base::SignalRule::Kind::kSignal, SIGTERM}};
              return job;
            }),
            0);
}

// The child ends with 0 for what it was sent, if it is `told`; one that is sent nothing is ended by
// the TERM behind it, with 5.
TEST(Fallback, FollowsTheRulesForSignals) {
  using Kind = base::SignalRule::Kind;
  struct Case {
    base::SignalRule rule;
    int sent;
    int told;
    int code;
  };
  for (const Case& one : {Case{{SIGTERM, Kind::kSignal, SIGUSR1}, SIGTERM, SIGUSR1, 0},
                          Case{{SIGUSR2, Kind::kSignal, SIGTERM}, SIGUSR2, SIGTERM, 0},
                          Case{{SIGUSR2, Kind::kSignal, SIGUSR1}, SIGUSR2, SIGUSR1, 0},
                          Case{{SIGINT, Kind::kForward}, SIGINT, SIGINT, 0},
                          Case{{SIGUSR1, Kind::kNothing}, SIGUSR1, SIGUSR1, 5},
                          Case{{SIGUSR1, Kind::kFile}, SIGUSR1, SIGUSR1, 5},
                          Case{{SIGTERM, Kind::kCheckpoint}, SIGTERM, SIGTERM, 0}}) {
    EXPECT_EQ(code_of([&] {
                send_from_outside(one.sent);
                if (one.code == 5) send_from_outside(SIGTERM);
                FallbackJob job =
                    of({start([&one] { return await({one.told, SIGTERM}) == one.told ? 0 : 5; })});
                job.signals = {one.rule};
                return job;
              }),
              one.code)
        << one.sent << " " << one.told;
  }
}

TEST(Fallback, EndsWith128PlusNWhenSeveralAreStopped) {
  auto saved = [] { return start([] { return await({SIGTERM}) == SIGTERM ? 0 : 1; }); };
  EXPECT_EQ(code_of([&] {
              send_from_outside(SIGTERM);
              return of({saved(), saved()});
            }),
            143);
}

TEST(Fallback, KillsWhatOutlivesTheGrace) {
  auto stubborn = [] { return start([] { return await({SIGUSR2}); }); };
  EXPECT_EQ(code_of([&] {
              send_from_outside(SIGTERM);
              FallbackJob job = of({stubborn(), stubborn()});
              job.stop = stop_within(20);
              return job;
            }),
            143);
  EXPECT_EQ(code_of([&] {
              FallbackJob job = of({stubborn()});
              job.stop_signal = SIGTERM;
              job.stop = stop_within(20);
              return job;
            }),
            137);
}

// As any stop: the KILL comes before the end of the grace, which the runtime would not wait for.
TEST(Fallback, KillsWhenAnyStopKills) {
  const base::Budget stop = stop_within(2000);
  constexpr int kTries = 5;
  std::int64_t took_ms = 0;
  // A process that stands still for the rest of the grace proves nothing.
  for (int i = 0; i == 0 || (i < kTries && took_ms >= stop.exit_at); ++i) {
    const std::int64_t began_ms = sys::monotonic_ms();
    EXPECT_EQ(code_of([&] {
                FallbackJob job = of({start([] { return await({SIGUSR2}); })});
                job.stop_signal = SIGTERM;
                job.stop = stop;
                return job;
              }),
              137);
    took_ms = sys::monotonic_ms() - began_ms;
    EXPECT_GE(took_ms, stop.kill_at);
  }
  EXPECT_LT(took_ms, stop.exit_at);
}

TEST(Fallback, WaitsOutAGraceThatIsNoInt) {
  EXPECT_EQ(code_of([] {
              FallbackJob job = of({start([] { return await({SIGTERM}) == SIGTERM ? 0 : 1; })});
              job.stop_signal = SIGTERM;
              job.stop = stop_within(366LL * 86'400'000);
              return job;
            }),
            0);
}

TEST(Fallback, GoesOnWithTheStopThatThereWas) {
  EXPECT_EQ(code_of([] {
              FallbackJob job = of({start([] { return await({SIGTERM}) == SIGTERM ? 5 : 1; })});
              job.stop_signal = SIGTERM;
              return job;
            }),
            5);
}

TEST(Fallback, GoesOnWithTheFailureThatThereWas) {
  EXPECT_EQ(code_of([] {
              FallbackJob job = of({start([] { return await({SIGTERM}) == SIGTERM ? 0 : 1; })});
              job.single = false;
              job.failure_code = 77;
              return job;
            }),
            77);
}

TEST(Fallback, TellsNobodyTwiceToStop) {
  auto outcome = outcome_of([] {
    // The second task has its TERM after the first one would have had one.
    const pid_t told = start([] {
      await({SIGUSR1});
      sigset_t pending;
      ::sigpending(&pending);
      child::say(STDOUT_FILENO, ::sigismember(&pending, SIGTERM) != 0 ? "twice" : "once");
      return 0;
    });
    const pid_t untold = start([told] {
      await({SIGTERM});
      return ::kill(told, SIGUSR1);
    });
    FallbackJob job = of({told, untold});
    job.mains[0].stop_sent = true;
    job.stop_signal = SIGTERM;
    return job;
  });
  EXPECT_EQ(outcome.out, "once");
  EXPECT_EQ(outcome.code, 143);
}

TEST(Fallback, TakesNoOrphansCodeForATasks) {
  auto outcome = outcome_of([] {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    return of({start([] {
      const pid_t parent = start([] {
        for (int i = 0; i < 300; ++i) {
          if (::fork() == 0) ::_exit(1);  // its code is no main task's
        }
        return 0;
      });
      ::waitpid(parent, nullptr, 0);
      return 0;
    })});
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Fallback, EndsAtOnceWithoutATask) {
  EXPECT_EQ(code_of([] {
              FallbackJob job;
              job.failure_code = 3;
              return job;
            }),
            3);
}

}  // namespace
