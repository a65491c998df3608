// A copy that is killed at any instant, any of its processes, and run again.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "init/sys/clock.h"
#include "tests/copy/tree.h"
#include "tests/init/child.h"
#include "tests/rules/isolation.h"
#include "tests/rules/job.h"

namespace {

constexpr int kKills = 200;
constexpr int kMaxRuns = 2000;
constexpr int kFiles = 25;

std::int64_t now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

// What the file system of the place is like.
enum class Renames : unsigned char { kExchange, kPlain };

pid_t start_copy(const std::string& source, const std::string& place, const std::string& said,
                 Renames renames) {
  const std::string program = rules::trainit();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int fd = ::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  if (renames == Renames::kPlain) rules::refuse_calls({SYS_renameat2}, EINVAL);
  ::execl(program.c_str(), "trainit", "copy", "--workers", "3", "--headroom", "0%", source.c_str(),
          place.c_str(), nullptr);
  ::_exit(127);
}

// The child has ended, or the time is over.
bool ended_by(pid_t child, std::int64_t deadline_us) {
  while (true) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == child) return true;
    if (now_us() >= deadline_us) return false;
    const timespec nap{0, 50'000};
    ::nanosleep(&nap, nullptr);
  }
}

// Looks at a place again and again, in a process of its own: what is to be seen there must be one
// of the complete trees, and must never go away once it was there, where it can be exchanged.
class Watcher {
 public:
  Watcher(const std::string& place, const std::set<std::string>& complete, Renames renames) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    report_.reset(ends[0]);
    const sys::Fd in(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      watch(place, complete, renames, in.get());
    }
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // What it has found to be wrong; "" = nothing.
  [[nodiscard]] std::string finding() const { return child::read_now(report_.get()); }

