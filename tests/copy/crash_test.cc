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
#include <optional>
#include <random>
#include <set>

#include "init/sys/clock.h"
#include "tests/copy/tree.h"
#include "tests/init/child.h"
#include "tests/rules/isolation.h"

namespace {

constexpr int kKills = 200;
constexpr int kMostRuns = 2000;
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

class CopyCrash : public child::Scratch {
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

  // The microseconds of a copy that nobody disturbs.
  std::int64_t undisturbed_us() {
    std::vector<std::int64_t> times;
    for (int i = 0; i < 5; ++i) {
      const std::string place = path("trial-" + std::to_string(i));
      const std::int64_t before = now_us();
      const pid_t copy = start_copy(sources_[0], place, path("said"), renames_);
      EXPECT_EQ(child::wait_for(copy), 0) << read(path("said"));
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

  void kill_at_random(int wanted_kills);

  Renames renames_ = Renames::kExchange;
  std::vector<std::string> sources_;
  std::vector<trees::Entries> wanted_;
  std::set<std::string> complete_;
  std::mt19937_64 random_;
};

void CopyCrash::kill_at_random(int wanted_kills) {
  const char* given = std::getenv("TRAINIT_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                              : static_cast<std::uint64_t>(sys::wall_ms());
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("TRAINIT_SEED=" + std::to_string(seed));
  random_.seed(seed);
  const std::int64_t usual_us = undisturbed_us();
  int kills = 0;
  int runs = 0;
  std::string place;
  std::optional<Watcher> watcher;
  for (int round = 0; kills < wanted_kills && runs < kMostRuns && !HasFailure(); ++round) {
    constexpr int kRoundsOfAPlace = 6;
    if (round % kRoundsOfAPlace == 0) {
      watcher.reset();
      place = path("place-" + std::to_string(round));
      watcher.emplace(place, complete_, renames_);
    }
    const auto which = static_cast<std::size_t>(round) % sources_.size();
    Run run = Run::kKilled;
    while (run == Run::kKilled && (runs++ == 0 || random_() % 3 != 0)) {
      const auto after_us = static_cast<std::int64_t>(random_() % (usual_us + 1));
      run = run_and_kill(sources_[which], place, after_us);
      kills += run == Run::kKilled ? 1 : 0;
    }
    if (run == Run::kKilled) {
      const pid_t last = start_copy(sources_[which], place, path("said"), renames_);
      ASSERT_EQ(child::wait_for(last), 0) << read(path("said"));
    }
    EXPECT_EQ(trees::differences(wanted_[which], trees::entries_of(place)),
              std::vector<std::string>{});
    EXPECT_EQ(watcher->finding(), "");
  }
  EXPECT_GE(kills, wanted_kills) << runs << " runs of " << usual_us << " us";
  std::printf("%d kills in %d runs of %ld us, seed %lu\n", kills, runs, static_cast<long>(usual_us),
              static_cast<unsigned long>(seed));
}

TEST_F(CopyCrash, IsCompleteOrNotThereWheneverAnyProcessIsKilled) { kill_at_random(kKills); }

TEST_F(CopyCrash, IsCompleteOrNotThereWhereNothingCanBeExchanged) {
  renames_ = Renames::kPlain;
  kill_at_random(kKills / 5);
}

}  // namespace
