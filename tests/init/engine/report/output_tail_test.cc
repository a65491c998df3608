#include "init/engine/report/output_tail.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init/engine/state/failure.h"
#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using engine::OutputTail;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> last_lines_in(const std::string& path, std::int64_t since_ms) {
  const engine::LastBytes last = engine::last_bytes_in(path, nullptr, since_ms);
  return engine::last_lines_of(last.bytes, last.whole);
}

class LastWordsOf : public child::Scratch {
 protected:
  // Until they have come.
  static std::vector<std::string> await(OutputTail& words) {
    while (words.awaited()) {
      pollfd ready{words.channel(), POLLIN, 0};
      ::poll(&ready, 1, -1);
      words.read();
    }
    return words.take().last_lines;
  }
};

TEST_F(LastWordsOf, AFileAreItsEnd) {
  const std::string cut(logtee::kRingBytes, 'x');
  const std::string file = write("log", cut + "\nlast but one\nlast\n");
  EXPECT_THAT(last_lines_in(file, 0), ElementsAre("last but one", "last"));
}

TEST_F(LastWordsOf, AProcessAreNotThoseOfAnEarlierOne) {
  const std::string file = write("log", "of yesterday\n");
  EXPECT_THAT(last_lines_in(file, sys::wall_ms() + 60'000), IsEmpty());
}

TEST_F(LastWordsOf, WhatIsNoFileAreNone) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& name : {path("fifo"), path("."), path("absent")}) {
    EXPECT_THAT(last_lines_in(name, 0), IsEmpty()) << name;
  }
}

TEST_F(LastWordsOf, AProcessComeFromAWorker) {
  const std::string file = write("log", "first\n\033[1msecond\033[0m\n");
  OutputTail words;
  ASSERT_TRUE(words.start(
      [&file](const auto& tell) { tell({.last_lines = last_lines_in(file, 0)}); }, {}, 60'000));
  EXPECT_THAT(await(words), ElementsAre("first", "second"));
  int status = 0;
  ::waitpid(words.pid(), &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(LastWordsOf, AFileAreAsManyAsTheTeeKeeps) {
  const std::string all = "first\n" + std::string(logtee::kRingBytes - 6, 'x');
  EXPECT_TRUE(engine::last_bytes_in(write("log", all), nullptr, 0).whole);
  const auto last = engine::last_bytes_in(write("log", "cut" + all), nullptr, 0);
  EXPECT_FALSE(last.whole);
  EXPECT_EQ(last.bytes, all);
}

TEST(LastWordsOfATee, AreStderrsBehindThoseOfStdout) {
  auto seen = logtee::Shared::make(2);
  ASSERT_TRUE(seen);
  seen->open(1, logtee::Stream::kOut);
  seen->open(1, logtee::Stream::kErr);
  seen->begin(1, logtee::Stream::kOut);
  seen->add(1, logtee::Stream::kOut, "step 1\n", 1);
  EXPECT_EQ(engine::last_bytes_of_tee(*seen, 1, sys::monotonic_ms() + 600).bytes, "step 1\n");
  seen->begin(1, logtee::Stream::kErr);
  seen->add(1, logtee::Stream::kErr, "Traceback\nboom\n", 1);
  seen->end(1, logtee::Stream::kOut);
  seen->end(1, logtee::Stream::kErr);
  seen->add(1, logtee::Stream::kOut, "step 2\n", 2);
  EXPECT_EQ(engine::last_bytes_of_tee(*seen, 1, sys::monotonic_ms() + 600).bytes,
            "step 1\nstep 2\nTraceback\nboom\n");
}

TEST_F(LastWordsOf, AWorkerThatDiedAreNone) {
  OutputTail words;
  ASSERT_TRUE(words.start([](const auto&) { ::_exit(1); }, {}, 60'000));
  EXPECT_THAT(await(words), IsEmpty());
  EXPECT_EQ(words.deadline_ms(), std::nullopt);
  child::wait_for(words.pid());
}

TEST_F(LastWordsOf, AWorkerThatHangsAreNotAwaitedForEver) {
  OutputTail words;
  ASSERT_TRUE(words.start(
      [](const auto& tell) {
        tell({.last_lines = {"first"}});
        ::pause();
      },
      {}, 60'000));
  words.tend(*words.deadline_ms() - 1);
  EXPECT_TRUE(words.awaited());
  words.tend(*words.deadline_ms());
  EXPECT_FALSE(words.awaited());
  EXPECT_EQ(words.channel(), -1);
  EXPECT_EQ(child::wait_for(words.pid()), 128 + SIGKILL);
}

}  // namespace
