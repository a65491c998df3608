// The debug window with what stays in it, the job's time limit, and requests that nobody may send.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::kRunning;
using rules::Result;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kHold = "\"phase\": \"hold\"";

class Window : public rules::LifecycleTest {};
RULES_EITHER_WAY(Window);

TEST_P(Window, OpensBehindTheFailuresHooksAndKeepsTheServices) {
  hook("on-failure", "echo on-failure $TRAINIT_EXIT_CODE >> $HERE/journal");
  hook("post-stop", "echo post-stop >> $HERE/journal");
  Instance instance(job({"--hold", "1h", "--terminal=" + rules::payload() + " sleep-forever"},
                        shell("until [ -e $HERE/out/ready-0 ]; do :; done; exit 3")));
  instance.await_err("kept for debugging for 1h");
  await_state(kHold);
  const Result status = tool({"status"});
  EXPECT_EQ(status.code, 1);
  EXPECT_THAT(status.out, AllOf(HasSubstr("main exited with code 3"), HasSubstr("debug window"),
                                HasSubstr("terminal"), HasSubstr("left")));
  EXPECT_EQ(journal(), "on-failure 3\n");
  EXPECT_EQ(::kill(instance.only_child(), 0), 0) << "the terminal stays";
  EXPECT_EQ(tool({"release"}).code, 0);
  EXPECT_EQ(instance.wait(), 3);
  EXPECT_EQ(journal(), "on-failure 3\npost-stop\n");
  const Result late = tool({"release"});
  EXPECT_EQ(late.code, 2);
  EXPECT_THAT(late.err, HasSubstr("a job that has ended with exit code 3"));
}

// `docker exec C trainit release`, in the namespace that ends with PID 1.
int release_inside(const Instance& instance, const Words& env) {
  const pid_t helper = ::fork();
  if (helper == 0) {
    const std::string space = "/proc/" + std::to_string(instance.pid()) + "/ns/pid";
    const sys::Fd fd(::open(space.c_str(), O_RDONLY | O_CLOEXEC));
    if (::setns(fd.get(), CLONE_NEWPID) != 0) ::_exit(99);
    const pid_t inside = ::fork();
    if (inside == 0) {
      std::vector<char*> variables;
      for (const std::string& one : env) variables.push_back(const_cast<char*>(one.c_str()));
      variables.push_back(nullptr);
      const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(null, STDOUT_FILENO);
      // Behind the instance on their one processor: a batch process preempts no other one.
      const sched_param batch{};
      ::sched_setscheduler(0, SCHED_BATCH, &batch);
      ::execle(rules::trainit().c_str(), "trainit", "release", nullptr, variables.data());
      ::_exit(98);
    }
    int status = 0;
    ::waitpid(inside, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return child::wait_for(helper);
}

class Release : public rules::LifecycleTest {};
RULES_EITHER_WAY(Release);

// The instance ends at once, and its namespace with it.
TEST_P(Release, IsAnsweredAndEndsWellAlthoughItEndsTheNamespace) {
  if (!GetParam() || !rules::may_unshare()) GTEST_SKIP() << "needs a pid namespace";
  constexpr int kTimes = 200;
  cpu_set_t all;
  cpu_set_t first;
  ::sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&first);
  for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &first);
  }
  ::sched_setaffinity(0, sizeof first, &first);
  for (int i = 0; i < kTimes; ++i) {
    std::filesystem::remove_all(path("run"));
    Instance instance(spec({"--hold", "1h", "--", "/bin/sh", "-c", "exit 3"}));
    instance.await_err("kept for debugging");
    EXPECT_EQ(release_inside(instance, env()), 0) << i;
    EXPECT_EQ(instance.wait(), 3);
    if (HasFailure()) break;
  }
  ::sched_setaffinity(0, sizeof all, &all);
}

TEST_P(Window, IsFourHoursWithATerminal) {
  Instance instance(job({"--terminal=" + rules::payload() + " sleep-forever"}, shell("exit 3")));
  instance.await_err("kept for debugging for 4h");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 3);
}

TEST_P(Window, OpensWhenNoRestartIsLeft) {
  Instance instance(job({"--hold", "1h", "--max-restarts", "1", "--restart-delay", "1ms"},
                        shell("echo job >> $HERE/journal; exit 3")));
  await_state(kHold);
  EXPECT_EQ(journal(), "job\njob\n");
  const std::string before = read(path("run/state.json"));
  EXPECT_EQ(tool({"hold", "2h"}).code, 0);
  TestTimeout timeout;
  while (read(path("run/state.json")) == before) {
    ASSERT_TRUE(timeout.is_left()) << "the state has the old end of the window";
    ::usleep(1000);
  }
  EXPECT_EQ(tool({"hold", "--for", "0s"}).code, 0);
  EXPECT_EQ(instance.wait(), 3);
}

class TimeLimit : public rules::LifecycleTest {
 protected:
  [[nodiscard]] std::int64_t end_ms() const {
    const std::string text = read(path("run/state.json"));
    auto json = base::json::Document::parse(text, "state");
    auto value = json ? json->root().find("expires_ms") : std::nullopt;
    return value ? value->integer().value_or(0) : 0;
  }
};
RULES_EITHER_WAY(TimeLimit);

