#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "init/engine/tasks/job.h"
#include "init/sys/clock.h"
#include "tests/init/end_by.h"
#include "tests/init/engine/supervise.h"
#include "tests/test_timeout.h"

namespace {

using testing::HasSubstr;
namespace event = lifecycle::event;
namespace fs = std::filesystem;

TEST_F(Supervise, EndsWithTheCodeOfTheSingleCommand) {
  EXPECT_EQ(run(single("exit 0")).code, 0);
  EXPECT_EQ(run(single("exit 3")).code, 3);
  EXPECT_EQ(run(single("kill -9 $$")).code, 137);
}

TEST_F(Supervise, RunsEachRankAndEndsWell) {
  auto outcome = run(ranks(3, "echo > $OUT/ran-$RANK_ID"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(told("ran"), 3);
}

// The first instance of the container has it, whatever run directory the second one has.
TEST_F(Supervise, LeavesTheTerminationLogOfAnotherInstanceAlone) {
  write("termination-log", "of the first");
  const sys::Fd first = engine::lock_termination_log(termination_log_.c_str());
  EXPECT_EQ(run(single("exit 3")).code, 3);
  EXPECT_EQ(read(termination_log_), "of the first");
}

TEST_F(Supervise, WritesTheTerminationLogOfAFailure) {
  write("termination-log", "");
  EXPECT_EQ(run(ranks(2, "exit $((RANK_ID * 5))")).code, 5);
  EXPECT_THAT(read(termination_log_),
              HasSubstr("trainit: rank-1 (node 0, device 1) exited with code 5"));
}

// --- Its own failure ---

constexpr const char* kBroken = "before_step";

// Runs the job with its logic failing at each event in turn. Returns how many events there were.
class Broken : public Supervise {
 protected:
  using Make = std::function<engine::Setup()>;
  using Check = std::function<void(std::size_t at, const child::Outcome& outcome)>;

  static std::size_t count_events(const Make& make) {
    child::Pipe count = child::make_pipe();
    engine::Setup setup = make();
    child::Outcome outcome = child::run([&setup] {
      setup.saved = proc::take_over_signals();
      std::size_t events = 0;
      setup.before_step = [&events](const auto&) { ++events; };
      engine::supervise(setup);
      child::say(STDOUT_FILENO, "\nevents " + std::to_string(events));
      return 0;
    });
    return std::stoul(outcome.out.substr(outcome.out.rfind(' ') + 1));
  }

  void break_everywhere(const Make& make, const Check& check) {
    auto broken_at = [&](std::size_t at) {
      forget();
      started_ms_ = sys::monotonic_ms();
      engine::Setup setup = make();
      setup.before_step = [at, seen = std::size_t{0}](const auto&) mutable {
        if (seen++ == at) child::end_by(std::runtime_error(kBroken));
      };
      return setup;
    };
    // A run may have some events more or less: a death is seen alone or with others.
    const std::size_t events = count_events(make) + 4;
    for (std::size_t at = 0; at < events; ++at) {
      check(at, run(broken_at(at)));
      if (auto outcome = run_as_pid1(broken_at(at))) check(at, *outcome);
      if (HasFailure()) return;
    }
  }

  std::int64_t started_ms_ = 0;
};

TEST_F(Broken, NeverLosesAJobThatEndsWell) {
  break_everywhere(
      [this] { return ranks(2, "echo > $OUT/began-$RANK_ID; exec > $OUT/ended-$RANK_ID"); },
      [this](std::size_t at, const child::Outcome& outcome) {
        SCOPED_TRACE("event " + std::to_string(at) + ": " + outcome.err);
        EXPECT_EQ(told("ended"), told("began"));
        EXPECT_EQ(outcome.code, told("began") == 2 ? 0 : 125);
        EXPECT_THAT(told("began"), testing::AnyOf(0, 2));
      });
}

TEST_F(Broken, NeverLosesTheCodeOfAFailure) {
  // rank 1 fails; rank 0 ends only when it is told to.
  break_everywhere(
      [this] {
        return ranks(2, "echo > $OUT/began-$RANK_ID; [ $RANK_ID = 1 ] && exit 7; exec sleep 60");
      },
      [this](std::size_t at, const child::Outcome& outcome) {
        SCOPED_TRACE("event " + std::to_string(at) + ": " + outcome.err);
        EXPECT_EQ(outcome.code, told("began") > 0 ? 7 : 125);
      });
}

TEST_F(Broken, NeverLosesTheCodeOfASingleCommand) {
  break_everywhere([this] { return single("echo > $OUT/began-0; exit 9"); },
                   [this](std::size_t at, const child::Outcome& outcome) {
                     SCOPED_TRACE("event " + std::to_string(at) + ": " + outcome.err);
                     EXPECT_EQ(outcome.code, told("began") == 1 ? 9 : 125);
                   });
}

TEST_F(Broken, NeverLosesAStopRequest) {
  // The last rank that is ready asks for the stop; each ends only when it is told to.
  break_everywhere(
      [this] {
        engine::Setup setup =
            ranks(2,
                  "echo > $OUT/began-$RANK_ID\n"
                  "[ -e $OUT/began-0 ] && [ -e $OUT/began-1 ] && kill -TERM $PPID\n"
                  "exec sleep 1000");
        setup.request.grace_ms = 5 * kAtOnceMs;
        return setup;
      },
      [this](std::size_t at, const child::Outcome& outcome) {
        SCOPED_TRACE("event " + std::to_string(at) + ": " + outcome.err);
        EXPECT_EQ(outcome.code, told("began") > 0 ? 143 : 125);
        EXPECT_LT(sys::monotonic_ms() - started_ms_, kAtOnceMs) << "they were killed, not told";
      });
}

TEST_F(Broken, NeverTakesAServiceOrAPostStopProcessForTheJob) {
  envgen::Plan plan;
  plan.framework = "mpi";
  plan.local_node = envgen::LocalNode{};
  plan.policy.post_stop_ms = 1000;
  plan.services = {shell("sshd", "echo > $OUT/service-0; exit 1")};
  plan.processes = {shell("main", "echo > $OUT/began-0; exit 6")};
  plan.post_stop = {shell("end", "exit 2")};
  break_everywhere([&] { return planned(plan); },
                   [this](std::size_t at, const child::Outcome& outcome) {
                     SCOPED_TRACE("event " + std::to_string(at) + ": " + outcome.err);
                     EXPECT_EQ(outcome.code, told("began") == 1 ? 6 : 125);
                   });
}

TEST_F(Broken, SaysSo) {
  engine::Setup setup = single("exit 4");
  setup.before_step = [](const lifecycle::Event& next) {
    if (std::holds_alternative<event::TasksEnded>(next)) child::end_by(std::runtime_error(kBroken));
  };
  auto outcome = run(std::move(setup));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("internal error"), HasSubstr(kBroken)));
}

TEST_F(Broken, EndsAlsoByWhatIsNoException) {
  engine::Setup setup = single("exit 4");
  setup.before_step = [](const lifecycle::Event& next) {
    if (std::holds_alternative<event::TaskStarted>(next)) child::end_by(7);
  };
  EXPECT_EQ(run(std::move(setup)).code, 4);
}

// --- Without what it needs ---

TEST_F(Supervise, SaysThatItHasTooFewDescriptors) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer needs descriptors of its own";
#endif
  for (rlim_t limit = 4; limit < 14; ++limit) {
    forget();
    engine::Setup setup = ranks(2, "echo > $OUT/ran-$RANK_ID");
    auto outcome = child::run([&setup, limit] {
      const rlimit few{limit, limit};
      ::setrlimit(RLIMIT_NOFILE, &few);
      const rlimit seconds{5, 5};
      ::setrlimit(RLIMIT_CPU, &seconds);  // no busy loop
      return supervise(std::move(setup));
    });
    SCOPED_TRACE(std::to_string(limit) + ": " + outcome.err);
    if (outcome.code == 0) {
      EXPECT_EQ(told("ran"), 2);
      continue;
    }
    EXPECT_EQ(outcome.code, 125);
    EXPECT_THAT(outcome.err, HasSubstr("open files"));
    EXPECT_LT(told("ran"), 2);
  }
}

