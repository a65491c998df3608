#include "init/engine/monitor/line_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "init/engine/monitor/follow.h"
#include "tests/init/child.h"

namespace {

using engine::LineBoard;
using engine::LineReader;
using engine::LineSlot;

std::string line(int hardware, int e2e) {
  return "this iteration hardware time is " + std::to_string(hardware) + " and e2e time is " +
         std::to_string(e2e) + " ms.\n";
}

class Perf : public testing::Test {
 protected:
  Perf() : board_(*LineBoard::make(2)), reader_(board_, observe()) {}

  static envgen::Observation observe() {
    envgen::Observation observe;
    observe.perf_threshold_ppm = 500'000;
    observe.perf_count = 3;
    return observe;
  }
  void say(int hardware, int e2e) { reader_.add(1, 0, line(hardware, e2e)); }

  std::shared_ptr<LineBoard> board_;
  LineReader reader_;
  LineSlot& slot_ = board_->slot(1);
};

TEST_F(Perf, TheBoardShowsTheLastLine) {
  say(1, 4);
  say(1, 2);
  EXPECT_EQ(slot_.perf_lines, 2U);
  EXPECT_EQ(slot_.ratio_ppm, 500'000);
  EXPECT_EQ(slot_.hardware, 1'000'000);
  EXPECT_EQ(slot_.e2e, 2'000'000);
  EXPECT_EQ(slot_.above, 0U) << "at the threshold, not above it";
  EXPECT_EQ(board_->slot(0).perf_lines, 0U);
}

TEST_F(Perf, ACrossingIsSoManyLinesInSuccession) {
  for (const int hardware : {3, 3, 1, 3, 3}) say(hardware, 4);
  EXPECT_EQ(slot_.crossings, 0U);
  say(3, 4);
  EXPECT_EQ(slot_.crossings, 1U);
  for (int i = 0; i < 10; ++i) say(3, 4);
  EXPECT_EQ(slot_.crossings, 1U) << "it is above it still";
  for (const int hardware : {1, 3, 3, 3}) say(hardware, 4);
  EXPECT_EQ(slot_.crossings, 2U);
}

TEST_F(Perf, TheBoardIsSharedWithAChild) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    say(3, 4);
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(slot_.perf_lines, 1U);
}

class Steps : public testing::Test {
 protected:
  static envgen::Observation observe() {
    envgen::Observation observe;
    observe.progress = {"step {step}", "eval {step}", "saved at {saved}"};
    return observe;
  }

  std::shared_ptr<LineBoard> board_ = *LineBoard::make(2);
  LineReader reader_{board_, observe()};
  LineSlot& slot_ = board_->slot(1);
};

TEST_F(Steps, TheBoardShowsTheLastOne) {
  reader_.add(1, 0, "step 0\n");
  EXPECT_EQ(slot_.steps, 1U) << "0 is one too";
  reader_.add(1, 0, "step 1\nstep 1\nstep 2\nnoise\n");
  EXPECT_EQ(slot_.steps, 3U) << "the same one again is not new";
  EXPECT_EQ(slot_.step, 2);
  reader_.add(1, 0, "eval 1,000\n");
  EXPECT_EQ(slot_.step, 1000) << "any of the patterns";
  EXPECT_EQ(slot_.saved_ms, 0);
  EXPECT_EQ(slot_.perf_lines, 0U);
  EXPECT_EQ(board_->slot(0).steps, 0U);
}

TEST_F(Steps, AfterAReturnToACheckpointTheyAreSmallerAndNew) {
  reader_.add(1, 0, "step 500\n");
  reader_.add(1, 0, "step 400\n");
  EXPECT_EQ(slot_.steps, 2U);
  EXPECT_EQ(slot_.step, 400);
}

TEST_F(Steps, ASavedOneIsNoStep) {
  reader_.add(1, 0, "saved at 400\n");
  EXPECT_EQ(slot_.steps, 0U);
  EXPECT_EQ(slot_.saved, 400);
  EXPECT_GT(slot_.saved_ms, 0);
}

TEST_F(Steps, TheTwoStreamsAreLinesOfTheirOwn) {
  reader_.add(1, 0, "step 1");
  reader_.add(1, 1, "warning\n");
  reader_.add(1, 0, "2\n");
  EXPECT_EQ(slot_.step, 12);
}

class Follow : public child::Scratch {
 protected:
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::app) << text;
  }
  std::string read_from(engine::FileFollower& follower) {
    std::string all;
    follower.read({[&all](std::string_view bytes) { all += bytes; }, [&all] { all += '|'; }});
    return all;
  }
};

TEST_F(Follow, BeginsAtTheEndAndReadsWhatIsAdded) {
  write("log", "before\n");
  engine::FileFollower follower(path("log"));
  EXPECT_EQ(read_from(follower), "");
  append("log", "one\n");
  append("log", "two");
  EXPECT_EQ(read_from(follower), "one\ntwo");
  EXPECT_EQ(read_from(follower), "");
}

TEST_F(Follow, AFileThatComesLaterIsReadFromItsBeginning) {
  engine::FileFollower follower(path("log"));
  EXPECT_EQ(read_from(follower), "");
  append("log", "one\n");
  EXPECT_EQ(read_from(follower), "|one\n");
}

TEST_F(Follow, ACutFileIsReadFromItsBeginning) {
  write("log", "a long beginning\n");
  engine::FileFollower follower(path("log"));
  write("log", "new\n");
  EXPECT_EQ(read_from(follower), "|new\n");
}

TEST_F(Follow, OfARotatedFileNothingIsMissed) {
  write("log", "");
  engine::FileFollower follower(path("log"));
  append("log", "last of the old\n");
  std::filesystem::rename(path("log"), path("log.1"));
  append("log", "first of the new\n");
  EXPECT_EQ(read_from(follower), "last of the old\n|first of the new\n");
}

TEST_F(Follow, OfAFloodTheMiddleIsPassedOver) {
  write("log", "");
  engine::FileFollower follower(path("log"));
  std::filesystem::resize_file(path("log"), 200U << 20);
  append("log", "end");
  const std::string read = read_from(follower);
  EXPECT_EQ(read.size(), (1U << 20) + 1) << "of 200 MiB the last one, behind a gap";
  EXPECT_TRUE(read.starts_with('|') && read.ends_with("end"));
}

TEST_F(Follow, AFifoIsNoLog) {
  ASSERT_EQ(::mkfifo(path("log").c_str(), 0600), 0);
  engine::FileFollower follower(path("log"));
  EXPECT_EQ(read_from(follower).find_first_not_of('|'), std::string::npos);
}

}  // namespace
