// Copies on a btrfs on a loop device, which has what other file systems of this machine may lack:
// quotas that a kernel enforces, and files that share their blocks.

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>

#include "tests/copy/mounts.h"
#include "tests/copy/tree.h"
#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Words;

constexpr int kNoBtrfs = 77;
constexpr std::size_t kMiB = 1 << 20;

bool succeeds(Words words) { return mounts::run_program(std::move(words)) == 0; }

// Whether the first bytes of a file are those of another one, too, on the disk.
bool is_shared(const std::string& file) {
  const sys::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  constexpr std::size_t kSize = sizeof(fiemap) + sizeof(fiemap_extent);
  alignas(fiemap) std::array<std::byte, kSize> memory{};
  auto* map = reinterpret_cast<fiemap*>(memory.data());
  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_flags = FIEMAP_FLAG_SYNC;
  map->fm_extent_count = 1;
  EXPECT_EQ(::ioctl(fd.get(), FS_IOC_FIEMAP, map), 0);
  EXPECT_EQ(map->fm_mapped_extents, 1U);
  return (map->fm_extents[0].fe_flags & FIEMAP_EXTENT_SHARED) != 0;
}

class CopyBtrfs : public child::Scratch {
 protected:
  void SetUp() override {
    if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "mounting takes root";
    if (!succeeds({"mkfs.btrfs", "--version"})) GTEST_SKIP() << "no mkfs.btrfs here";
    ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  }

  // `body` where "disk" is a new btrfs.
  void on_btrfs(const std::function<void()>& body) const {
    const auto outcome = child::run([&] {
      const std::string image = write("image", "");
      constexpr off_t kSize = 300 << 20;  // the least is 109 MiB
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::truncate(image.c_str(), kSize) != 0 || !succeeds({"mkfs.btrfs", "-q", image}) ||
          !succeeds({"mount", "-o", "loop", image, path("disk")})) {
        return kNoBtrfs;
      }
      body();
      return testing::Test::HasFailure() ? 1 : 0;
    });
    if (outcome.code == kNoBtrfs) GTEST_SKIP() << "no loop device, or no btrfs in this kernel";
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  }

  [[nodiscard]] Result copy(const std::string& from, const std::string& to) const {
    return rules::run({.args = {"copy", "--headroom", "0%", path(from), path(to)},
                       .env = {},
                       .pid1 = false,
                       .before = {}});
  }

  void expect_same(const std::string& source, const std::string& place) const {
    EXPECT_EQ(trees::differences(trees::entries_of(path(source)), trees::entries_of(path(place))),
              Words{});
  }
};

TEST_F(CopyBtrfs, FullQuotaIsSaidAndTheNextRunGoesOn) {
  ASSERT_EQ(::mkdir(path("source").c_str(), 0755), 0);
  for (const char* name : {"a", "b", "c"}) {
    write(std::string("source/") + name, std::string(4 * kMiB, *name));
  }
  on_btrfs([this] {
    const std::string volume = path("disk/volume");
    ASSERT_TRUE(succeeds({"btrfs", "subvolume", "create", volume}));
    ASSERT_TRUE(succeeds({"btrfs", "quota", "enable", volume}));
    ASSERT_TRUE(succeeds({"btrfs", "qgroup", "limit", "6M", volume}));
    const Result full = copy("source", "disk/volume/place");
    EXPECT_EQ(full.code, 1);
    EXPECT_NE(full.err.find("Disk quota exceeded"), std::string::npos) << full.err;
    EXPECT_NE(full.err.find("make room there"), std::string::npos) << full.err;
    struct stat status{};
    EXPECT_NE(::lstat(path("disk/volume/place").c_str(), &status), 0);
    ASSERT_TRUE(succeeds({"btrfs", "qgroup", "limit", "none", volume}));
    EXPECT_EQ(copy("source", "disk/volume/place").code, 0);
    expect_same("source", "disk/volume/place");
  });
}

TEST_F(CopyBtrfs, FilesShareTheirBlocksWhereTheyCan) {
  on_btrfs([this] {
    ASSERT_EQ(::mkdir(path("disk/source").c_str(), 0755), 0);
    write("disk/source/large", std::string(80 * kMiB, 'l'));
    write("disk/source/medium", std::string(2 * kMiB, 'm'));
    EXPECT_EQ(copy("disk/source", "disk/place").code, 0);
    EXPECT_TRUE(is_shared(path("disk/place/large")));
    EXPECT_TRUE(is_shared(path("disk/place/medium")));
    expect_same("disk/source", "disk/place");
  });
}

}  // namespace
