#include "init/copy/tree/tree_digest.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "init/copy/tree/journal.h"

namespace {

struct Told {
  copy::Sums sums;
  std::uint64_t state = 0;
};

Told told_of(const std::function<void(struct stat&)>& change) {
  struct stat status{};
  status.st_mode = S_IFREG | 0644;
  status.st_ino = 7;
  status.st_size = 100;
  status.st_mtim.tv_sec = 1'000;
  status.st_ctim.tv_sec = 2'000;
  change(status);
  Told told;
  std::string scratch;
  copy::add_entry(told.sums, "file", status, "", scratch);
  told.state = copy::state_of("file", status);
  return told;
}

Told unchanged() {
  return told_of([](struct stat&) {});
}

TEST(CopyIdentity, ChangeThatKeepsSizeAndMtimeIsSeenWhileItIsCopied) {
  const Told before = unchanged();
  const Told after = told_of([](struct stat& status) { status.st_ctim.tv_nsec = 1; });
  EXPECT_EQ(after.sums.digest, before.sums.digest);
  EXPECT_NE(after.sums.change, before.sums.change);
  EXPECT_NE(after.state, before.state);
}

// Object stores behind FUSE show the time of the mount, and each container mounts by itself.
TEST(CopyIdentity, TimesOfADirectoryAreNoPartOfIt) {
  const auto directory = [](time_t time) {
    return told_of([time](struct stat& status) {
      status.st_mode = S_IFDIR | 0755;
      status.st_mtim.tv_sec = status.st_ctim.tv_sec = time;
    });
  };
  EXPECT_EQ(directory(1'000).sums.digest, directory(2'000).sums.digest);
  EXPECT_EQ(directory(1'000).sums.change, directory(2'000).sums.change);
}

// As FUSE gives when the kernel has forgotten the first one: a copy would never come to its end.
TEST(CopyIdentity, AnotherInodeIsNoChange) {
  const Told before = unchanged();
  const Told after = told_of([](struct stat& status) { status.st_ino = 8; });
  EXPECT_EQ(after.sums.digest, before.sums.digest);
  EXPECT_EQ(after.sums.change, before.sums.change);
  EXPECT_EQ(after.state, before.state);
}

}  // namespace
