// The main job: from ModelArts' rank table to one rank per device, whatever way the table comes.

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::AllOf;
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

TEST_F(Table, WaitsUntilItIsRenamedIntoPlace) {
  scratch_.write(kTable, kInitializing);
  const auto job = start({.command = {"report", "exit", "0"}});
  ASSERT_TRUE(job->await_log("initializing"));

  scratch_.replace(kTable, rank_table(8));

  EXPECT_EQ(job->wait(), 0);
  EXPECT_THAT(log_of(7), HasSubstr("rank 7 of 8"));
}

TEST_F(Table, WaitsWhileItIsRewrittenInPlaceAndTorn) {
  const std::string table = rank_table(8);
  scratch_.write(kTable, kInitializing);
  const auto job = start({.command = {"report", "exit", "0"}});
  ASSERT_TRUE(job->await_log("initializing"));

  const std::size_t said_before = job->logs().size();
  scratch_.write(kTable, table.substr(0, table.size() / 2));
  Program follower({"docker", "logs", "--follow", job->name()});
  ASSERT_TRUE(follower.await_more_than(said_before)) << "a torn table is a new reason, and said";
  scratch_.write(kTable, table);

  EXPECT_EQ(job->wait(), 0);
  EXPECT_THAT(log_of(7), HasSubstr("rank 7 of 8"));
}

TEST_F(Table, WaitsUntilAConfigMapIsSwapped) {
  namespace fs = std::filesystem;
  const fs::path config = scratch_.path("config");
  fs::create_directories(config / "..2026_old");
  scratch_.write("config/..2026_old/jobstart_hccl.json", kInitializing);
  fs::create_symlink("..2026_old", config / "..data");
  fs::create_symlink("..data/jobstart_hccl.json", config / "jobstart_hccl.json");
  const auto job = start({.command = {"report", "exit", "0"}});
  ASSERT_TRUE(job->await_log("initializing"));

  fs::create_directories(config / "..2026_new");
  scratch_.write("config/..2026_new/jobstart_hccl.json", rank_table(8));
  fs::create_symlink("..2026_new", config / "..data_tmp");
  fs::rename(config / "..data_tmp", config / "..data");
  fs::remove_all(config / "..2026_old");

  EXPECT_EQ(job->wait(), 0);
  EXPECT_THAT(log_of(7), HasSubstr("rank 7 of 8"));
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

TEST_F(Table, TheWaitTimesOutWith124AndTheLastReason) {
  scratch_.write(kTable, kInitializing);
  const auto job = start({.command = {"exit", "0"}, .options = {"--rank-table-timeout=1s"}});

  EXPECT_EQ(job->wait(), 124);
  EXPECT_THAT(job->logs(), AllOf(HasSubstr("/user/config/jobstart_hccl.json"),
                                 HasSubstr("initializing"), HasSubstr("after 1 s")));
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

struct WrongTable {
  const char* name;
  std::string content;
  const char* said;  // part of the message
};

std::string without(std::string text, const std::string& part, const std::string& instead) {
  text.replace(text.find(part), part.size(), instead);
  return text;
}

// GoogleTest's own way is the bytes.
void PrintTo(const WrongTable& table, std::ostream* out) { *out << table.name; }

class WrongTableTest : public JobTest, public testing::WithParamInterface<WrongTable> {};

TEST_P(WrongTableTest, EndsWith125AndOneMessageBeforeAnyRankStarts) {
  scratch_.write(kTable, GetParam().content);
  const auto job = start({.command = {"sleep-forever"}});

  EXPECT_EQ(job->wait(), 125);
  EXPECT_THAT(job->logs(), HasSubstr(GetParam().said));
  EXPECT_EQ(told("ready", 8), 0);
}

const auto kWrongTables = testing::Values(
    WrongTable{"NotJson", "status=completed", "line 1"},
    WrongTable{"Comment", "{\n  // written by hand\n  \"status\":\"completed\"}", "line 2"},
    WrongTable{"NullGroupList", R"({"status":"completed","group_list":null,"group_count":""})",
               "group_list"},
    WrongTable{"NoEntryForThisPod",
               rank_table({Pod{.name = "job-8", .server_id = "10.0.0.8"},
                           Pod{.name = "job-9", .server_id = "10.0.0.9"}}),
               "job-0"},
    WrongTable{"DuplicateDeviceIp", without(rank_table(8), "192.168.7.8", "192.168.0.1"),
               "192.168.0.1"},
    WrongTable{"UnreadableDeviceIp", without(rank_table(8), "192.168.7.8", "-.-.-.-"), "-.-.-.-"});

INSTANTIATE_TEST_SUITE_P(Table, WrongTableTest, kWrongTables,
                         [](const auto& tested) { return tested.param.name; });

TEST_F(Table, OfTwoHundredMegabytesIsRefused) {
  scratch_.write(kTable, "");
  ASSERT_EQ(truncate(scratch_.path(kTable).c_str(), 200L << 20), 0);
  const auto job = start({.command = {"sleep-forever"}});

  EXPECT_EQ(job->wait(), 125);
  EXPECT_THAT(job->logs(), HasSubstr("/user/config/jobstart_hccl.json"));
}

TEST_F(Table, ThatIsASymlinkLoopIsRefused) {
  std::filesystem::create_symlink("jobstart_hccl.json", scratch_.path(kTable));
  const auto job = start({.command = {"sleep-forever"}});

  EXPECT_EQ(job->wait(), 125);
  EXPECT_THAT(job->logs(), HasSubstr("/user/config/jobstart_hccl.json"));
}

}  // namespace
}  // namespace docker
