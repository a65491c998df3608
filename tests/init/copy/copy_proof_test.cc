#include "init/copy/copy_proof.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using copy::FileState;
using copy::is_proven;
using copy::ProofRules;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegun = 1'000'000 * kSecond;

// A file of a year before the copy, which was made a minute after it began.
constexpr FileState kSource{.mode = 0100644,
                            .uid = 1,
                            .gid = 2,
                            .size = 10,
                            .mtime_ns = kBegun - (1000 * kSecond),
                            .ctime_ns = kBegun - (900 * kSecond)};
constexpr FileState kCopy{.mode = 0100644,
                          .uid = 1,
                          .gid = 2,
                          .size = 10,
                          .mtime_ns = kBegun - (1000 * kSecond),
                          .ctime_ns = kBegun + (60 * kSecond)};
constexpr ProofRules kRules{.same_boot = true, .begun_ns = kBegun, .owners = true};

TEST(CopyProof, TakesACopyWithTheAttributesOfItsSource) {
  EXPECT_TRUE(is_proven(kSource, kCopy, kRules));
}

TEST(CopyProof, WantsEachAttribute) {
  FileState copy = kCopy;
  copy.size = 9;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
  copy = kCopy;
  ++copy.mtime_ns;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
  copy = kCopy;
  copy.mode = 0100600;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
  copy = kCopy;
  copy.mode = 0120644;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
}

TEST(CopyProof, TakesARoundedTimeForTheOneThatWasSet) {
  constexpr std::int64_t kTime = (1001 * kSecond) + 123'456'789;
  EXPECT_EQ(copy::time_step_of(kTime, kTime), 1);
  EXPECT_EQ(copy::time_step_of(kTime, kTime - 89), 100);
  EXPECT_EQ(copy::time_step_of(kTime, kTime - 789), 1000);
  EXPECT_EQ(copy::time_step_of(kTime, kTime + 211), 1000);  // rounded up
  EXPECT_EQ(copy::time_step_of(kTime, 1001 * kSecond), kSecond);
  EXPECT_EQ(copy::time_step_of(kTime, 1000 * kSecond), 2 * kSecond);
  EXPECT_EQ(copy::time_step_of(-kSecond - 1, -2 * kSecond), kSecond);
  EXPECT_FALSE(copy::is_rounding_of(kTime, kTime - 1));
  EXPECT_FALSE(copy::is_rounding_of(kTime, 999 * kSecond));
  EXPECT_FALSE(copy::is_rounding_of(kTime, 1004 * kSecond));
  FileState copy = kCopy;
  FileState source = kSource;
  source.mtime_ns += 5;
  EXPECT_FALSE(is_proven(source, copy, kRules)) << "another time, on an exact file system";
  ProofRules rules = kRules;
  rules.exact_times = false;
  EXPECT_TRUE(is_proven(source, copy, rules));
  copy.mtime_ns += kSecond / 2;
  EXPECT_FALSE(is_proven(source, copy, rules));
}

TEST(CopyProof, TakesAnyTimeForOneThatIsNotKeptAndForNoOther) {
  constexpr std::int64_t kNow = 1'700'000'000 * kSecond;
  for (const std::int64_t date :
       {copy::kNoMtime, -kSecond, std::int64_t{0}, 2'200'000'000 * kSecond}) {
    EXPECT_TRUE(copy::is_wide_date(date)) << date;
    EXPECT_EQ(copy::may_be_mtime(date, kNow), date == copy::kNoMtime) << date;
  }
  EXPECT_FALSE(copy::is_wide_date(kNow));
  EXPECT_FALSE(copy::may_be_mtime(kNow - (5 * kSecond), kNow));
}

TEST(CopyProof, WantsPermissionsWhereTheyAreKept) {
  FileState copy = kCopy;
  ProofRules rules = kRules;
  rules.modes = false;
  copy.mode = 0100777;
  EXPECT_TRUE(is_proven(kSource, copy, rules));
  copy.mode = 0120777;
  EXPECT_FALSE(is_proven(kSource, copy, rules));
}

TEST(CopyProof, WantsOwnersWhereTheyAreKept) {
  FileState copy = kCopy;
  copy.uid = 3;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
  copy = kCopy;
  copy.gid = 3;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
  ProofRules rules = kRules;
  rules.owners = false;
  EXPECT_TRUE(is_proven(kSource, copy, rules));
}

TEST(CopyProof, TakesNothingOfAnotherBoot) {
  ProofRules rules = kRules;
  rules.same_boot = false;
  EXPECT_FALSE(is_proven(kSource, kCopy, rules));
}

// Its mtime is what a write of ours could have left: it may be half written.
TEST(CopyProof, TakesNoMtimeThatItsOwnWritesCouldHaveLeft) {
  for (const std::int64_t after : {-1, 0, 1, 59, 61}) {
    FileState source = kSource;
    FileState copy = kCopy;
    source.mtime_ns = copy.mtime_ns = kBegun + (after * kSecond);
    EXPECT_FALSE(is_proven(source, copy, kRules)) << after;
  }
}

TEST(CopyProof, TakesAMtimeOfTheFuture) {
  FileState source = kSource;
  FileState copy = kCopy;
  source.mtime_ns = copy.mtime_ns = kBegun + (100'000 * kSecond);
  EXPECT_TRUE(is_proven(source, copy, kRules));
}

TEST(CopyProof, TakesNoMtimeNearTheCtimeThoughTheClockWasSet) {
  FileState copy = kCopy;
  copy.ctime_ns = copy.mtime_ns + kSecond;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
  copy.ctime_ns = copy.mtime_ns - kSecond;
  EXPECT_FALSE(is_proven(kSource, copy, kRules));
}

// Also when its mtime has been set back.
TEST(CopyProof, TakesNoSourceThatChangedSinceTheCopyBegan) {
  FileState source = kSource;
  source.ctime_ns = kBegun;
  EXPECT_FALSE(is_proven(source, kCopy, kRules));
  source.ctime_ns = kBegun - 10'000'000;  // the kernel's clock is a tick behind
  EXPECT_FALSE(is_proven(source, kCopy, kRules));
}

}  // namespace
