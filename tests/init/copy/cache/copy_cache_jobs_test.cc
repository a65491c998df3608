// Several jobs of a node at one cache.

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "init/sys/clock.h"
#include "tests/init/copy/cache/cached.h"
#include "tests/init/copy/tree/copy_job.h"

namespace copy {
namespace {

using cached::Job;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class CopyCacheJobs : public cached::Cached {};

std::vector<std::string> start(const Preparation& order, int count) {
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.reserve(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) jobs.push_back(std::make_unique<Job>(order));
  std::vector<std::string> hows;
  hows.reserve(jobs.size());
  for (const auto& job : jobs) hows.push_back(job->how());
  for (const auto& job : jobs) EXPECT_EQ(job->end(), 0);
  return hows;
}

TEST_F(CopyCacheJobs, OneOfThemCopies) {
  for (const int count : {2, 8}) {
    ASSERT_TRUE(sys::remove_tree(path("cache/trainit-datasets")));
    const std::vector<std::string> hows = start(order, count);
    EXPECT_EQ(std::ranges::count(hows, "copied"), 1);
    EXPECT_EQ(std::ranges::count(hows, "found") +
                  std::ranges::count(hows, "waited for another job's copy"),
              count - 1)
        << testing::PrintToString(hows);
    EXPECT_THAT(list(), SizeIs(1));
  }
}

TEST_F(CopyCacheJobs, TheOthersSeeHowFarItIs) {
  Job copier(order, true);
  ASSERT_EQ(copier.line(), "publishing");
  Job waiter(order);
  EXPECT_EQ(waiter.line(), "waits 100003");
  ASSERT_THAT(list(), SizeIs(1));
  EXPECT_TRUE(list()[0].partial && list()[0].in_use);
  EXPECT_EQ(list()[0].source, path("source"));
  EXPECT_EQ(list()[0].bytes, 100'003);
  EXPECT_EQ(list()[0].total_bytes, 100'003);
  copier.go_on();
  EXPECT_EQ(copier.how(), "copied");
  EXPECT_EQ(waiter.how(), "waited for another job's copy");
  EXPECT_EQ(copier.end(), 0);
  EXPECT_TRUE(list()[0].in_use) << "the other one has it";
  EXPECT_EQ(waiter.end(), 0);
  EXPECT_FALSE(list()[0].in_use);
}

TEST_F(CopyCacheJobs, AKilledCopierIsTakenOver) {
  Job copier(order, true);
  ASSERT_EQ(copier.line(), "publishing");
  Job waiter(order);
  EXPECT_THAT(waiter.line(), StartsWith("waits"));
  copier.kill();
  EXPECT_EQ(waiter.how(), "copied");
  EXPECT_EQ(prepare().how, "found");
}

// What was changed a moment before a copy began is not told from what changes during it.
void let_settle(const std::string& file) {
  constexpr std::int64_t kMoment = 50;
  struct stat status{};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  const std::int64_t changed_ms =
      (status.st_ctim.tv_sec * 1000) + (status.st_ctim.tv_nsec / 1'000'000);
  while (sys::wall_ms() < changed_ms + kMoment) ::sched_yield();
}

TEST_F(CopyCacheJobs, WhatAKilledCopierHasCopiedIsKept) {
  let_settle(path("source/d/b"));
  Job copier(order, true);
  ASSERT_EQ(copier.line(), "publishing");
  copier.kill();
  ASSERT_THAT(list(), SizeIs(1));
  EXPECT_TRUE(list()[0].partial && !list()[0].in_use);
  std::uint64_t kept = 0;
  order.report = [&kept](const Report& report) {
    if (report.counters == nullptr) return;
    kept = std::max<std::uint64_t>(kept, report.counters->kept_entries);
  };
  EXPECT_EQ(prepare().how, "copied");
  EXPECT_GE(kept, 2) << "its files";
}

TEST_F(CopyCacheJobs, AWaitHasAnEnd) {
  Job copier(order, true);
  ASSERT_EQ(copier.line(), "publishing");
  order.request.version = "";
  std::string found;
  // The look at the source, which comes first, may need more time.
  for (const std::int64_t timeout_ms : {300, 3000, 30'000}) {
    order.request.timeout_ms = timeout_ms;
    found = error();
    if (found.contains("another job")) break;
  }
  EXPECT_EQ(found, "preparing a dataset: " + path("source") +
                       ": found another job that still copies it; give it more time with "
                       "--data-timeout; what was copied is kept");
}

TEST_F(CopyCacheJobs, ASourceThatChangesBetweenTheLookAndTheCopyIsCopiedAsItIsThen) {
  bool changed = false;
  order.report = [this, &changed](const Report& report) {
    if (changed || report.counters == nullptr || report.counters->phase != Phase::kCopying) return;
    changed = true;
    add("a", "changed");
  };
  const Prepared prepared = prepare();
  EXPECT_TRUE(changed);
  EXPECT_EQ(prepared.how, "copied");
  EXPECT_EQ(read(prepared.path + "/a"), "changed");
  EXPECT_THAT(list(), SizeIs(1)) << "what was begun under the other key was taken over";
  EXPECT_EQ(copy_job::shell("ls '" + path("cache/trainit-datasets") + "' | wc -l"), "2\n")
      << "its lock, too";
  order.report = {};
  EXPECT_EQ(prepare().path, prepared.path) << "its key is that of what it holds";
}

// Prepares and looks until `stop` is there; while it has the lease nothing may go.
int use_often(const Preparation& order, const std::string& stop) {
  constexpr int kLooks = 5;
  while (!cached::exists(stop)) {
    const auto prepared = prepare_dataset(order);
    if (!prepared) {
      std::fprintf(stderr, "%s\n", to_line(prepared.error()).c_str());
      return 1;
    }
    for (int state = 0; state < kLooks; ++state) {
      struct stat status{};
      const bool whole = child::Scratch::read(prepared->path + "/a") == "one" &&
                         ::stat((prepared->path + "/d/b").c_str(), &status) == 0 &&
                         status.st_size == 100'000;
      if (!whole) {
        std::fprintf(stderr, "%s is not whole\n", prepared->path.c_str());
        return 2;
      }
    }
  }
  return 0;
}

TEST_F(CopyCacheJobs, NothingInUseIsCollected) {
  constexpr std::size_t kEnough = 20;
  constexpr std::int64_t kLimitMs = 180'000;
  order.request.version = "v";  // the source is not looked at each time
  std::vector<pid_t> users;
  for (int user = 0; user < 2; ++user) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(use_often(order, path("stop")));
    users.push_back(pid);
  }
  CacheLimits all;
  all.now_ms = std::int64_t{1} << 60;
  std::size_t collected = 0;
  const std::int64_t limit = sys::monotonic_ms() + kLimitMs;
  while (collected < kEnough && sys::monotonic_ms() < limit) {
    const auto removed = collect_garbage(path("cache"), all, false);
    if (removed) collected += removed->removed.size();
  }
  EXPECT_GE(collected, kEnough);
  write("stop", "");
  for (const pid_t pid : users) EXPECT_EQ(child::wait_for(pid), 0);
}

TEST_F(CopyCacheJobs, SurviveTheDeathOfAnyOfThemAtAnyInstant) {
  constexpr int kRounds = 12;
  constexpr unsigned kSeed = 20261122;
  constexpr int kFiles = 200;
  constexpr int kMaxMs = 40;
  for (int number = 0; number < kFiles; ++number) {
    add("d/f" + std::to_string(number), std::string(20'000, static_cast<char>('a' + number % 26)));
  }
  std::mt19937 random(kSeed);
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    std::vector<std::unique_ptr<Job>> jobs;
    jobs.reserve(3);
    for (int number = 0; number < 3; ++number) jobs.push_back(std::make_unique<Job>(order));
    for (int kills = 0; kills < 2; ++kills) {
      ::poll(nullptr, 0, static_cast<int>(random() % kMaxMs));
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(random() % jobs.size()));
    }
    const std::string how = jobs.front()->how();
    EXPECT_TRUE(how == "copied" || how == "found" || how == "waited for another job's copy") << how;
    EXPECT_EQ(jobs.front()->end(), 0);
    const Prepared prepared = prepare();
    const child::Outcome compared = child::run([&] {
      return ::execlp("diff", "diff", "-r", path("source").c_str(), prepared.path.c_str(), nullptr);
    });
    EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
    EXPECT_THAT(list(), SizeIs(1));
    if (random() % 2 == 0) continue;
    ASSERT_TRUE(sys::remove_tree(path("cache/trainit-datasets")));
  }
}

// In a mount namespace: a root that is full soon. What `body` prints, or "no mount".
std::string on_small_disk(const std::string& root, const char* size,
                          const std::function<void()>& body) {
  const auto mounted = [&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", root.c_str(), "tmpfs", 0, size) != 0) {
      std::printf("no mount");
      return 0;
    }
    body();
    return 0;
  };
  return child::run(mounted).out;
}

void say(const base::Result<Prepared>& prepared) {
  std::printf("%s\n", prepared ? prepared->how.c_str() : to_line(prepared.error()).c_str());
}

TEST_F(CopyCacheJobs, RoomIsMadeForWhatComes) {
  add("large", std::string(3'000'000, 'x'));
  const std::string text = on_small_disk(path("cache"), "size=8m", [this] {
    order.request.version = "v1";
    say(prepare_dataset(order));
    order.request.version = "v2";
    say(prepare_dataset(order));
    order.request.version = "v3";
    const auto third = prepare_dataset(order);
    say(third);
    std::printf("%zu\n", list().size());
    order.request.version = "v2";
    const auto second = prepare_dataset(order);
    say(second);
    // Both are in use now.
    order.request.version = "v4";
    say(prepare_dataset(order));
  });
  if (text == "no mount") GTEST_SKIP() << text;
  EXPECT_THAT(text, StartsWith("copied\ncopied\ncopied\n2\nfound\nmaking room for a dataset: "));
  EXPECT_THAT(text, AllOf(HasSubstr("and nothing that is not in use and would make room"),
                          HasSubstr("free space there, name a larger --data-root")));
}

TEST_F(CopyCacheJobs, NothingIsRemovedInVain) {
  const std::string text = on_small_disk(path("cache"), "size=4m", [this] {
    say(prepare_dataset(order));
    add("large", std::string(5'000'000, 'x'));
    say(prepare_dataset(order));
    std::printf("%zu\n", list().size());
  });
  if (text == "no mount") GTEST_SKIP() << text;
  EXPECT_THAT(text, AllOf(StartsWith("copied\nmaking room"), testing::EndsWith("\n1\n")));
}

TEST_F(CopyCacheJobs, InodesAreCountedToo) {
  for (int number = 0; number < 60; ++number) add("f" + std::to_string(number), "");
  const std::string text =
      on_small_disk(path("cache"), "nr_inodes=50", [this] { say(prepare_dataset(order)); });
  if (text == "no mount") GTEST_SKIP() << text;
  EXPECT_THAT(text, HasSubstr(" free inodes for 64 entries, and nothing that is not in use"));
}

}  // namespace
}  // namespace copy
