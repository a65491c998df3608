#include "init/sys/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <sstream>

#include "init/proc/spawn.h"
#include "tests/init/child.h"

namespace {

using sys::log::Format;
using sys::log::Level;
using testing::MatchesRegex;

std::string logged(const std::function<void()>& body) {
  return child::run([&body] {
           body();
           return 0;
         })
      .err;
}

std::string human(std::string_view message) {
  return logged([message] {
    sys::log::open(Level::kInfo, Format::kHuman, false);
    sys::log::info(message);
  });
}

std::string json(std::string_view message) {
  return logged([message] {
    sys::log::open(Level::kInfo, Format::kJson, false);
    sys::log::error(message);
  });
}

// Makes `fd` the standard error, writes to it until nothing fits, and leaves it blocking.
bool fill_stderr(int fd) {
  if (::dup2(fd, STDERR_FILENO) < 0) return false;
  const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
  ::fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
  const std::string block(1024, '#');
  while (::write(STDERR_FILENO, block.data(), block.size()) > 0) {
  }
  while (::write(STDERR_FILENO, "#", 1) > 0) {
  }
  return ::fcntl(STDERR_FILENO, F_SETFL, flags) == 0;
}

// Three lines for a reader that does not read, and one when it does again. `after` is what it then
// finds behind the filling.
int drop_three(int reader, std::string* after) {
  sys::log::open(Level::kInfo, Format::kHuman, false);
  for (int i = 0; i < 3; ++i) sys::log::info("lost");
  if (sys::log::dropped() != 3) return 11;
  const std::string filling = child::read_now(reader);
  if (filling.find('l') != std::string::npos) return 12;
  sys::log::info("read again");
  *after = child::read_now(reader);
  return sys::log::dropped() == 3 ? 0 : 13;
}

constexpr const char* kAfter =
    "trainit: warning: lines dropped, as stderr did not take them: 3\n"
    "trainit: read again\n";

TEST(Log, ALineSaysWhoAndHowBad) {
  EXPECT_EQ(logged([] {
              sys::log::open(Level::kDebug, Format::kHuman, false);
              sys::log::debug("a");
              sys::log::info("b");
              sys::log::warning("c");
              sys::log::error("d");
            }),
            "trainit: debug: a\ntrainit: b\ntrainit: warning: c\ntrainit: error: d\n");
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  EXPECT_EQ(logged([] {
              sys::log::open(Level::kWarning, Format::kHuman, false);
              sys::log::debug("a");
              sys::log::info("b");
              sys::log::warning("c");
              if (sys::log::dropped() != 0) sys::log::error("these do not count as dropped");
            }),
            "trainit: warning: c\n");
}

TEST(Log, HasTheTimeInUtcWhenAsked) {
  EXPECT_THAT(logged([] {
                ::setenv("TZ", "Asia/Shanghai", 1);
                sys::log::open(Level::kInfo, Format::kHuman, true);
                sys::log::info("b");
              }),
              MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9]Z trainit: b\n"));
}

TEST(Log, SaysWhichNodeItIsFromOnceThatIsKnown) {
  EXPECT_EQ(logged([] {
              sys::log::open(Level::kInfo, Format::kHuman, false);
              sys::log::info("a");
              sys::log::set_origin(1, "worker-b");
              sys::log::warning("b", 9);
            }),
            "trainit: a\ntrainit[node 1]: warning: b\n");
}

TEST(Log, JsonHasTheNodeTheHostAndTheRankThatTheLineIsAbout) {
  EXPECT_THAT(logged([] {
                sys::log::open(Level::kInfo, Format::kJson, false);
                sys::log::error("a", 9);
                sys::log::set_origin(1, "odd\"host");
                sys::log::info("b");
                sys::log::error("c", 0);
              }),
              MatchesRegex(".*\"level\":\"error\",\"rank\":9,\"message\":\"a\".\n"
                           ".*\"level\":\"info\",\"node\":1,\"host\":\"odd.\"host\","
                           "\"message\":\"b\".\n"
                           ".*\"host\":\"odd.\"host\",\"rank\":0,\"message\":\"c\".\n"));
}

TEST(Log, JsonIsOneObjectALine) {
  EXPECT_THAT(json("say \"x\" \\ y"),
              MatchesRegex("\\{\"time\":\"20[0-9-]+T[0-9:.]+Z\",\"level\":\"error\","
                           "\"message\":\"say \\\\\"x\\\\\" \\\\\\\\ y\"\\}\n"));
}

TEST(Log, AMessageStaysOneLineAndCannotPaintTheTerminal) {
  EXPECT_EQ(human("a\nb\r\tc\x1b[31m\x7f\xc2\x9b"), "trainit: a\\nb\\r\\tc\\x1b[31m\\x7f\\x9b\n");
  EXPECT_THAT(json("a\nb\x01"), testing::HasSubstr(R"("message":"a\\nb\\x01"})"));
}

TEST(Log, Utf8StaysAndWhatIsNoneIsShown) {
  EXPECT_EQ(human("r\xc3\xa4nge \xe6\x98\x87 \xf0\x9f\x9a\x80"),
            "trainit: r\xc3\xa4nge \xe6\x98\x87 \xf0\x9f\x9a\x80\n");
  EXPECT_EQ(human("\xff \xc0\xaf \xe6\x98"), "trainit: \\xff \\xc0\\xaf \\xe6\\x98\n");
}

TEST(Log, AWarningThatIsProvokedAgainAndAgainDoesNotFillIt) {
  const std::string text = logged([] {
    sys::log::open(Level::kInfo, Format::kHuman, false);
    for (int i = 0; i < 1000; ++i) {
      sys::log::warning("the tee was stopped");
      if (i % 100 == 0) sys::log::warning("another one");
    }
    for (int i = 0; i < 20; ++i) sys::log::info("step");
  });
  EXPECT_EQ(std::ranges::count(text, '\n'), 10 + 10 + 20) << text;
}

TEST(Log, ALongLineIsCutWithAMark) {
  const std::string line = human(std::string(100'000, 'x'));
  EXPECT_EQ(line.size(), PIPE_BUF);
  EXPECT_TRUE(line.ends_with("xxx [cut]\n"));
  const std::string fits(PIPE_BUF - std::string("trainit: \n").size(), 'x');
  EXPECT_EQ(human(fits), "trainit: " + fits + "\n");
}

TEST(Log, ALongLineIsNotCutWithinACharacter) {
  std::string message;
  while (message.size() < 10'000) message += "\xe6\x98\x87\n";
  const std::string line = human(message);
  EXPECT_LE(line.size(), PIPE_BUF);
  EXPECT_THAT(line, testing::AnyOf(testing::EndsWith("\xe6\x98\x87 [cut]\n"),
                                   testing::EndsWith("\\n [cut]\n")));
  EXPECT_TRUE(json(message).ends_with(" [cut]\"}\n"));
  EXPECT_LE(json(message).size(), PIPE_BUF);
}

TEST(Log, BeforeItIsOpenLinesGoNowhere) {
  EXPECT_EQ(logged([] { sys::log::error("x"); }), "");
}

TEST(Log, AFullPipeNeverBlocksAndTheCountComesLater) {
  const auto outcome = child::run([] {
    child::Pipe pipe = child::make_pipe();
    if (!fill_stderr(pipe.in.get())) return 1;
    std::string lines;
    if (const int error = drop_three(pipe.out.get(), &lines); error != 0) return error;
    // The job's own writes still wait for the reader.
    if ((::fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) != 0) return 2;
    std::fputs(lines.c_str(), stdout);
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, kAfter);
}

TEST(Log, ANearlyFullPipeTakesALineWholeOrNotAtAll) {
  const auto outcome = child::run([] {
    child::Pipe pipe = child::make_pipe();
    ::fcntl(pipe.in.get(), F_SETPIPE_SZ, 4096);
    child::say(pipe.in.get(), std::string(4000, '#'));
    ::dup2(pipe.in.get(), STDERR_FILENO);
    sys::log::open(Level::kInfo, Format::kHuman, false);
    sys::log::info(std::string(200, 'x'));
    sys::log::info("fits? no: the count goes first, and there is no room for both");
    const std::string content = child::read_now(pipe.out.get());
    return content.find('x') == std::string::npos && sys::log::dropped() == 2 ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Log, AFullPipeOfSomebodyElseNeverBlocksEither) {
  if (!child::is_root()) GTEST_SKIP() << "changing the user needs root";
  // The kernel refuses to open it again, as the pipe belongs to root.
  const auto outcome = child::run([] {
    child::Pipe pipe = child::make_pipe();
    if (!fill_stderr(pipe.in.get()) || !child::become_nobody()) return 1;
    if (::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK) >= 0) return 2;
    std::string lines;
    if (const int error = drop_three(pipe.out.get(), &lines); error != 0) return error;
    if ((::fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) != 0) return 3;
    std::fputs(lines.c_str(), stdout);
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, kAfter);
}

TEST(Log, AFullSocketNeverBlocks) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const auto outcome = child::run([type] {
      std::array<int, 2> ends{};
      if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) return 1;
      if (!fill_stderr(ends[1])) return 2;
      std::string lines;
      if (const int error = drop_three(ends[0], &lines); error != 0) return error;
      std::fputs(lines.c_str(), stdout);
      return 0;
    });
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, kAfter);
  }
}

TEST(Log, ATerminalThatNobodyReadsNeverBlocksAndNoLineIsTorn) {
  const auto outcome = child::run([] {
    const sys::Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master.valid() || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) return 1;
    const int slave = ::open(::ptsname(master.get()), O_RDWR | O_NOCTTY);
    if (slave < 0 || ::dup2(slave, STDERR_FILENO) < 0) return 2;
    sys::log::open(Level::kInfo, Format::kHuman, false);
    std::uint64_t lines = 0;
    while (sys::log::dropped() < 100) {
      sys::log::info(std::string(100, 'x'));
      ++lines;
    }
    // What a terminal has taken reaches its reader a little later, and makes room then only.
    std::string text;
    pollfd ready{master.get(), POLLIN, 0};
    std::uint64_t dropped = 0;
    do {
      ::poll(&ready, 1, -1);
      text += child::read_now(master.get());
      dropped = sys::log::dropped();
      sys::log::info("read again");
      ++lines;
    } while (dropped != sys::log::dropped());
    while (!text.ends_with("read again\r\n")) {
      ::poll(&ready, 1, -1);
      text += child::read_now(master.get());
    }
    std::printf("%s%lu\n", text.c_str(), lines - sys::log::dropped());
    return 0;
  });
  ASSERT_EQ(outcome.code, 0);
  std::istringstream text(outcome.out);
  std::size_t whole = 0;
  std::string line;
  while (std::getline(text, line) && line.ends_with('\r')) {
    if (line == "trainit: " + std::string(100, 'x') + "\r" || line == "trainit: read again\r") {
      ++whole;
    } else {
      EXPECT_THAT(line, MatchesRegex("trainit: warning: lines dropped, as stderr did not take "
                                     "them: [0-9]+\r"));
    }
  }
  EXPECT_EQ(line, std::to_string(whole)) << "lines taken";
  EXPECT_THAT(outcome.out, testing::HasSubstr("lines dropped"));
}

TEST(Log, AReaderThatWentAwayIsNotFatal) {
  const auto outcome = child::run([] {
    ::signal(SIGPIPE, SIG_DFL);
    child::Pipe pipe = child::make_pipe();
    ::dup2(pipe.in.get(), STDERR_FILENO);
    sys::log::open(Level::kInfo, Format::kHuman, false);
    pipe.out.reset();
    sys::log::info("x");
    sigset_t pending;
    ::sigpending(&pending);
    return sys::log::dropped() == 1 && ::sigismember(&pending, SIGPIPE) == 0 ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Log, AFullDiskIsNotFatal) {
  const auto outcome = child::run([] {
    const int full = ::open("/dev/full", O_WRONLY);
    if (full < 0) return 1;
    ::dup2(full, STDERR_FILENO);
    sys::log::open(Level::kInfo, Format::kHuman, false);
    sys::log::info("x");
    return sys::log::dropped() == 1 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

class LogFileTest : public child::Scratch {};

TEST_F(LogFileTest, ARedirectedFileKeepsTheOrderOfJobAndInit) {
  // `> file` has one offset for all: a second description would write over the job's lines.
  const auto outcome = child::run([this] {
    const int file = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(file, STDERR_FILENO);
    child::say(STDERR_FILENO, "job 1\n");
    sys::log::open(Level::kInfo, Format::kHuman, false);
    sys::log::info("line");
    child::say(STDERR_FILENO, "job 2\n");
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("log")), "job 1\ntrainit: line\njob 2\n");
}

TEST_F(LogFileTest, AClosedStderrDoesNotPutLinesIntoTheNextFile) {
  const auto outcome = child::run([this] {
    ::close(STDERR_FILENO);
    sys::log::open(Level::kInfo, Format::kHuman, false);
    if (::open(path("data").c_str(), O_WRONLY | O_CREAT, 0644) != STDERR_FILENO) return 1;
    sys::log::error("x");
    return sys::log::dropped() == 1 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("data")), "");
}

TEST_F(LogFileTest, WithDevNullInItsPlaceNothingIsDropped) {
  const auto outcome = child::run([this] {
    ::close(STDERR_FILENO);
    sys::ensure_standard_fds();
    sys::log::open(Level::kInfo, Format::kHuman, false);
    if (::open(path("data").c_str(), O_WRONLY | O_CREAT, 0644) <= STDERR_FILENO) return 1;
    sys::log::error("x");
    return sys::log::dropped() == 0 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("data")), "");
}

TEST_F(LogFileTest, AWorkerKeepsTheLogAndItsFilesStayClean) {
  const auto outcome = child::run([this] {
    const proc::SavedSignals saved = proc::take_over_signals();
    sys::log::open(Level::kInfo, Format::kHuman, false);
    const auto worker = proc::fork_worker(saved, -1, [this] {
      for (int i = 0; i < 5; ++i) {
        if (::open(path("data").c_str(), O_WRONLY | O_CREAT, 0644) < 0) return 1;
      }
      sys::log::info("from the worker");
      return 0;
    });
    return worker ? child::wait_for(*worker) : 9;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "trainit: from the worker\n");
  EXPECT_EQ(read(path("data")), "");
}

TEST(Log, WorksWithoutProc) {
  if (!child::is_root()) GTEST_SKIP() << "chroot needs root";
  const auto outcome = child::run([] {
    if (::chdir("/dev/shm") != 0 || ::chroot(".") != 0) return 9;
    child::Pipe pipe = child::make_pipe();
    if (!fill_stderr(pipe.in.get())) return 1;
    std::string lines;
    if (const int error = drop_three(pipe.out.get(), &lines); error != 0) return error;
    std::fputs(lines.c_str(), stdout);
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, kAfter);
}

}  // namespace
