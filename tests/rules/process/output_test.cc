// Rule 7: whoever reads stdout and stderr, or does not, PID 1 goes on; and their descriptions stay
// as the caller made them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include <filesystem>
#include <sstream>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Spec;
using testing::HasSubstr;
using testing::Not;

class Output : public rules::EitherWay {
 protected:
  // Both ends stay open here, so that neither reading nor writing ends.
  static void fill(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    const std::string bytes(4096, 'x');
    while (::write(fd, bytes.data(), bytes.size()) > 0) {
    }
    while (::write(fd, "x", 1) > 0) {
    }
    ::fcntl(fd, F_SETFL, flags);
  }
};
RULES_EITHER_WAY(Output);

TEST_P(Output, ThatNobodyReadsStopsNoStop) {
  child::Pipe unread = child::make_pipe();
  Spec flood = spec({"--", rules::payload(), "stdout-flood"});
  flood.before = [fd = unread.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  await_told("blocked-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// Lines of trainit itself: the start, the stop, the end.
TEST_P(Output, FullOnStderrStopsNeitherTheStartNorTheStop) {
  child::Pipe pipe = child::make_pipe();
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const sys::Fd ends[] = {sys::Fd(pair[0]), sys::Fd(pair[1])};
  for (int full : {pipe.in.get(), ends[0].get()}) {
    fill(full);
    Spec job = spec(ranks(2, {rules::payload(), "sleep-forever"}));
    job.before = [full] { ::dup2(full, STDERR_FILENO); };
    Instance instance(job);
    await_told("ready-0");
    await_told("ready-1");
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 143);
    std::filesystem::remove(path("out/ready-0"));
    std::filesystem::remove(path("out/ready-1"));
  }
}

TEST_P(Output, FullOnStderrDoesNotHoldUpABadOption) {
  child::Pipe pipe = child::make_pipe();
  fill(pipe.in.get());
  Spec bad = spec({"--no-such-option"});
  bad.before = [fd = pipe.in.get()] { ::dup2(fd, STDERR_FILENO); };
  EXPECT_EQ(rules::run(bad).code, 125);
}

TEST_P(Output, IsAPipeWhoseReaderWentAway) {
  child::Pipe pipe = child::make_pipe();
  pipe.out.reset();
  Spec job = spec(ranks(2, {rules::payload(), "exit", "3"}));
  job.before = [fd = pipe.in.get()] {
    ::dup2(fd, STDOUT_FILENO);
    ::dup2(fd, STDERR_FILENO);
  };
  EXPECT_EQ(rules::run(job).code, 3);
}

TEST_P(Output, HasItsFlagsAsTheCallerSetThem) {
  child::Pipe out = child::make_pipe();
  child::Pipe err = child::make_pipe();
  child::Pipe in = child::make_pipe();
  Spec job = spec(ranks(2, {rules::payload(), "sleep-forever"}));
  job.before = [&] {
    ::dup2(in.out.get(), STDIN_FILENO);
    ::dup2(out.in.get(), STDOUT_FILENO);
    ::dup2(err.in.get(), STDERR_FILENO);
  };
  auto flags = [&] {
    return std::array{::fcntl(in.out.get(), F_GETFL), ::fcntl(out.in.get(), F_GETFL),
                      ::fcntl(err.in.get(), F_GETFL)};
  };
  const auto before = flags();
  Instance instance(job);
  await_told("ready-0");
  EXPECT_EQ(flags(), before);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_EQ(flags(), before);
}

TEST_P(Output, OfTheFirstRankIsStdoutAndOfTheOthersAFile) {
  const Result result =
      rules::run(spec(ranks(3, rules::shell("echo out $RANK_ID; echo err $RANK_ID >&2"))));
  EXPECT_EQ(result.out, "out 0\n");
  EXPECT_THAT(result.err, HasSubstr("\nerr 0\n"));
  EXPECT_EQ(log_of(1), "out 1\nerr 1\n");
  EXPECT_EQ(log_of(2), "out 2\nerr 2\n");
}

TEST_P(Output, OfASingleCommandIsUntouched) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  write("bytes", bytes);
  EXPECT_EQ(rules::run(spec({"--", "/bin/cat", path("bytes")})).out, bytes);
  EXPECT_EQ(rules::run(spec({"--", "/bin/cat", path("bytes")})).err, "");
}

TEST_P(Output, IsJsonOnRequestALineAnEvent) {
  const Result result =
      rules::run(spec(ranks(2, rules::shell("exit 1"), {"--log-format", "json"})));
  std::istringstream lines(result.err);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(line,
                testing::MatchesRegex(
                    R"(\{"time":"[^"]*Z","level":"[a-z]*",("rank":0,|"rank":1,)?"message":.*"\})"));
  }
  EXPECT_GE(count, 3);
}

TEST_P(Output, OfTheEnvironmentFilesMasksSecrets) {
  Spec job = spec(ranks(2, {rules::payload(), "exit", "0"}));
  job.env.emplace_back("HF_TOKEN=hf_very_secret");
  EXPECT_EQ(rules::run(job).code, 0);
  const std::string saved = read(path("run/logs/rank-1.env"));
  EXPECT_THAT(saved, HasSubstr("RANK_ID=1\n"));
  EXPECT_THAT(saved, HasSubstr("HF_TOKEN=***\n"));
  EXPECT_THAT(saved, Not(HasSubstr("very_secret")));
}

TEST_P(Output, IsNothingWhere012AreClosed) {
  for (int mask = 1; mask < 8; ++mask) {
    Spec closed = spec({"--", rules::payload(), "exit", "9"});
    closed.before = [mask] {
      for (int fd = 0; fd < 3; ++fd) {
        if ((mask & 1 << fd) != 0) ::close(fd);
      }
    };
    EXPECT_EQ(rules::run(closed).code, 9) << mask;
    closed.args = ranks(2, {rules::payload(), "exit", "8"});
    EXPECT_EQ(rules::run(closed).code, 8) << mask;
  }
  // Nothing of ours became somebody's stdout.
  EXPECT_THAT(read(path("run/state.json")), testing::StartsWith("{"));
  EXPECT_THAT(read(path("run/logs/rank-1.log")), testing::IsEmpty());
}

// A terminal: the single command is in its foreground, so that ^C reaches it.
TEST_P(Output, OnATerminalHasTheCommandInItsForeground) {
  const sys::Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(::grantpt(master.get()), 0);
  ASSERT_EQ(::unlockpt(master.get()), 0);
  const std::string terminal = ::ptsname(master.get());
  Spec job = spec({"--", "/bin/sh", "-c",
                   "trap 'echo interrupted; exit 5' INT; echo ready > $HERE/ready\n"
                   "while :; do read x < $HERE/never; done"});
  for (const char* name : {"ready", "never"}) ::mkfifo(path(name).c_str(), 0600);
  job.before = [&terminal] {
    ::setsid();
    const int fd = ::open(terminal.c_str(), O_RDWR);
    for (int number = 0; number < 3; ++number) ::dup2(fd, number);
    ::close(fd);
  };
  Instance instance(job);
  EXPECT_EQ(read(path("ready")), "ready\n");
  child::say(master.get(), "\x03");
  EXPECT_EQ(instance.wait(), 5);
}

// --- The termination log ---

TEST(TerminationLog, HasTheDiagnosisOfAFailureAndOfBadInput) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a mount namespace";
  const struct {
    rules::Words args;
    std::string text;
  } cases[] = {
      {{"--output", "inherit", "--max-restarts", "1", "--", "/bin/sh", "-c", "echo boom; exit 3"},
       "its last lines:\n  boom\n"},
      {{"--", "/no/program"}, "/no/program"},
      {{"--max-duration", "10ms", "--", rules::payload(), "sleep-forever"}, "--max-duration"},
      {{"--rank-table", "/no/table", "--rank-table-timeout", "0", "--", "true"}, "/no/table"},
      {{"--graze", "1"}, "--graze"}};
  for (const auto& [args, text] : cases) {
    // A /dev of its own, so that the host's stays as it is, and a /run without another instance.
    rules::Words words = rules::shell(
        "mount -t tmpfs none /run && mount -t tmpfs none /dev && mknod /dev/null c 1 3 && "
        ": > /dev/termination-log && \"$@\" 2> /dev/null; cat /dev/termination-log");
    words = rules::joined(std::move(words), {"sh", rules::trainit()});
    const Result result = rules::run({.args = rules::joined(std::move(words), args),
                                      .env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
                                      .program = "/bin/sh"});
    EXPECT_THAT(result.out, AllOf(HasSubstr(text), testing::EndsWith("\n")));
  }
}

}  // namespace
