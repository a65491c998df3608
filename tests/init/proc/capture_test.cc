#include "init/proc/capture.h"

#include <gmock/gmock.h>

#include <csignal>

#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

const envgen::Environ kEnv({"PATH=/usr/bin:/bin"});

TEST(Capture, KeepsWhatAProgramPrintsAndItsCode) {
  const auto captured = proc::capture({"sh", "-c", "echo out; echo err >&2; exit 3"}, kEnv, 60'000);
  ASSERT_TRUE(captured.has_value());
  EXPECT_EQ(captured->output, "out\nerr\n");
  EXPECT_EQ(captured->exit_code, 3);
  EXPECT_FALSE(captured->late);
}

TEST(Capture, TellsAProgramThatIsMissingFromOneThatFails) {
  const auto missing = proc::capture({"no-such-program"}, kEnv, 60'000);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().exit_code, 127);
  const auto failing = proc::capture({"sh", "-c", "kill -9 $$"}, kEnv, 60'000);
  ASSERT_TRUE(failing.has_value());
  EXPECT_EQ(failing->exit_code, 128 + SIGKILL);
}

TEST(Capture, EndsAProgramThatHangsAndWhatItStarted) {
  const std::int64_t before_ms = sys::monotonic_ms();
  const auto captured =
      proc::capture({"sh", "-c", "echo begun; sleep 1000 & sleep 1000"}, kEnv, 500);
  ASSERT_TRUE(captured.has_value());
  EXPECT_TRUE(captured->late);
  EXPECT_EQ(captured->exit_code, -1);
  EXPECT_THAT(captured->output, testing::AnyOf("begun\n", "")) << "on a busy machine";
  EXPECT_LT(sys::monotonic_ms() - before_ms, 60'000);
}

TEST(Capture, DoesNotAwaitOneThatClosesItsOutputAndStays) {
  const auto captured =
      proc::capture({"sh", "-c", "echo told; exec >&- 2>&-; sleep 1000"}, kEnv, 60'000);
  ASSERT_TRUE(captured.has_value());
  EXPECT_EQ(captured->output, "told\n");
  EXPECT_EQ(captured->exit_code, -1);
}

TEST(Capture, StopsAtItsBoundOfBytes) {
  const auto captured = proc::capture({"sh", "-c", "yes"}, kEnv, 60'000, 100'000);
  ASSERT_TRUE(captured.has_value());
  EXPECT_GE(captured->output.size(), 100'000U);
  EXPECT_LT(captured->output.size(), 200'000U);
  EXPECT_FALSE(captured->late);
}

TEST(Capture, GivesNoInput) {
  const auto captured = proc::capture({"sh", "-c", "cat; echo end"}, kEnv, 60'000);
  ASSERT_TRUE(captured.has_value());
  EXPECT_EQ(captured->output, "end\n");
}

}  // namespace
