#include "init/engine/report/last_words.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using engine::last_lines_in;
using engine::LastWords;
using testing::ElementsAre;
using testing::IsEmpty;

class LastWordsOf : public child::Scratch {
 protected:
  // Until they have come.
  static std::vector<std::string> await(LastWords& words) {
    while (true) {
      if (auto lines = words.read()) return *lines;
      pollfd ready{words.pipe().get(), POLLIN, 0};
      ::poll(&ready, 1, -1);
    }
  }
};

TEST_F(LastWordsOf, AFileAreItsEnd) {
  const std::string file = write("log", std::string(100'000, 'x') + "\nlast but one\nlast\n");
  EXPECT_THAT(last_lines_in(file, nullptr, 0), ElementsAre("last but one", "last"));
}

TEST_F(LastWordsOf, AProcessAreNotThoseOfAnEarlierOne) {
  const std::string file = write("log", "of yesterday\n");
  EXPECT_THAT(last_lines_in(file, nullptr, sys::wall_ms() + 60'000), IsEmpty());
}

TEST_F(LastWordsOf, WhatIsNoFileAreNone) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& name : {path("fifo"), path("."), path("absent")}) {
    EXPECT_THAT(last_lines_in(name, nullptr, 0), IsEmpty()) << name;
  }
}

TEST_F(LastWordsOf, AProcessComeFromAWorker) {
  const std::string file = write("log", "first\n\033[1msecond\033[0m\n");
  auto words = LastWords::start([&file] { return last_lines_in(file, nullptr, 0); }, {});
  ASSERT_TRUE(words);
  EXPECT_THAT(await(*words), ElementsAre("first", "second"));
  int status = 0;
  ::waitpid(words->pid(), &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(LastWordsOfATee, AreWhatItHasSeenOnStderr) {
  auto seen = logtee::Shared::make(2);
  ASSERT_TRUE(seen);
  seen->open(1, logtee::Stream::kOut);
  seen->open(1, logtee::Stream::kErr);
  seen->begin(1, logtee::Stream::kOut);
  seen->add(1, logtee::Stream::kOut, "step 1\n", 1);
  EXPECT_THAT(engine::last_lines_of_tee(*seen, 1), ElementsAre("step 1"));
  seen->begin(1, logtee::Stream::kErr);
  seen->add(1, logtee::Stream::kErr, "Traceback\nboom\n", 1);
  seen->end(1, logtee::Stream::kOut);
  seen->end(1, logtee::Stream::kErr);
  EXPECT_THAT(engine::last_lines_of_tee(*seen, 1), ElementsAre("Traceback", "boom"));
}

TEST_F(LastWordsOf, AWorkerThatDiedAreNone) {
  child::Pipe pipe = child::make_pipe();
  ::fcntl(pipe.out.get(), F_SETFL, O_NONBLOCK);
  LastWords words(1, std::move(pipe.out));
  EXPECT_EQ(words.read(), std::nullopt);
  pipe.in.reset();
  EXPECT_THAT(*words.read(), IsEmpty());
}

}  // namespace
