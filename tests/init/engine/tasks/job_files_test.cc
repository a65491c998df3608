#include "init/engine/tasks/job_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "tests/init/child.h"

namespace {

using engine::bound_job_files;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uid_t kJob = 1000;
constexpr uid_t kOther = 2000;

class JobFiles : public child::Scratch {
 protected:
  JobFiles() {
    for (const char* name : {"errors", "dumps"}) fs::create_directory(path(name));
  }
  [[nodiscard]] std::string look(std::uint64_t bytes = 1U << 20) const {
    return bound_job_files({path("errors"), path("dumps")}, {.bytes = bytes, .files = 40}, {});
  }
  // Runs `body` with a small file system at "errors" that only it sees.
  void on_tmpfs(const char* options, const std::function<void()>& body) const {
    constexpr int kNoMount = 77;
    const auto outcome = child::run([&] {
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("none", path("errors").c_str(), "tmpfs", 0, options) != 0) {
        return kNoMount;
      }
      body();
      return HasFailure() ? 1 : 0;
    });
    if (outcome.code == kNoMount) GTEST_SKIP() << "may not mount";
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  }
  void fill(const std::string& name, std::size_t bytes) const {
    write(name, std::string(bytes, 'x'));
  }
};

TEST_F(JobFiles, BelowTheLimitStay) {
  fill("errors/rank-0.json", 100'000);
  fill("dumps/17", 4096);
  fs::create_directories(path("errors/run/attempt"));
  EXPECT_EQ(look(), "");
  EXPECT_TRUE(fs::exists(path("errors/rank-0.json")));
  EXPECT_TRUE(fs::exists(path("errors/run/attempt")));
}

TEST_F(JobFiles, ThatAreLargestGoFirst) {
  fill("errors/rank-0.json", 4096);
  fill("dumps/17", 4096);
  fill("dumps/large", 600'000);
  fs::create_directories(path("errors/a/b/c"));
  fill("errors/a/b/c/larger", 700'000);
  const std::string text = look();
  EXPECT_THAT(text, HasSubstr(path("errors")));
  EXPECT_THAT(text, HasSubstr("it kept more than 1.0 MiB or 40 files there"));
  EXPECT_FALSE(fs::exists(path("errors/a")));
  EXPECT_FALSE(fs::exists(path("dumps/large")));
  EXPECT_TRUE(fs::exists(path("errors/rank-0.json")));
  EXPECT_TRUE(fs::exists(path("dumps/17")));
  EXPECT_EQ(look(), "");
}

TEST_F(JobFiles, OfAFloodGoFromTheNewestOn) {
  fill("dumps/17", 4096);
  // The clock of files must tick before the flood.
  const auto changed = [this](const char* name) {
    struct stat status{};
    ::lstat(path(name).c_str(), &status);
    return std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  };
  do {
    fill("dumps/x0", 0);
    ASSERT_EQ(::chmod(path("dumps/x0").c_str(), 0644), 0);
  } while (changed("dumps/x0") == changed("dumps/17"));
  for (int i = 0; i < 100; ++i) fill("dumps/x" + std::to_string(i), 0);
  EXPECT_THAT(look(), HasSubstr("or 40 files"));
  EXPECT_TRUE(fs::exists(path("dumps/17")));
  EXPECT_LE(std::distance(fs::directory_iterator(path("dumps")), fs::directory_iterator()), 20);
}

TEST_F(JobFiles, ThatLieDeepCount) {
  std::string deep = "errors";
  for (int i = 0; i < 30; ++i) fs::create_directory(path(deep += "/d"));
  fill(deep + "/hidden", 2U << 20);
  EXPECT_NE(look(), "");
  EXPECT_FALSE(fs::exists(path("errors/d")));
}

TEST_F(JobFiles, AreNotFollowedOutOfTheirDirectory) {
  fs::create_directory(path("others"));
  fill("others/large", 2U << 20);
  fs::create_symlink(path("others"), path("errors/link"));
  EXPECT_EQ(look(), "");
  fill("errors/large", 2U << 20);
  EXPECT_NE(look(), "");
  EXPECT_TRUE(fs::exists(path("others/large")));
}

// Root may lack the capability to enter such a directory.
TEST_F(JobFiles, BehindAClosedDirectoryCount) {
  if (!child::is_root()) GTEST_SKIP() << "needs another user";
  fs::create_directory(path("errors/closed"));
  fill("errors/closed/large", 2U << 20);
  for (const char* name : {"errors/closed/large", "errors/closed", "errors", "dumps"}) {
    ASSERT_EQ(::lchown(path(name).c_str(), kJob, kJob), 0);
  }
  ASSERT_EQ(::chmod(path("").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path("errors/closed").c_str(), 0), 0);
  const auto outcome = child::run([this] {
    ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct have[2]{};
    ::syscall(SYS_capget, &header, have);
    for (const unsigned none : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
      have[0].effective &= ~(1U << none);
      have[0].permitted &= ~(1U << none);
    }
    ::syscall(SYS_capset, &header, have);
    const envgen::Identity job{.uid = kJob, .gid = kJob};
    const std::string text =
        bound_job_files({path("errors"), path("dumps")}, {.bytes = 1U << 20, .files = 40}, job);
    return text.empty() ? 1 : 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(path("errors/closed")));
}

// The job may move a directory that others have files in to where it may write.
TEST_F(JobFiles, OfOtherUsersStay) {
  if (!child::is_root()) GTEST_SKIP() << "needs other users";
  fs::create_directories(path("errors/moved/theirs"));
  fill("errors/moved/theirs/large", 2U << 20);
  for (const char* name : {"errors/moved", "errors", "dumps"}) {
    ASSERT_EQ(::lchown(path(name).c_str(), kJob, kJob), 0);
  }
  for (const char* name : {"errors/moved/theirs/large", "errors/moved/theirs"}) {
    ASSERT_EQ(::lchown(path(name).c_str(), kOther, kOther), 0);
  }
  ASSERT_EQ(::chmod(path("").c_str(), 0755), 0);
  const auto outcome = child::run([this] {
    const envgen::Identity job{.uid = kJob, .gid = kJob};
    bound_job_files({path("errors"), path("dumps")}, {.bytes = 1U << 20, .files = 40}, job);
    return 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(fs::file_size(path("errors/moved/theirs/large")), 2U << 20);
}

// The job may hold such a file open for reading, and mount its directory in a namespace of its own
// where the path looks like one of ours.
TEST_F(JobFiles, OfOtherUsersThatAreOpenWithoutANameKeepTheirContent) {
  if (!child::is_root()) GTEST_SKIP() << "needs other users";
  on_tmpfs("size=1m", [this] {
    fill("errors/open", 900'000);
    ASSERT_EQ(::lchown(path("errors/open").c_str(), kOther, kOther), 0);
    ASSERT_EQ(::chmod(path("").c_str(), 0755), 0);
    const sys::Fd open(::open(path("errors/open").c_str(), O_RDONLY | O_CLOEXEC));
    fs::remove(path("errors/open"));
    EXPECT_EQ(look(256U << 10), "");
    struct stat status{};
    ASSERT_EQ(::fstat(open.get(), &status), 0);
    EXPECT_EQ(status.st_size, 900'000);
  });
}

// A file that has no name any more takes room as long as it is open.
TEST_F(JobFiles, ThatAreOpenWithoutANameAreEmptied) {
  on_tmpfs("size=1m", [this] {
    fill("errors/open", 900'000);
    const sys::Fd open(::open(path("errors/open").c_str(), O_RDWR | O_CLOEXEC));
    fs::remove(path("errors/open"));
    EXPECT_THAT(look(256U << 10), HasSubstr(path("errors")));
    struct stat status{};
    ASSERT_EQ(::fstat(open.get(), &status), 0);
    EXPECT_EQ(status.st_size, 0);
  });
}

// Others may have filled the disk.
TEST_F(JobFiles, ThatAreOpenWithoutANameStayBelowTheLimitOnAFullDisk) {
  on_tmpfs("size=1m", [this] {
    fill("errors/open", 900'000);
    const sys::Fd open(::open(path("errors/open").c_str(), O_RDWR | O_CLOEXEC));
    const int twice = ::dup(open.get());
    fs::remove(path("errors/open"));
    EXPECT_EQ(look(), "") << "one file, however often it is open";
    struct stat status{};
    ASSERT_EQ(::fstat(twice, &status), 0);
    EXPECT_EQ(status.st_size, 900'000);
  });
}

TEST_F(JobFiles, MayTakeAQuarterOfASmallFileSystem) {
  on_tmpfs("size=4m,nr_inodes=400", [this] {
    const engine::JobFilesLimit limit = engine::job_files_limit(path("errors"));
    EXPECT_EQ(limit.bytes, 1U << 20);
    EXPECT_EQ(limit.files, 100U);
  });
}

}  // namespace