 private:
  [[noreturn]] static void watch(const std::string& place, const std::set<std::string>& complete,
                                 Renames renames, int report) {
    bool seen = false;
    while (true) {
      const sys::Fd fd(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      const std::string text = fd.valid() ? trees::glance(fd.get()) : "nothing";
      struct stat looked{};
      struct stat there{};
      const bool known = fd.valid() && ::fstat(fd.get(), &looked) == 0;
      // It may have been exchanged, and be on its way out.
      const bool still =
          known && ::stat(place.c_str(), &there) == 0 && looked.st_ino == there.st_ino;
      std::string wrong;
      if (still && !complete.contains(text)) wrong = "partly there: " + text;
      if (!fd.valid() && seen && renames == Renames::kExchange) wrong = "gone";
      seen = seen || still;
      if (!wrong.empty()) {
        child::say(report, wrong + "\n");
        ::_exit(1);
      }
      const timespec nap{0, 2'000'000};
      ::nanosleep(&nap, nullptr);
    }
  }

  sys::Fd report_;
  pid_t pid_ = -1;
};

// Copies that are killed at moments of a seed.
class Crash : public child::Scratch {
 protected:
  // The microseconds of a copy that nobody disturbs.
  std::int64_t undisturbed_us(const std::string& source, int trials = 5) {
    std::vector<std::int64_t> times;
    for (int i = 0; i < trials; ++i) {
      const std::string place = path("trial-" + std::to_string(i));
      const std::int64_t before = now_us();
      finish(source, place);
      times.push_back(now_us() - before);
      EXPECT_TRUE(sys::remove_tree(place));
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

  enum class Run : unsigned char { kKilled, kDone };
  // One that is killed after a while, unless it is done before.
  Run run_and_kill(const std::string& source, const std::string& place, std::int64_t after_us) {
    const pid_t copy = start_copy(source, place, path("said"), renames_);
    Run run = Run::kDone;
    if (!ended_by(copy, now_us() + after_us)) {
      std::vector<pid_t> processes = rules::children_of(copy);
      processes.push_back(copy);
      ::kill(processes.at(random_() % processes.size()), SIGKILL);
      run = Run::kKilled;
    }
    const int code = child::wait_for(copy);
    // Without one of its processes a copy fails, or has no more need of it.
    EXPECT_TRUE(code == 0 || code == 1 || code == 128 + SIGKILL) << code << read(path("said"));
    return run;
  }

  // Undisturbed.
  void finish(const std::string& source, const std::string& place) {
    const pid_t copy = start_copy(source, place, path("said"), renames_);
    EXPECT_EQ(child::wait_for(copy), 0) << read(path("said"));
  }

  // Kills copies until one is done, of which they were `kills`.
  int kill_until_done(const std::string& source, const std::string& place, std::int64_t usual_us) {
    int kills = 0;
    for (bool again = true; again; again = random_() % 3 != 0) {
      ++runs_;
      const auto after_us = static_cast<std::int64_t>(random_() % (usual_us + 1));
      if (run_and_kill(source, place, after_us) == Run::kDone) return kills;
      ++kills;
    }
    finish(source, place);
    return kills;
  }

  std::uint64_t seed() {
    const char* given = std::getenv("TRAINIT_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                                : static_cast<std::uint64_t>(sys::wall_ms());
    RecordProperty("seed", std::to_string(seed));
    random_.seed(seed);
    return seed;
  }

  // A job writes into its copy: what it wrote must be found at the place, or be kept beside it.
  void plant(const std::string& place, int round) {
    if (!jobs_write_) return;
    const std::string name = "precious-" + std::to_string(round);
    std::ofstream(place + "/" + name) << name;
    planted_.push_back(name);
  }
  void expect_nothing_lost(const std::string& place) {
    std::vector<std::string> found;
    std::vector<std::string> trees = {place};
    const std::string state = path(".trainit-copy." + place.substr(place.rfind('/') + 1));
    for (const auto& entry : std::filesystem::directory_iterator(state)) {
      if (entry.path().filename().string().starts_with("replaced-")) trees.push_back(entry.path());
    }
    for (const std::string& name : std::exchange(planted_, {})) {
      const bool kept = std::ranges::any_of(
          trees, [&](const std::string& tree) { return read(tree + "/" + name) == name; });
      EXPECT_TRUE(kept) << name << " is in none of " << trees.size();
    }
    // And a copy that nobody wrote to is not.
    EXPECT_TRUE(jobs_write_ || trees.size() == 1) << trees.size() - 1 << " kept";
  }

  bool jobs_write_ = false;
  std::vector<std::string> planted_;

  Renames renames_ = Renames::kExchange;
  std::mt19937_64 random_;
  int runs_ = 0;
};

class CopyCrash : public Crash {
 protected:
  CopyCrash() {
    for (const std::uint64_t seed : {1, 2}) {
      const std::string source = path("source-" + std::to_string(seed));
      trees::make(source, seed, kFiles);
      sources_.push_back(source);
      wanted_.push_back(trees::entries_of(source));
      const sys::Fd fd(::open(source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      complete_.insert(trees::glance(fd.get()));
    }
  }

  void kill_at_random(int wanted_kills);

  std::vector<std::string> sources_;
  std::vector<trees::Entries> wanted_;
  std::set<std::string> complete_;
};

void CopyCrash::kill_at_random(int wanted_kills) {
  const std::uint64_t seed = this->seed();
  SCOPED_TRACE("TRAINIT_SEED=" + std::to_string(seed));
  std::int64_t usual_us = undisturbed_us(sources_[0]);
  int kills = 0;
  std::string place;
  std::optional<Watcher> watcher;
  for (int round = 0; kills < wanted_kills && runs_ < kMaxRuns && !HasFailure(); ++round) {
    constexpr int kRoundsOfAPlace = 6;
    if (round % kRoundsOfAPlace == 0) {
      watcher.reset();
      if (!place.empty()) expect_nothing_lost(place);
      // The machine may have become faster or slower: most kills would come too late, or too early.
      if (round != 0) usual_us = undisturbed_us(sources_[0], 1);
      place = path("place-" + std::to_string(round));
      if (!jobs_write_) watcher.emplace(place, complete_, renames_);
    }
    const auto which = static_cast<std::size_t>(round) % sources_.size();
    kills += kill_until_done(sources_[which], place, usual_us);
    EXPECT_EQ(trees::differences(wanted_[which], trees::entries_of(place)),
              std::vector<std::string>{});
    if (watcher) {
      EXPECT_EQ(watcher->finding(), "");
    }
    plant(place, round);
  }
  expect_nothing_lost(place);
  EXPECT_GE(kills, wanted_kills) << runs_ << " runs of " << usual_us << " us";
  std::printf("%d kills in %d runs of %ld us, seed %lu\n", kills, runs_,
              static_cast<long>(usual_us), static_cast<unsigned long>(seed));
}

TEST_F(CopyCrash, IsCompleteOrNotThereWheneverAnyProcessIsKilled) { kill_at_random(kKills); }

TEST_F(CopyCrash, NothingThatAJobWroteIsLostWheneverAnyProcessIsKilled) {
  jobs_write_ = true;
  kill_at_random(kKills / 4);
  renames_ = Renames::kPlain;
  kill_at_random(kKills / 10);
}

TEST_F(CopyCrash, IsCompleteOrNotThereWhereNothingCanBeExchanged) {
  renames_ = Renames::kPlain;
  kill_at_random(kKills / 5);
}

constexpr std::uint64_t kMiB = 1ULL << 20U;

// No MiB of it is like another one.
void make_large_file(const std::string& file, std::uint64_t size) {
  std::vector<std::uint64_t> block(kMiB / sizeof(std::uint64_t));
  std::mt19937_64 random(size);
  for (std::uint64_t& word : block) word = random();
  const sys::Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
  for (std::uint64_t at = 0; at < size; at += kMiB) {
    block.front() = at;
    const std::uint64_t count = std::min(kMiB, size - at);
    ASSERT_EQ(::pwrite(fd.get(), block.data(), count, static_cast<off_t>(at)),
              static_cast<ssize_t>(count));
  }
}

// Where the contents of two files part; -1 where they are the same.
std::int64_t first_difference(const std::string& left, const std::string& right) {
  const std::array files = {sys::Fd(::open(left.c_str(), O_RDONLY | O_CLOEXEC)),
                            sys::Fd(::open(right.c_str(), O_RDONLY | O_CLOEXEC))};
  std::array<std::string, 2> blocks = {std::string(kMiB, 'l'), std::string(kMiB, 'r')};
  for (off_t at = 0;; at += static_cast<off_t>(kMiB)) {
    std::array<ssize_t, 2> counts{};
    for (std::size_t i = 0; i < files.size(); ++i) {
      counts.at(i) = ::pread(files.at(i).get(), blocks.at(i).data(), kMiB, at);
    }
    if (counts[0] < 0 || counts[0] != counts[1]) return at;
    const auto count = static_cast<std::size_t>(counts[0]);
    if (count == 0) return -1;
    if (std::memcmp(blocks[0].data(), blocks[1].data(), count) != 0) return at;
  }
}

// One file as the source, of several parts: some are written when it is killed.
class LargeFile : public Crash, public testing::WithParamInterface<std::uint64_t> {};

TEST_P(LargeFile, IsTheWholeFileOrNotThereWheneverAnyProcessIsKilled) {
  constexpr int kWanted = 20;
  const std::uint64_t seed = this->seed();
  SCOPED_TRACE("TRAINIT_SEED=" + std::to_string(seed));
  const std::string source = path("large.tar");
  make_large_file(source, GetParam());
  const std::int64_t usual_us = undisturbed_us(source);
  int kills = 0;
  for (int round = 0; kills < kWanted && runs_ < kMaxRuns && !HasFailure(); ++round) {
    const std::string place = path("place-" + std::to_string(round) + ".tar");
    kills += kill_until_done(source, place, usual_us);
    EXPECT_EQ(first_difference(source, place), -1);
    struct stat wanted{};
    struct stat got{};
    ASSERT_EQ(::stat(source.c_str(), &wanted) | ::stat(place.c_str(), &got), 0);
    EXPECT_EQ(got.st_mode, wanted.st_mode);
    EXPECT_EQ(got.st_mtim.tv_nsec, wanted.st_mtim.tv_nsec);
    ASSERT_EQ(::unlink(place.c_str()), 0);
  }
  EXPECT_GE(kills, kWanted) << runs_ << " runs of " << usual_us << " us";
  std::printf("%d kills in %d runs of %ld us, seed %lu\n", kills, runs_,
              static_cast<long>(usual_us), static_cast<unsigned long>(seed));
}

class OneFile : public Crash {};

// What its parts hold is not copied a second time.
TEST_F(OneFile, GoesOnWhereItWasKilled) {
  constexpr int kMaxTries = 40;
  const std::uint64_t seed = this->seed();
  SCOPED_TRACE("TRAINIT_SEED=" + std::to_string(seed));
  const std::string source = path("large.tar");
  make_large_file(source, 400'000'000);
  const std::int64_t usual_us = undisturbed_us(source);
  bool kept = false;
  for (int left = kMaxTries; !kept && left > 0; --left) {
    const std::string place = path("place-" + std::to_string(left) + ".tar");
    const auto after_us = static_cast<std::int64_t>(random_() % (usual_us + 1));
    if (run_and_kill(source, place, after_us) == Run::kDone) continue;
    const rules::Result next = rules::run(
        {.args = {"copy", "--json", "--headroom", "0", source, place}, .env = {}, .pid1 = false});
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_EQ(first_difference(source, place), -1);
    kept = next.out.find("\"kept_bytes\": 0,") == std::string::npos;
    ASSERT_EQ(::unlink(place.c_str()), 0);
  }
  EXPECT_TRUE(kept) << "of " << kMaxTries;
}

INSTANTIATE_TEST_SUITE_P(CopyCrash, LargeFile,
                         testing::Values(700'000'000, 1'400'000'000, 2'000'000'001),
                         [](const auto& size) { return std::to_string(size.param) + "Bytes"; });

}  // namespace
