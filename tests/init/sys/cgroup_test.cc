#include "init/sys/cgroup.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/init/child.h"

namespace {

using Files = std::vector<std::string>;

TEST(OomFiles, OfVersion2InAContainerIsTheRootOfTheMount) {
  EXPECT_EQ(sys::oom_files("0::/\n"), (Files{"/sys/fs/cgroup/memory.events"}));
}

TEST(OomFiles, OfVersion2WithoutACgroupNamespace) {
  EXPECT_EQ(sys::oom_files("0::/system.slice/job.service\n"),
            (Files{"/sys/fs/cgroup/system.slice/job.service/memory.events",
                   "/sys/fs/cgroup/memory.events"}));
}

TEST(OomFiles, OfVersion1AreThoseOfTheMemoryController) {
  EXPECT_EQ(sys::oom_files("12:cpu,cpuacct:/docker/x\n9:hugetlb,memory:/docker/y\n"
                           "1:name=systemd:/z\n0::/s\n"),
            (Files{"/sys/fs/cgroup/memory/docker/y/memory.oom_control",
                   "/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/s/memory.events",
                   "/sys/fs/cgroup/memory.events"}));
}

TEST(OomFiles, APathOutsideOfTheNamespaceNamesNoFile) {
  EXPECT_EQ(sys::oom_files("0::/../job\n"), (Files{"/sys/fs/cgroup/memory.events"}));
}

TEST(OomFiles, OfNoTextAreNone) {
  EXPECT_TRUE(sys::oom_files("").empty());
  EXPECT_TRUE(sys::oom_files("garbage\n1:\n").empty());
}

TEST(ParseOomKills, ReadsBothForms) {
  EXPECT_EQ(sys::parse_oom_kills("low 0\nhigh 5\nmax 9\noom 3\noom_kill 2\noom_group_kill 1\n"),
            2U);
  EXPECT_EQ(sys::parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7"), 7U);
}

TEST(ParseOomKills, AKernelThatDoesNotCountAnswersNothing) {
  EXPECT_EQ(sys::parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt);
  EXPECT_EQ(sys::parse_oom_kills("oom_kill many\n"), std::nullopt);
  EXPECT_EQ(sys::parse_oom_kills(""), std::nullopt);
}

// A memory cgroup of 48 MiB below our own.
// A tree as a container sees it.
class Tree : public child::Scratch {
 protected:
  void file(const std::string& name, const std::string& text) const {
    const std::string directory = path(name.substr(0, name.rfind('/')));
    EXPECT_TRUE(sys::make_directories(directory, 0755));
    write(name, text);
  }
};

TEST_F(Tree, OfVersion2CountsByMemoryEvents) {
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.events",
       "low 0\nhigh 0\nmax 12\noom 4\noom_kill 3\noom_group_kill 0\n");
  file("sys/fs/cgroup/memory.events.local", "low 0\noom_kill 1\n");
  EXPECT_EQ(sys::oom_kills(path("")), 3U);
}

TEST_F(Tree, OfVersion2CountsByTheLocalEventsWhereThereAreNoOthers) {
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.events.local", "low 0\noom_kill 1\n");
  EXPECT_EQ(sys::oom_kills(path("")), 1U);
}

TEST_F(Tree, OfVersion2WithoutANamespaceCountsByItsOwnCgroup) {
  file("proc/self/cgroup", "0::/kubepods/pod1/c1\n");
  file("sys/fs/cgroup/memory.events", "oom_kill 70\n");
  file("sys/fs/cgroup/kubepods/pod1/c1/memory.events", "oom_kill 2\n");
  EXPECT_EQ(sys::oom_kills(path("")), 2U);
}

TEST_F(Tree, OfVersion1CountsByOomControl) {
  file("proc/self/cgroup", "4:memory:/docker/x\n1:name=systemd:/docker/x\n0::/docker/x\n");
  file("sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(sys::oom_kills(path("")), 5U);
  EXPECT_FALSE(sys::oom_kills_group(path("")));
}

TEST_F(Tree, WithoutACgroupCountsNothing) {
  EXPECT_EQ(sys::oom_kills(path("")), std::nullopt);
  EXPECT_FALSE(sys::oom_kills_group(path("")));
}

TEST_F(Tree, SaysWhetherAKillTakesTheWholeContainer) {
  file("proc/self/cgroup", "0::/\n");
  EXPECT_FALSE(sys::oom_kills_group(path("")));
  file("sys/fs/cgroup/memory.oom.group", "0\n");
  EXPECT_FALSE(sys::oom_kills_group(path("")));
  EXPECT_EQ(sys::oom_group_warning(path("")), "");
  file("sys/fs/cgroup/memory.oom.group", "1\n");
  EXPECT_NE(sys::oom_group_warning(path("")), "");
  EXPECT_TRUE(sys::oom_kills_group(path("")));
}

class MemoryCgroup : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = "/trainit-test-" + std::to_string(::getpid());
    for (const std::string& mount :
         {std::string("/sys/fs/cgroup/memory"), std::string("/sys/fs/cgroup")}) {
      for (const char* limit : {"/memory.limit_in_bytes", "/memory.max"}) {
        directory_ = mount + name;
        if (::mkdir(directory_.c_str(), 0755) != 0) continue;
        if (put(limit, std::to_string(48 << 20))) return;
        ::rmdir(directory_.c_str());
      }
    }
    directory_.clear();
    GTEST_SKIP() << "no memory cgroup can be made here";
  }
  void TearDown() override {
    if (!directory_.empty()) {
      EXPECT_EQ(::rmdir(directory_.c_str()), 0);
    }
  }
  [[nodiscard]] bool put(const char* file, const std::string& text) const {
    // Not created where the directory is none of a cgroup.
    std::ofstream stream(directory_ + file, std::ios::in | std::ios::out);
    return static_cast<bool>(stream << text << std::flush);
  }

