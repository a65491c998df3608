// docker stop: every rank is told once, may finish its work, and the container ends in the grace by
// itself. 143 is trainit's own answer for a stopped fan-out; 137 would be Docker's KILL.

#include <gmock/gmock.h>

#include "tests/docker/job.h"

namespace docker {
namespace {

constexpr int kRanks = 4;

class Stop : public JobTest {
 protected:
  Stop() { scratch_.write(kTable, rank_table(kRanks)); }
};

TEST_F(Stop, IsInTimeForDockersOwnDefaultOfTenSeconds) {
  const auto job = start({.command = {"ignore-term"}});
  await_ranks(kRanks);
  // By its own plan; a clock would measure the machine as well.
  EXPECT_THAT(job->exec({"trainit", "plan", "--json", "--", "payload"}).text,
              testing::HasSubstr("\"grace_ms\": 8000,"));

  job->stop();

  EXPECT_EQ(job->wait(), 143);
}

TEST_F(Stop, TellsEachRankOnceThatItsParentSaidSo) {
  const auto job = start({.command = {"record-signals"}});
  await_ranks(kRanks);

  job->stop();

  EXPECT_EQ(job->wait(), 143);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(scratch_.read("out/signals-" + std::to_string(rank)), "TERM parent\n");
  }
}

TEST_F(Stop, UnderDockersInitIsTheSame) {
  const auto job =
      start({.command = {"grandchild", "handle"}, .options = {"--grace=4s"}, .flags = {"--init"}});
  await_ranks(kRanks);

  job->stop();

  EXPECT_EQ(job->wait(), 143);
  EXPECT_EQ(told("grandchild-term", kRanks), kRanks);
}

}  // namespace
}  // namespace docker
