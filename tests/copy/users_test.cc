// Two users who share a cache, and whose jobs are killed at any instant.

#include <grp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "init/sys/clock.h"
#include "tests/copy/tree.h"
#include "tests/init/copy/cache/cached.h"
#include "tests/rules/isolation.h"

namespace {

constexpr int kKills = 200;
constexpr int kFiles = 25;
constexpr std::array<uid_t, 3> kUsers = {1000, 2000, 0};

class CopyUsers : public cached::Cached {
 protected:
  CopyUsers() {
    ::chmod(path("").c_str(), 0755);
    ::chmod(path("cache").c_str(), 01777);
    EXPECT_TRUE(sys::remove_tree(path("source")));
    trees::make(path("source"), 1, kFiles);
    // Odd permissions: whoever may not read the source has no copy of it.
    order.request.exclude = {"empty", "one", "two", "three", "file-*"};
  }

  // A job of that user, which says how it came to its copy, and lives until it
  // is killed.
  [[nodiscard]] pid_t start(uid_t user, int pipe) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (user != 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
                      ::setresuid(user, user, user) != 0)) {
      ::_exit(2);
    }
    const auto prepared = copy::prepare_dataset(order);
    child::say(pipe, (prepared ? prepared->path : "! " + to_line(prepared.error())) + "\n");
    ::pause();
    ::_exit(0);
  }

  // Its path, or what went wrong.
  [[nodiscard]] std::string copy_of(uid_t user) const {
    child::Pipe said = child::make_pipe();
    const pid_t pid = start(user, said.in.get());
    said.in.reset();
    std::string text;
    char c = 0;
    while (::read(said.out.get(), &c, 1) == 1 && c != '\n') text += c;
    ::kill(pid, SIGKILL);
    child::wait_for(pid);
    return text;
  }
};

TEST_F(CopyUsers, HaveATrueCopyWhoeverIsKilledWhenever) {
  if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "needs root and namespaces";
  const char* given = std::getenv("TRAINIT_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                              : static_cast<std::uint64_t>(sys::wall_ms());
  SCOPED_TRACE("TRAINIT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string reference = copy_of(0);
  const auto wanted = trees::entries_of(reference, false);
  int kills = 0;
  while (kills < kKills && !HasFailure()) {
    // Root's copy would serve all: it is not there each time.
    for (const char* store : {"trainit-datasets", "trainit-datasets-0", "trainit-datasets-1000",
                              "trainit-datasets-2000"}) {
      if (random() % 2 != 0) continue;
      ASSERT_TRUE(sys::remove_tree(path("cache/") + store));
    }
    std::vector<pid_t> jobs;
    const child::Pipe unheard = child::make_pipe();
    for (int job = 0; job < 4; ++job) {
      jobs.push_back(start(kUsers.at(random() % kUsers.size()), unheard.in.get()));
    }
    for (const pid_t job : jobs) {
      constexpr std::uint64_t kMaxUs = 12'000;
      const timespec nap{.tv_sec = 0, .tv_nsec = static_cast<long>(random() % kMaxUs) * 1000};
      ::nanosleep(&nap, nullptr);
      ::kill(job, SIGKILL);
      child::wait_for(job);
      ++kills;
    }
    for (const uid_t user : kUsers) {
      const std::string copy = copy_of(user);
      ASSERT_TRUE(copy.starts_with('/')) << user << ": " << copy;
      EXPECT_EQ(trees::differences(wanted, trees::entries_of(copy, false)),
                std::vector<std::string>{})
          << user;
      struct stat store{};
      ASSERT_EQ(::stat((copy + "/../..").c_str(), &store), 0);
      EXPECT_TRUE(store.st_uid == user || store.st_uid == 0) << user << " reads " << copy;
    }
  }
  std::printf("%d kills, seed %lu\n", kills, static_cast<unsigned long>(seed));
}

}  // namespace
