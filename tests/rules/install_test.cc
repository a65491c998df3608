// install: the program puts itself where a pod's other images find it.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Words;
using testing::HasSubstr;

class Install : public rules::JobTest {};

TEST_F(Install, PutsTheProgramThereAndSaysWhere) {
  const std::string place = path("volume/below/trainit");
  const Result result = tool({"install", path("volume/below")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, place + "\n");
  EXPECT_EQ(read(place), read(std::getenv("TRAINIT_BINARY")));
  struct stat status{};
  ASSERT_EQ(::stat(place.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);

  const Result started = rules::run(
      {.args = {place, "--", rules::payload(), "exit", "7"}, .env = env(), .program = place});
  EXPECT_EQ(started.code, 7) << started.err;
}

TEST_F(Install, ReplacesOneThatRuns) {
  ASSERT_EQ(tool({"install", path("volume")}).code, 0);
  const std::string place = path("volume/trainit");
  rules::Instance running(
      {.args = {place, "--", rules::payload(), "sleep-forever"}, .env = env(), .program = place});
  await_told("ready-0");
  EXPECT_EQ(tool({"install", path("volume")}).code, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("volume")), {}), 1);
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait(), 143);
}

TEST_F(Install, FailsByNameAndLeavesNothing) {
  write("file", "");
  for (const Words& args : {Words{"install"}, Words{"install", ""}, Words{"install", "a", "b"},
                            Words{"install", "--to", path("volume")},
                            Words{"install", path("file")}, Words{"install", "/proc/trainit"}}) {
    const Result result = tool(args);
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr("error"));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(path("volume")));
  ASSERT_TRUE(std::filesystem::create_directories(path("taken/trainit/x")));
  const Result taken = tool({"install", path("taken")});
  EXPECT_EQ(taken.code, 125);
  EXPECT_THAT(taken.err, HasSubstr(path("taken/trainit")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("taken")), {}), 1);
}

}  // namespace
