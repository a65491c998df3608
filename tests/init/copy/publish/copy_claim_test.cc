// A place that several machines share: of another one nothing is known but its file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "init/copy/publish/claim.h"
#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using copy::Claim;
using testing::HasSubstr;

constexpr copy::ClaimTimeouts kShort{.stale_ms = 40, .beat_ms = 0, .settle_ms = 1};
constexpr copy::ClaimTimeouts kEndless{.stale_ms = 1'000'000'000, .beat_ms = 0, .settle_ms = 1};

class CopyClaim : public child::Scratch {
 protected:
  [[nodiscard]] base::Result<Claim> take(const std::string& boot,
                                         const copy::ClaimTimeouts& timeouts) const {
    return Claim::take(path(""), options, boot, timeouts);
  }
  [[nodiscard]] bool exists() const { return ::access(path("claim").c_str(), F_OK) == 0; }

  copy::Options options;
};

TEST_F(CopyClaim, IsThereAsLongAsItIsHeld) {
  {
    auto claim = take("here", kEndless);
    ASSERT_TRUE(claim);
    EXPECT_THAT(read(path("claim")), testing::StartsWith("here "));
    EXPECT_TRUE(claim->keep());
    EXPECT_FALSE(claim->abandoned());
  }
  EXPECT_FALSE(exists());
  EXPECT_TRUE(take("", kEndless)) << "no boot id";
  EXPECT_FALSE(exists());
}

TEST_F(CopyClaim, OfAProcessOfThisMachineThatWasKilledIsTakenAtOnce) {
  write("claim", "here 1 1\n");
  auto claim = take("here", kEndless);
  ASSERT_TRUE(claim);
  EXPECT_FALSE(claim->abandoned());
  EXPECT_TRUE(claim->check());
}

TEST_F(CopyClaim, OfAnotherMachineIsWaitedFor) {
  write("claim", "there 1 1\n");
  int waited = 0;
  options.waiting = [&waited](const copy::Counters*) { ++waited; };
  // The first look may come later.
  for (const std::int64_t timeout_ms : {20, 2000, 20'000}) {
    options.deadline_ms = sys::monotonic_ms() + timeout_ms;
    const auto late = take("here", kEndless);
    ASSERT_FALSE(late);
    EXPECT_THAT(to_line(late.error()), HasSubstr("another machine that copies to the same place"));
    if (waited > 0) break;
  }
  EXPECT_GT(waited, 0);
  EXPECT_EQ(read(path("claim")), "there 1 1\n");
  options = {};
  options.waiting = [this](const copy::Counters*) { ::unlink(path("claim").c_str()); };
  EXPECT_TRUE(take("here", kEndless)) << "it is done";
}

TEST_F(CopyClaim, OfAnotherMachineThatIsTouchedIsNotTaken) {
  write("claim", "there 1 1\n");
  int beats = 0;
  options.waiting = [this, &beats](const copy::Counters*) {
    timespec then{};
    then.tv_sec = ++beats;
    const timespec times[2] = {then, then};
    ::utimensat(AT_FDCWD, path("claim").c_str(), times, 0);
    if (beats == 5) ::unlink(path("claim").c_str());
  };
  const auto claim = take("here", {.stale_ms = 150, .beat_ms = 0, .settle_ms = 1});
  ASSERT_TRUE(claim);
  EXPECT_FALSE(claim->abandoned());
  EXPECT_EQ(beats, 5);
}

TEST_F(CopyClaim, OfAMachineThatHasGoneIsTakenAndWhoeverComesBackEnds) {
  auto asleep = take("there", kEndless);
  ASSERT_TRUE(asleep);
  auto claim = take("here", kShort);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->abandoned());
  const auto lost = asleep->keep();
  ASSERT_FALSE(lost);
  EXPECT_THAT(to_line(lost.error()), HasSubstr("another machine has taken over the place"));
  asleep = base::fail("", "", "", "");
  EXPECT_TRUE(claim->check()) << "it is not the other's to remove";
}

TEST_F(CopyClaim, OneThatCannotBeReadIsWaitedForUntilTheDeadline) {
  ASSERT_EQ(::symlink("nothing", path("claim").c_str()), 0);
  options.deadline_ms = sys::monotonic_ms() + 20;
  EXPECT_FALSE(take("here", kShort));
}

// Each of them is another machine: no lock keeps them apart.
TEST_F(CopyClaim, OneAtATimeHasIt) {
  constexpr int kMachines = 4;
  constexpr int kTurns = 25;
  std::vector<pid_t> machines;
  for (int machine = 0; machine < kMachines; ++machine) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (int turn = 0; turn < kTurns; ++turn) {
        auto claim = take("boot-" + std::to_string(machine), kEndless);
        if (!claim || ::mkdir(path("inside").c_str(), 0700) != 0) ::_exit(1);
        if (::rmdir(path("inside").c_str()) != 0 || !claim->check()) ::_exit(2);
      }
      ::_exit(0);
    }
    machines.push_back(pid);
  }
  for (const pid_t machine : machines) EXPECT_EQ(child::wait_for(machine), 0);
  EXPECT_FALSE(exists());
}

}  // namespace
