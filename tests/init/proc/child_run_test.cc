#include "init/proc/child_run.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "init/sys/clock.h"
#include "tests/init/child.h"
#include "tests/test_timeout.h"

namespace {

using proc::Captured;
using proc::ChildRun;
using proc::StartFailure;

const base::Environ kEnv({"PATH=/usr/bin:/bin"});

std::expected<Captured, StartFailure> capture(const std::string& script,
                                              const proc::RunLimits& limits = {.time_ms = 60'000}) {
  return proc::capture({"sh", kEnv}, {"-c", script}, limits);
}

TEST(Capture, KeepsWhatAProgramPrintsAndItsCode) {
  const auto captured = capture("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(captured.has_value());
  EXPECT_EQ(captured->output, "out\nerr\n");
  EXPECT_EQ(captured->exit_code, 3);
  EXPECT_FALSE(captured->late);
}

TEST(Capture, TellsAProgramThatIsMissingFromOneThatFails) {
  const auto missing = proc::capture({"no-such-program", kEnv}, {}, {.time_ms = 60'000});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().exit_code, 127);
  const auto failing = capture("kill -9 $$");
  ASSERT_TRUE(failing.has_value());
  EXPECT_EQ(failing->exit_code, 128 + SIGKILL);
}

TEST(Capture, EndsAProgramThatHangsAndWhatItStarted) {
  const std::int64_t before_ms = sys::monotonic_ms();
  const auto captured = capture("echo begun; sleep 1000 & sleep 1000", {.time_ms = 500});
  ASSERT_TRUE(captured.has_value());
  EXPECT_TRUE(captured->late);
  EXPECT_EQ(captured->cut_short, "no answer within 0.5 s");
  EXPECT_EQ(captured->exit_code, -1);
  EXPECT_THAT(captured->output, testing::AnyOf("begun\n", "")) << "on a busy machine";
  EXPECT_LT(sys::monotonic_ms() - before_ms, kAtOnceMs);
}

TEST(Capture, DoesNotAwaitOneThatClosesItsOutputAndStays) {
  const auto captured = capture("echo told; exec >&- 2>&-; sleep 1000");
  ASSERT_TRUE(captured.has_value());
  EXPECT_EQ(captured->output, "told\n");
  EXPECT_EQ(captured->cut_short, "no exit after the end of its output");
  EXPECT_EQ(captured->exit_code, -1);
}

// What a program has left in the background holds its output open.
TEST(Capture, IsOverWithTheExitOfTheProgram) {
  const auto captured = capture("sleep 1000 & echo told; exit 4");
  ASSERT_TRUE(captured.has_value());
  EXPECT_EQ(captured->output, "told\n");
  EXPECT_EQ(captured->exit_code, 4);
  EXPECT_EQ(captured->cut_short, "");
  EXPECT_FALSE(captured->late);
}

TEST(Capture, StopsAtItsBoundOfBytes) {
  const auto captured = capture("yes", {.time_ms = 60'000, .most_bytes = 100'000});
  ASSERT_TRUE(captured.has_value());
  EXPECT_GE(captured->output.size(), 100'000U);
  EXPECT_LT(captured->output.size(), 200'000U);
  EXPECT_FALSE(captured->late);
  EXPECT_EQ(captured->cut_short, "more than 100000 bytes of output");
}

// A child that writes on dies by SIGPIPE, perhaps before the next look.
TEST(ChildRun, IsCutShortAlthoughTheChildExitsThen) {
  const proc::RunLimits limits{.time_ms = 60'000, .most_bytes = 100'000};
  auto run = ChildRun::start(limits, [](int fd) {
    const std::string part(10'000, 'x');
    while (::write(fd, part.data(), part.size()) > 0) {
    }
    return 0;
  });
  ASSERT_TRUE(run.has_value());
  run->wait();
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  run->end();
  EXPECT_EQ(run->cut_short(), "more than 100000 bytes of output");
  EXPECT_EQ(run->exit_code(), -1);
}

TEST(Capture, GivesNoInput) {
  const auto captured = capture("cat; echo end");
  ASSERT_TRUE(captured.has_value());
  EXPECT_EQ(captured->output, "end\n");
}

TEST(Capture, GoesOnAfterASignal) {
  const auto outcome = child::run([] {
    ::signal(SIGALRM, [](int) {});
    const itimerval often{{0, 20'000}, {0, 20'000}};  // a fork takes less
    ::setitimer(ITIMER_REAL, &often, nullptr);
    const auto captured = capture("sleep 0.3; echo told");
    return captured && captured->output == "told\n" && captured->exit_code == 0 ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(ChildRun, OfAFunctionGivesWhatItWrites) {
  auto run = ChildRun::start({.time_ms = 60'000},
                             [](int fd) { return ::write(fd, "told", 4) == 4 ? 7 : 1; });
  ASSERT_TRUE(run);
  run->wait();
  run->end();
  EXPECT_EQ(run->output(), "told");
  EXPECT_EQ(run->exit_code(), 7);
}

TEST(ChildRun, EndsWhatRunsOnUnlessThatIsToStay) {
  for (const bool keeps : {true, false}) {
    child::Pipe alive = child::make_pipe();
    const int held = alive.in.get();
    auto run = ChildRun::start({.time_ms = 60'000, .keeps_group = keeps},
                               [](int fd) {
                                 const pid_t pid = ::fork();
                                 if (pid == 0) ::sleep(1000);
                                 return ::write(fd, &pid, sizeof pid) == sizeof pid ? 0 : 1;
                               },
                               {&held, 1});
    ASSERT_TRUE(run);
    alive.in.reset();
    run->wait();
    run->end();
    pid_t left = 0;
    ASSERT_EQ(run->output().size(), sizeof left);
    std::memcpy(&left, run->output().data(), sizeof left);
    if (keeps) {
      EXPECT_EQ(::kill(left, SIGKILL), 0);
    }
    EXPECT_EQ(child::read_to_end(alive.out.get()), "");
  }
}

// As one in D state: whoever traces a process is told of its death before its parent is.
TEST(ChildRun, DoesNotWaitForOneThatCannotBeReaped) {
  pid_t pid = 0;
  std::optional<ChildRun> run;
  // A child that stands still may need more time for its word.
  for (const std::int64_t time_ms : {1000, 5000, 25'000}) {
    auto started = ChildRun::start({.time_ms = time_ms}, [](int fd) {
      const pid_t self = ::getpid();
      if (::write(fd, &self, sizeof self) == sizeof self) ::sleep(1000);
      return 0;
    });
    ASSERT_TRUE(started);
    run.emplace(std::move(*started));
    while (run->output().size() < sizeof pid && !run->step()) ::poll(nullptr, 0, 5);
    if (run->output().size() >= sizeof pid) break;
  }
  ASSERT_EQ(run->output().size(), sizeof pid);
  std::memcpy(&pid, run->output().data(), sizeof pid);
  auto tracer = ChildRun::start({.time_ms = 60'000}, [pid](int fd) {
    if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return 1;
    if (::write(fd, "t", 1) == 1) ::sleep(1000);
    return 0;
  });
  ASSERT_TRUE(tracer);
  while (tracer->output().empty() && !tracer->step()) ::poll(nullptr, 0, 5);
  if (tracer->output().empty()) GTEST_SKIP() << "may not trace";
  const std::int64_t before_ms = sys::monotonic_ms();
  run->wait();
  run->end();
  EXPECT_EQ(run->exit_code(), -1);
  EXPECT_TRUE(run->late());
  EXPECT_LT(sys::monotonic_ms() - before_ms, kAtOnceMs);
}

// A stranger may have the number by then. A process in the group of that number stands for the
// stranger.
TEST(ChildRun, SignalsNobodyWhenAnotherReaperHasTheChild) {
  for (const bool looks : {true, false}) {
    child::Pipe alive = child::make_pipe();
    const int held = alive.in.get();
    auto run =
        ChildRun::start({.time_ms = 60'000},
                        [](int fd) {
                          const pid_t left = ::fork();
                          if (left == 0) ::sleep(1000);
                          const std::array<pid_t, 2> pids{::getpid(), left};
                          return ::write(fd, pids.data(), sizeof pids) == sizeof pids ? 0 : 1;
                        },
                        {&held, 1});
    ASSERT_TRUE(run);
    alive.in.reset();
    std::array<pid_t, 2> pids{};
    pollfd told{run->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&told, 1, -1), 1);
    ASSERT_EQ(::read(run->fd(), pids.data(), sizeof pids), static_cast<ssize_t>(sizeof pids));
    ASSERT_EQ(::waitpid(pids[0], nullptr, 0), pids[0]);
    if (looks) run->wait();
    run->end();
    EXPECT_EQ(run->exit_code(), -1);
    pollfd end{alive.out.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&end, 1, 300), 0) << "it was killed";
    ::kill(pids[1], SIGKILL);
  }
}

// A wait of 30 s for a program without output would wake the processor 15,000 times.
TEST(ChildRun, SleepsUntilTheExit) {
  auto run = ChildRun::start({.time_ms = 60'000, .linger_ms = 60'000}, [](int fd) {
    ::close(fd);
    ::poll(nullptr, 0, 1000);
    return 3;
  });
  ASSERT_TRUE(run);
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_THREAD, &before);
  run->wait();
  ::getrusage(RUSAGE_THREAD, &after);
  EXPECT_EQ(run->exit_code(), 3);
  EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 50);
}

}  // namespace
