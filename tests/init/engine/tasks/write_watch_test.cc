#include "init/engine/tasks/write_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "init/sys/path_state.h"
#include "tests/init/child.h"

namespace engine {
namespace {

using testing::Contains;
using testing::Key;

TEST(WrittenBytes, AreThoseOfCallsAndOfMappedFiles) {
  EXPECT_EQ(written_bytes("rchar: 1\nwchar: 4096\nsyscr: 2\nsyscw: 3\n"), 4096U);
  EXPECT_EQ(written_bytes("wchar: 4096\nread_bytes: 7\nwrite_bytes: 8192\n"), 12288U);
  EXPECT_EQ(written_bytes("rchar: 1\nwchar: 18446744073709551615\n"), ~std::uint64_t{0});
  for (const char* text :
       {"", "wchar:", "wchar: ", "wchar: x", "wchar: 1x\n", "wchar: -1\n", "xwchar: 1\n"}) {
    EXPECT_EQ(written_bytes(text), std::nullopt) << text;
  }
}

TEST(HasWritten, NeedsMoreThanARankPrints) {
  EXPECT_FALSE(has_written({}, {}));
  EXPECT_FALSE(has_written({{7, 100}}, {{7, 100 + (64 << 10)}}));
  EXPECT_TRUE(has_written({{7, 100}}, {{7, 101 + (64 << 10)}}));
  EXPECT_FALSE(has_written({{7, 1 << 20}}, {{7, 5}})) << "another process has the pid";
}

TEST(HasWritten, CountsAProcessThatIsNew) {
  EXPECT_FALSE(has_written({{7, 1}}, {{7, 1}, {8, 4096}}));
  EXPECT_TRUE(has_written({{7, 1}}, {{7, 1}, {8, 1 << 20}})) << "it saves for the rank";
}

TEST(HasWritten, IsTrueWhereTheKernelDeniesAccess) {
  EXPECT_TRUE(has_written({}, {{7, std::nullopt}}));
  EXPECT_FALSE(has_written({{7, std::nullopt}}, {{7, 1 << 20}})) << "the first count";
}

TEST(WrittenBelow, SeesTheWritesOfThisProcess) {
  const pid_t self = ::getpid();
  const Written before = written_below({self});
  ASSERT_THAT(before, Contains(Key(self)));
  const int fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const std::string much(1 << 20, 'x');
  ASSERT_EQ(::write(fd, much.data(), much.size()), static_cast<ssize_t>(much.size()));
  ::close(fd);
  EXPECT_TRUE(has_written(before, written_below({self})));
}

// A kernel may be built without these counters, and a sandbox may not show them.
TEST(WrittenBelow, AreUnknownWhereALiveProcessShowsNone) {
  const child::OwnMounts mounts;
  const pid_t self = ::getpid();
  if (!mounts.bind("/dev/null", "/proc/" + std::to_string(self) + "/io")) {
    GTEST_SKIP() << "may not mount: " << sys::errno_text(errno);
  }
  const Written written = written_below({self});
  EXPECT_THAT(written, Contains(testing::Pair(self, testing::Eq(std::nullopt))));
  EXPECT_TRUE(has_written({}, written));
}

TEST(WrittenBelow, HasNoProcessThatHasExited) {
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(written_below({ended}), testing::IsEmpty()) << "a zombie";
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  EXPECT_THAT(written_below({ended}), testing::IsEmpty());
}

}  // namespace
}  // namespace engine