// A log on a dead mount hangs the child that opens it, which still has our descriptors then.
TEST_F(Supervise, SleepsWhileARankCannotOpenItsLog) {
  fs::create_directories(path("run/logs"));
  ASSERT_EQ(::mkfifo(path("run/logs/rank-1.log").c_str(), 0600), 0);  // nobody reads it
  engine::Setup setup = ranks(2, "[ $RANK_ID = 0 ] || exit 0; echo x > $DONE; exec sleep 60");
  child::Pipe err = child::make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(err.in.get(), STDERR_FILENO);
    setup.saved = proc::take_over_signals();
    ::_exit(engine::supervise(setup));
  }
  read(path("done"));  // rank 0 runs: its start has been seen, or will be
  const std::string stat = "/proc/" + std::to_string(pid) + "/stat";
  auto ticks = [&stat] {
    const std::string text = read(stat);
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    long user = 0;
    long system = 0;
    fields >> user >> system;
    return user + system;
  };
  // What is measured is this time; what the start has left to do may take some of the first ones.
  constexpr int kMaxWindows = 30;
  long used = 0;
  for (int window = 0; window == 0 || (window < kMaxWindows && used > 5); ++window) {
    const long before = ticks();
    pollfd nothing{-1, 0, 0};
    ::poll(&nothing, 1, 300);
    used = ticks() - before;
  }
  EXPECT_LE(used, 5) << "of 30: it does not sleep";
  ::kill(pid, SIGKILL);
  child::wait_for(pid);
}

}  // namespace
