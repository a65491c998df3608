// The main job: from ModelArts' rank table to one rank per device, whatever way the table comes.

#include <gmock/gmock.h>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

using Table = JobTest;

TEST_F(Table, StartsOneRankPerDeviceAsChildrenOfPid1) {
  scratch_.write(kTable, rank_table(8));
  const auto job = start({.command = {"report", "exit", "0"}});

  EXPECT_EQ(job->wait(), 0);
  EXPECT_THAT(job->logs(), ContainsRegex("rank 0 of 8: DEVICE_ID=0 .* ppid=1 .*/device0 "));
  for (int rank = 1; rank < 8; ++rank) {
    const std::string id = std::to_string(rank);
    EXPECT_THAT(log_of(rank), ContainsRegex("rank " + id + " of 8: DEVICE_ID=" + id +
                                            " ASCEND_DEVICE_ID=" + id + " .* ppid=1 cwd=.*/device" +
                                            id + " RANK_TABLE_FILE=.*/jobstart_hccl.json"));
    EXPECT_THAT(scratch_.read("logs/rank-" + id + ".env"), HasSubstr("RANK_ID=" + id));
  }
}

TEST_F(Table, WaitsForAFileThatIsNotThereYet) {
  const auto job = start({.command = {"report", "exit", "0"}});
  ASSERT_TRUE(job->await_log("jobstart_hccl.json"));

  scratch_.replace(kTable, rank_table(8));

  EXPECT_EQ(job->wait(), 0);
}

TEST_F(Table, TwoPodsOnOneHostStartTheirOwnDevicesOnly) {
  scratch_.write(
      kTable,
      rank_table({Pod{.name = "job-0", .server_id = "10.0.0.1", .devices = 4},
                  Pod{.name = "job-1", .server_id = "10.0.0.1", .first_device = 4, .devices = 4}}));
  const JobSpec first{.command = {"report", "sleep-forever"}, .pod = "job-0"};
  const JobSpec second{.command = {"report", "sleep-forever"}, .pod = "job-1"};
  const auto one = start(first);
  await_ranks(4, 0);
  EXPECT_EQ(told("ready", 8), 4);

  const auto two = start(second);
  await_ranks(4, 4);

  EXPECT_THAT(one->logs(), ContainsRegex("rank 0 of 8: DEVICE_ID=0 "));
  EXPECT_THAT(two->logs(), ContainsRegex("rank 4 of 8: DEVICE_ID=0 "));
  EXPECT_THAT(log_of(7), ContainsRegex("rank 7 of 8: DEVICE_ID=3 "));
}

}  // namespace
}  // namespace docker
