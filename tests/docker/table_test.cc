// The main job: from ModelArts' rank table to one rank per device, whatever way the table comes.

#include <gmock/gmock.h>

#include <chrono>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(Table, OnlyRank0SpeaksOnStdout) {
  scratch_.write(kTable, rank_table(4));
  const auto job = start({.command = {"report", "exit", "0"}});

  EXPECT_EQ(job->wait(), 0);
  EXPECT_THAT(job->logs(), HasSubstr("rank 0 of 4"));
  for (const char* other : {"rank 1 of", "rank 2 of", "rank 3 of"}) {
    EXPECT_THAT(job->logs(), Not(HasSubstr(other)));
  }
}

TEST_F(Table, WaitsForAFileThatIsNotThereYet) {
  const auto job = start({.command = {"report", "exit", "0"}});
  ASSERT_TRUE(job->await_log("jobstart_hccl.json"));

  scratch_.replace(kTable, rank_table(8));

  EXPECT_EQ(job->wait(), 0);
}

TEST_F(Table, SigtermWhileWaitingEndsItAtOnceWith143) {
  scratch_.write(kTable, kInitializing);
  const auto job = start({.command = {"exit", "0"}, .options = {"--grace=20s"}});
  ASSERT_TRUE(job->await_log("initializing"));

  const auto start_of_stop = std::chrono::steady_clock::now();
  job->stop();

  EXPECT_EQ(job->wait(), 143);
  EXPECT_LT(std::chrono::steady_clock::now() - start_of_stop, std::chrono::seconds(5));
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

TEST_F(Table, ThatIsWrongEndsWith125AndOneMessageBeforeAnyRankStarts) {
  std::string twice = rank_table(8);
  twice.replace(twice.find("192.168.7.8"), 11, "192.168.0.1");
  scratch_.write(kTable, twice);
  const auto job = start({.command = {"sleep-forever"}});

  EXPECT_EQ(job->wait(), 125);
  EXPECT_THAT(job->logs(), HasSubstr("192.168.0.1"));
  EXPECT_EQ(told("ready", 8), 0);
}

}  // namespace
}  // namespace docker
