#include "init/sys/memory.h"

#include <gtest/gtest.h>

#include "init/sys/files.h"
#include "tests/init/child.h"

namespace {

class MemoryRoom : public child::Scratch {
 protected:
  void file(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(sys::make_directories(path(name.substr(0, name.rfind('/'))), 0755));
    write(name, text);
  }
  void machine(int total_kb, int available_kb) const {
    file("proc/meminfo", "MemTotal:       " + std::to_string(total_kb) +
                             " kB\nMemFree: 1 kB\nMemAvailable:   " + std::to_string(available_kb) +
                             " kB\n");
  }
  [[nodiscard]] std::string room() const {
    const auto room = sys::memory_room(path(""));
    if (!room) return "";
    return std::to_string(room->free_bytes / 1024) + " of " +
           std::to_string(room->all_bytes / 1024);
  }
  [[nodiscard]] std::string used() const {
    const auto memory = sys::container_memory(path(""));
    if (!memory) return "";
    return std::to_string(memory->used_bytes / 1024) + " of " +
           (memory->limit_bytes ? std::to_string(*memory->limit_bytes / 1024) : "no limit");
  }
};

TEST_F(MemoryRoom, OfAMachineWithoutALimit) {
  EXPECT_EQ(room(), "");
  machine(1000, 400);
  EXPECT_EQ(room(), "400 of 1000");
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.max", "max\n");
  file("sys/fs/cgroup/memory.current", "1024\n");
  EXPECT_EQ(room(), "400 of 1000");
  EXPECT_EQ(used(), "1 of no limit");
}

TEST_F(MemoryRoom, OfACgroupThatDoesNotReportItsMemoryIsNotKnown) {
  machine(1000, 400);
  EXPECT_EQ(used(), "");
  file("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(used(), "");
  file("sys/fs/cgroup/memory.current", "denied\n");
  EXPECT_EQ(used(), "");
}

TEST_F(MemoryRoom, OfAContainerIsItsLimitAndFilesThatNobodyReadsAreFree) {
  machine(1000, 400);
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.max", std::to_string(500 * 1024) + "\n");
  file("sys/fs/cgroup/memory.current", std::to_string(450 * 1024) + "\n");
  EXPECT_EQ(room(), "50 of 500");
  file("sys/fs/cgroup/memory.stat",
       "anon 1\nactive_file 2\ninactive_file " + std::to_string(100 * 1024) + "\n");
  EXPECT_EQ(room(), "150 of 500");
  EXPECT_EQ(used(), "350 of 500");
  machine(1000, 20);
  EXPECT_EQ(room(), "20 of 500") << "the machine has less";
}

TEST_F(MemoryRoom, OfVersion1) {
  machine(1000, 400);
  file("proc/self/cgroup", "5:memory:/docker/x\n0::/\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(500 * 1024) + "\n");
  file("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(450 * 1024) + "\n");
  file("sys/fs/cgroup/memory/memory.stat",
       "inactive_file 0\ntotal_inactive_file " + std::to_string(200 * 1024) + "\n");
  EXPECT_EQ(room(), "250 of 500");
  EXPECT_EQ(used(), "250 of 500");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(used(), "250 of no limit");
}

// As of a Slurm job, whose step has none.
TEST_F(MemoryRoom, OfACgroupAbove) {
  machine(1000, 400);
  file("proc/self/cgroup", "0::/job/step\n");
  file("sys/fs/cgroup/job/step/memory.max", "max\n");
  file("sys/fs/cgroup/job/step/memory.current", "1024\n");
  file("sys/fs/cgroup/job/memory.max", std::to_string(500 * 1024) + "\n");
  file("sys/fs/cgroup/job/memory.current", std::to_string(450 * 1024) + "\n");
  EXPECT_EQ(room(), "50 of 500");
  EXPECT_EQ(used(), "450 of 500");
}

}  // namespace