TEST_P(TimeLimit, EndsTheJobAsExpiredWith124) {
  hook("pre-stop", "echo pre-stop >> $HERE/journal");
  hook("on-failure", "echo on-failure >> $HERE/journal");
  hook("post-stop", "echo post-stop $TRAINIT_EXIT_CODE >> $HERE/journal");
  rules::Spec limited =
      job({"--max-duration", "300ms", "--hold", "1h", "--max-restarts", "3", "--grace", "5m"},
          {rules::payload(), "term-after", "0", "0"});
  // A TERM that comes before the payload waits for it would end that at once.
  limited.before = [] {
    sigset_t term;
    ::sigemptyset(&term);
    ::sigaddset(&term, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &term, nullptr);
  };
  Instance instance(limited);
  EXPECT_EQ(instance.wait(), 124);
  EXPECT_EQ(journal(), "pre-stop\npost-stop 124\n") << instance.err();
  await_told("saved-0");
  EXPECT_THAT(tool({"status"}).out, HasSubstr("state expired"));
}

TEST_P(TimeLimit, HasACodeThatMayBeGivenAsAnother) {
  const Result result = rules::run(spec({"--max-duration", "10ms", "--exit-codes", "124=0,0=9",
                                         "--", rules::payload(), "sleep-forever"}));
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(TimeLimit, IsMovedWhileTheJobRuns) {
  constexpr std::int64_t kHourMs = 3'600'000;
  Instance instance(spec({"--max-duration", "1h", "--", rules::payload(), "record-signals"}));
  await_told("ready-0");
  await_state(kRunning);
  const std::int64_t before_ms = end_ms();
  const Result extended = tool({"extend", "--for", "1h"});
  EXPECT_EQ(extended.code, 0) << extended.err;
  EXPECT_THAT(extended.out, HasSubstr("ends it in 1h 59m"));
  EXPECT_NEAR(static_cast<double>(end_ms() - before_ms), kHourMs, 1000);
  EXPECT_THAT(tool({"status"}).out, HasSubstr("time limit"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(told("signals-0"), "TERM parent\n") << "the job noticed nothing of it";
}

TEST_P(TimeLimit, ThatWasMovedEndsTheJobLater) {
  // A machine on which the limit was over before it was moved gets a longer one.
  for (const std::int64_t limit_ms : {1500, 15'000, 60'000}) {
    Instance instance(spec({"--max-duration", std::to_string(limit_ms) + "ms", "--",
                            rules::payload(), "sleep-forever"}));
    await_told("ready-0");
    TestTimeout timeout;
    while (instance.alive() && read(path("run/state.json")).find(kRunning) == std::string::npos) {
      ASSERT_TRUE(timeout.is_left()) << "no state is written";
      ::usleep(1000);
    }
    const Result extended = tool({"extend", "--for", "500ms"});
    EXPECT_EQ(instance.wait(), 124);
    if (extended.code == 0) {
      EXPECT_GE(instance.age_ms(), limit_ms + 490);
      return;
    }
    std::filesystem::remove(path("out/ready-0"));
  }
  FAIL() << "no limit was moved";
}

TEST_P(TimeLimit, IsShortened) {
  Instance instance(spec({"--max-duration", "1h", "--", rules::payload(), "sleep-forever"}));
  await_told("ready-0");
  await_state(kRunning);
  EXPECT_EQ(tool({"extend", "--left", "30m"}).out, "the job's time limit ends it in 30m\n");
  EXPECT_EQ(tool({"extend", "--left", "100ms"}).code, 0);
  EXPECT_EQ(instance.wait(), 124);
}

TEST_P(TimeLimit, IsGivenToAJobWithoutOne) {
  Instance instance(spec({"--", rules::payload(), "sleep-forever"}));
  await_told("ready-0");
  await_state(kRunning);
  EXPECT_EQ(tool({"extend", "--left", "1h"}).code, 0);
  EXPECT_THAT(tool({"status"}).out, HasSubstr("time limit"));
  EXPECT_EQ(tool({"extend", "--for", "1h"}).code, 0) << "there is one now";
  EXPECT_EQ(tool({"extend", "--left", "0"}).code, 0);
  EXPECT_EQ(instance.wait(), 124);
}

TEST_P(TimeLimit, ThatThereIsNotCannotBeMoved) {
  Instance instance(spec({"--", rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  await_state(kRunning);
  const Result refused = tool({"extend", "--for", "1h"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("without a time limit"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
}

// --- Requests that are refused ---

class Request : public rules::LifecycleTest {
 protected:
  // Sends a record of this size to the instance; what comes back, "" at once when it hangs up.
  [[nodiscard]] std::string send(std::size_t size) const {
    const sys::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = path("run/control");
    std::strncpy(address.sun_path, name.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    const std::string record(size, '\1');
    EXPECT_EQ(::send(socket.get(), record.data(), record.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(size));
    return child::read_to_end(socket.get());
  }
};
RULES_EITHER_WAY(Request);

TEST_P(Request, OfAnotherUserIsRefused) {
  if (!child::is_root()) GTEST_SKIP() << "needs root";
  Instance instance(spec({"--max-duration", "1h", "--", rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  await_state(kRunning);
  for (const Words& request : std::vector<Words>{
           {"checkpoint"}, {"extend", "--for", "1h"}, {"release"}, {"hold", "--for", "1h"}}) {
    const Result refused = rules::run(
        {.args = request, .env = env(), .pid1 = false, .before = [] { child::become_nobody(); }});
    EXPECT_EQ(refused.code, 2) << request[0];
    EXPECT_THAT(refused.err, HasSubstr("no instance of trainit of this user"));
  }
  EXPECT_EQ(tool({"status"}).code, 0);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
}

TEST_P(Request, OfAnotherSizeIsAnsweredAndTheJobGoesOn) {
  Instance instance(spec({"--max-duration", "1h", "--", rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  await_state(kRunning);
  const std::string answer = send(1);
  EXPECT_FALSE(answer.empty());
  EXPECT_EQ(send(100'000), answer);
  EXPECT_EQ(tool({"extend", "--for", "1h"}).code, 0) << "others are served";
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
}

}  // namespace
