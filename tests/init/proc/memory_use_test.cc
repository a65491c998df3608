#include "init/proc/memory_use.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/init/child.h"

namespace {

using proc::MemoryUse;

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::uint64_t kPython = 0x7ffd'0000'1000;
constexpr std::uint64_t kShell = 0x7ffe'0000'2000;

MemoryUse use(pid_t pid, std::uint64_t stack, std::int64_t own, std::int64_t mapped) {
  return {.pid = pid,
          .start = static_cast<std::uint64_t>(pid),
          .stack = stack,
          .own_bytes = own,
          .mapped_bytes = mapped};
}

TEST(Statm, HasResidentAndMappedPages) {
  const auto pages = proc::parse_statm("2000 500 120 10 0 900 0\n");
  ASSERT_TRUE(pages);
  EXPECT_EQ(pages->resident, 500);
  EXPECT_EQ(pages->mapped, 120);
}

TEST(Statm, WhoseCountersDoNotFitHasNoNegativeMemory) {
  EXPECT_EQ(proc::parse_statm("2000 5 9 0 0 0 0")->mapped, 5);
}

TEST(Statm, OfAnyOtherTextIsNone) {
  for (const char* text : {"", "1 2", "a b c", "1 -2 3", "1 99999999999999999999 3"}) {
    EXPECT_FALSE(proc::parse_statm(text)) << text;
  }
}

TEST(TreeMemory, OfOneProcessIsItsResidentSize) {
  proc::TreeMemory memory;
  EXPECT_EQ(memory.look({use(10, kPython, 100, 30)}), 130);
  EXPECT_EQ(memory.look({}), -1);
}

TEST(TreeMemory, CountsThePagesOfAForkOnceAndWhatTheChildAdds) {
  proc::TreeMemory memory;
  EXPECT_EQ(memory.look(
                {use(10, kPython, 100, 30), use(11, kPython, 100, 30), use(12, kPython, 100, 30)}),
            130);
  EXPECT_EQ(memory.look(
                {use(10, kPython, 150, 30), use(11, kPython, 120, 30), use(12, kPython, 100, 30)}),
            150 + 20 + 30)
      << "the growth of the parent hides no growth of a child";
  EXPECT_EQ(memory.look({use(10, kPython, 60, 30), use(11, kPython, 120, 30)}), 60 + 60 + 30)
      << "what the parent has freed is the child's alone";
}

TEST(TreeMemory, CountsAnotherProgramInFull) {
  proc::TreeMemory memory;
  EXPECT_EQ(memory.look({use(9, kShell, 1, 2), use(10, kPython, 100, 30)}), 131);
}

TEST(TreeMemory, OfAChildWhoseParentHasExitedIsAllOfIt) {
  proc::TreeMemory memory;
  memory.look({use(10, kPython, 100, 30), use(11, kPython, 100, 30)});
  EXPECT_EQ(memory.look({use(11, kPython, 100, 30)}), 130);
}

TEST(TreeMemory, ForgetsAForkThatHasBecomeAnotherProgram) {
  proc::TreeMemory memory;
  memory.look({use(10, kPython, 100, 30), use(11, kPython, 100, 30)});
  EXPECT_EQ(memory.look({use(10, kPython, 100, 30), use(11, kShell, 40, 2)}), 170);
}

// Where the kernel hides the stacks, the number is a lower bound.
TEST(TreeMemory, OfProcessesThatHideTheirStacksCountsOnlyGrowth) {
  proc::TreeMemory memory;
  EXPECT_EQ(memory.look({use(10, 0, 100, 30), use(11, 0, 40, 30)}), 130);
  EXPECT_EQ(memory.look({use(10, 0, 100, 30), use(11, 0, 90, 30)}), 180);
}

// A fork of this process, and what it then writes to.
TEST(TreeMemory, OfARealForkIsLessThanTheSum) {
  constexpr std::size_t kBytes = 64 * kMiB;
  void* shared =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::memset(shared, 1, kBytes);
  child::Pipe go = child::make_pipe();
  child::Pipe done = child::make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    go.in.reset();
    char byte = 0;
    if (::read(go.out.get(), &byte, 1) != 1) ::_exit(1);
    void* own = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED) ::_exit(1);
    std::memset(own, 1, kBytes);
    if (::write(done.in.get(), "x", 1) != 1) ::_exit(1);
    ::_exit(::read(go.out.get(), &byte, 1) == 0 ? 0 : 1);
  }
  proc::TreeMemory memory;
  const auto look = [&memory] {
    std::vector<proc::Load> tree;
    for (const proc::Load& one : proc::all_loads()) {
      if (one.pid == ::getpid() || one.parent == ::getpid()) tree.push_back(one);
    }
    return memory.look(proc::memory_of(tree));
  };
  const std::int64_t alone = memory.look(proc::memory_of({{.pid = ::getpid()}}));
  EXPECT_LT(look(), alone + 16 * kMiB);
  child::say(go.in.get(), "x");
  char byte = 0;
  EXPECT_EQ(::read(done.out.get(), &byte, 1), 1);
  EXPECT_GT(look(), alone + 48 * kMiB);
  go.in.reset();
  EXPECT_EQ(child::wait_for(pid), 0);
  ::munmap(shared, kBytes);
}

TEST(Trees, HaveTheMembersOfEach) {
  const std::vector<proc::Load> loads = {
      {.pid = 1, .parent = 0, .session = 1},    {.pid = 10, .parent = 1, .session = 10},
      {.pid = 11, .parent = 10, .session = 10}, {.pid = 12, .parent = 11, .session = 12},
      {.pid = 13, .parent = 1, .session = 20},  // adopted
      {.pid = 20, .parent = 1, .session = 20},
  };
  const auto trees = proc::trees_of(loads, {20, 10, 99});
  ASSERT_EQ(trees.size(), 3U);
  const auto pids = [](const std::vector<proc::Load>& tree) {
    std::vector<pid_t> found;
    for (const proc::Load& one : tree) found.push_back(one.pid);
    return found;
  };
  EXPECT_EQ(pids(trees[0]), (std::vector<pid_t>{13, 20}));
  EXPECT_EQ(pids(trees[1]), (std::vector<pid_t>{10, 11, 12}));
  EXPECT_TRUE(trees[2].empty());
}

}  // namespace