 private:
  std::string directory_;
};

TEST_F(MemoryCgroup, CountsAKill) {
  const auto outcome = child::run([this] {
    if (!put("/cgroup.procs", std::to_string(::getpid()))) return 2;
    const auto before = sys::oom_kills();
    const pid_t hog = ::fork();
    if (hog == 0) {
      std::ofstream("/proc/self/oom_score_adj") << 1000 << std::flush;
      constexpr std::size_t kBytes = 256UL << 20;
      auto* memory = static_cast<char*>(
          ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      if (memory == MAP_FAILED) ::_exit(1);
      for (std::size_t i = 0; i < kBytes; i += 4096) memory[i] = 1;
      ::_exit(0);
    }
    if (child::wait_for(hog) != 128 + SIGKILL) return 3;
    const auto after = sys::oom_kills();
    return before && after && *after == *before + 1 ? 0 : 4;
  });
  EXPECT_EQ(outcome.code, 0);
}

class CpuQuota : public Tree {};

TEST_F(CpuQuota, IsTheSmallestOfTheCgroupsAbove) {
  EXPECT_EQ(sys::cpu_quota(path("")), 0U);
  file("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  file("sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  EXPECT_EQ(sys::cpu_quota(path("")), 0U);
  file("sys/fs/cgroup/slurm/job_7/cpu.max", "250000 100000\n");
  EXPECT_EQ(sys::cpu_quota(path("")), 250U);
  file("sys/fs/cgroup/slurm/cpu.max", "800000 100000\n");
  EXPECT_EQ(sys::cpu_quota(path("")), 250U);
  file("sys/fs/cgroup/cpu.max", "100 100000\n");
  EXPECT_EQ(sys::cpu_quota(path("")), 1U);
}

TEST_F(CpuQuota, OfVersion1HasItsPeriodInAFileOfItsOwn) {
  file("proc/self/cgroup", "8:cpu,cpuacct:/docker/y\n0::/\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(sys::cpu_quota(path("")), 0U);
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(sys::cpu_quota(path("")), 400U);
}

}  // namespace
