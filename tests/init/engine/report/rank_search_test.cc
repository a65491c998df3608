#include "init/engine/report/rank_search.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "init/sys/clock.h"
#include "tests/envgen/failure/torchrun_table.h"
#include "tests/init/child.h"

namespace {

using engine::find_rank;
using engine::FoundRank;
using envgen::RankLogs;
using testing::ElementsAre;
namespace fs = std::filesystem;

const envgen::FailureCatalog kShippedRows = envgen::FailureCatalog::shipped();

class RankSearch : public child::Scratch {
 protected:
  envgen::Process process(RankLogs logs) const {
    envgen::Process process;
    process.rank_logs = logs;
    process.rank_dir = path("ranks");
    return process;
  }
  std::string put(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path("ranks/" + name)).parent_path());
    return write("ranks/" + name, text);
  }
  static std::string recorded(const std::string& said, int at_s) {
    return R"({"message": {"message": ")" + said +
           R"(", "extraInfo": {"py_callstack": "x", "timestamp": ")" + std::to_string(at_s) +
           R"("}}})";
  }
  static void age(const std::string& file, int by_s) {
    const timespec at{.tv_sec = ::time(nullptr) - by_s, .tv_nsec = 0};
    const timespec both[] = {at, at};
    ::utimensat(AT_FDCWD, file.c_str(), both, 0);
  }
};

// As it looks every five seconds only, it tells of victims beside the one that failed first.
std::string table() {
  return "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n" +
         torchrun::table("train.py", "node-1", {{.rank = 9, .local_rank = 1, .pid = 15422}},
                         {.rank = 8, .local_rank = 0, .pid = 15421});
}

TEST_F(RankSearch, AnErrorFileNamesTheRankThatTorchrunDidNotSee) {
  put("none_a/attempt_0/0/error.json", recorded("KeyError: 'lr'", 1795453766));
  put("none_a/attempt_1/0/error.json", recorded("Connection closed by peer", 1795453767));
  put("none_a/attempt_1/1/error.json", recorded("Connection reset by peer", 1795453768));
  put("none_a/attempt_1/2/error.json", recorded("ValueError: no such shard", 1795453769));
  age(path("ranks/none_a/attempt_0"), 60);
  const std::string err = put("none_a/attempt_1/2/stderr.log", "Traceback\nValueError: x\n");
  const FoundRank found =
      find_rank(table(), process(RankLogs::kTorchrun), nullptr, 0, kShippedRows);
  EXPECT_EQ(found.text, "rank 10 (in torchrun) failed: ValueError: no such shard");
  EXPECT_EQ(found.rank, 10);
  EXPECT_EQ(found.launcher, "torchrun");
  EXPECT_EQ(found.log, err);
  EXPECT_THAT(found.last_lines, ElementsAre("Traceback", "ValueError: x"));
}

TEST_F(RankSearch, FilesOfAnEarlierStartAreNotThisOnes) {
  age(put("none_a/attempt_0/0/error.json", recorded("KeyError: 'lr'", 1795453766)), 60);
  age(path("ranks/none_a/attempt_0"), 60);
  EXPECT_EQ(
      find_rank("", process(RankLogs::kTorchrun), nullptr, sys::wall_ms() - 1000, kShippedRows)
          .text,
      "");
}

TEST_F(RankSearch, WithoutFilesItIsWhatTheLauncherTells) {
  const FoundRank found = find_rank(table(), {}, nullptr, 0, kShippedRows);
  EXPECT_EQ(found.text, "ranks 8, 9 (in torchrun) failed, and which was first is not known");
  EXPECT_EQ(found.rank, -1);
  EXPECT_EQ(find_rank("step 1\n", {}, nullptr, 0, kShippedRows).text, "");
}

TEST_F(RankSearch, OfMsrunsWorkersTheOneThatFellSilentFirst) {
  put("scheduler.log", "RuntimeError: node 3 is timed out\n");
  put("worker_0.log", "step 1\nRuntimeError: Connection reset by peer\n");
  age(put("worker_3.log", "step 1\nTraceback\nValueError: HF_TOKEN=canary\n"), 5);
  put("worker_4.log", "Traceback\nRuntimeError: call failed\n");
  put("worker_5.log", "step 1\n");
  const FoundRank found = find_rank("", process(RankLogs::kMsrun), nullptr, 0, kShippedRows);
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.text, "rank 3 (in msrun) failed: ValueError: HF_TOKEN=***");
  EXPECT_EQ(found.log, path("ranks/worker_3.log"));
}

// A link of the job's to where only root may look.
TEST_F(RankSearch, LooksWithTheRightsOfTheJob) {
  if (!child::is_root()) GTEST_SKIP() << "needs other users";
  const envgen::Identity nobody{.uid = 65534, .gid = 65534, .groups = {65534}};
  put("none_b/attempt_0/2/error.json", recorded("ValueError: no such shard", 1795453769));
  age(path("ranks/none_b/attempt_0"), 60);
  fs::create_directories(path("secret/attempt_1"));
  ASSERT_EQ(::chmod(path("secret").c_str(), 0700), 0);
  fs::create_directory_symlink(path("secret"), path("ranks/none_a"));
  const auto outcome = child::run([&] {
    const FoundRank found =
        find_rank(table(), process(RankLogs::kTorchrun), &nobody, 0, kShippedRows);
    child::say(STDOUT_FILENO, found.text);
    return ::geteuid() == 0 && ::getegid() == 0 ? 0 : 1;
  });
  EXPECT_EQ(outcome.out, "rank 10 (in torchrun) failed: ValueError: no such shard");
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(RankSearch, RanksThatCannotBeAreNone) {
  put("none_a/attempt_0/2147483647/error.json", recorded("KeyError: 'a'", 1795453766));
  put("none_a/attempt_0/2/error.json", recorded("ValueError: no such shard", 1795453769));
  const FoundRank found =
      find_rank("Failures:\n  rank      : 2147483647 (local_rank: 0)\n  exitcode  : 1 (pid: 1)\n",
                process(RankLogs::kTorchrun), nullptr, 0, kShippedRows);
  EXPECT_EQ(found.text, "local rank 2 (in torchrun) failed: ValueError: no such shard");
}

TEST_F(RankSearch, WhatIsNoFileIsNotRead) {
  const FoundRank found = find_rank(
      "Failures:\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 1)\n"
      "  error_file: /dev/zero\n",
      {}, nullptr, 0, kShippedRows);
  EXPECT_EQ(found.text, "rank 0 (in torchrun) exited with code 1");
}

}  // namespace
