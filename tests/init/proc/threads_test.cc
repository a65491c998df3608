#include "init/proc/threads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/sys/fd.h"

namespace {

TEST(Threads, AreSeenWithTheMainThreadFirst) {
  const auto threads = proc::threads_of(::getpid(), 8);
  ASSERT_FALSE(threads.empty());
  EXPECT_EQ(threads[0].tid, ::getpid());
  EXPECT_EQ(threads[0].state, 'R');
  EXPECT_FALSE(threads[0].name.empty());
  EXPECT_LE(proc::threads_of(::getpid(), 1).size(), 1U);
  EXPECT_TRUE(proc::threads_of(0, 8).empty());
}

TEST(Threads, TellWhichSignalsAProcessCatches) {
  constexpr int kNumber = SIGUSR2;
  constexpr std::uint64_t kBit = 1ULL << (kNumber - 1);
  const auto before = ::signal(kNumber, SIG_DFL);
  EXPECT_EQ(proc::signal_masks(::getpid(), ::getpid()).caught & kBit, 0U);
  ::signal(kNumber, [](int) {});
  EXPECT_NE(proc::signal_masks(::getpid(), ::getpid()).caught & kBit, 0U);
  ::signal(kNumber, before);
  EXPECT_EQ(proc::signal_masks(0, 0).caught, 0U) << "of none";
}

TEST(Threads, TellWhatAProcessHoldsOpen) {
  const sys::Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  struct stat status{};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_TRUE(proc::holds_open(::getpid(), file.get(), status.st_dev, status.st_ino));
  EXPECT_FALSE(proc::holds_open(::getpid(), file.get(), status.st_dev, status.st_ino + 1));
  EXPECT_FALSE(proc::holds_open(::getpid(), 9999, status.st_dev, status.st_ino));
  EXPECT_FALSE(proc::holds_accelerator(::getpid()));
  EXPECT_TRUE(proc::holds_accelerator(0)) << "what cannot be seen may hold one";
}

}  // namespace
