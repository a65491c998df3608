#include "envgen/failure/launcher_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/envgen/failure/torchrun_table.h"

namespace envgen {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const FailureCatalog kShippedRows = FailureCatalog::shipped();

std::string told(std::string_view printed) {
  return told_text(told_failures(printed), kShippedRows);
}

// Three ranks, of which rank 1 raised; the others failed in the same five seconds.
std::string without_error_files() {
  return torchrun::table(
      "/tmp/t2.py", "localhost",
      {{.rank = 1, .local_rank = 1, .pid = 15422}, {.rank = 2, .local_rank = 2, .pid = 15423}},
      {.rank = 0, .local_rank = 0, .pid = 15421});
}

std::string with_error_files() {
  const auto error_file = [](int rank) {
    return "/tmp/torchelastic_mdysojr8/none_4bn1np0i/attempt_0/" + std::to_string(rank) +
           "/error.json";
  };
  const auto victim = [](const std::string& port) {
    const std::string raised =
        "      dist.all_reduce(t)\n"
        "    File \"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\", "
        "line 1541, in all_reduce\n"
        "      work.wait()\n";
    const std::string error =
        "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:";
    return torchrun::recorded("/tmp/t1.py\", line 14, in main", raised, error + port);
  };
  const std::string culprit = torchrun::recorded("/tmp/t1.py\", line 12, in main",
                                                 "      raise ValueError(\"no such shard\")\n",
                                                 "ValueError: no such shard");
  return torchrun::table(
      "/tmp/t1.py", "localhost",
      {{1, 1, 15369, culprit, error_file(1)}, {2, 2, 15370, victim("412"), error_file(2)}},
      {0, 0, 15368, victim("62110"), error_file(0)});
}

std::string killed() {
  return torchrun::table("/tmp/t3.py", "localhost", {},
                         {.rank = 1,
                          .local_rank = 1,
                          .pid = 15469,
                          .traceback = "Signal 9 (SIGKILL) received by PID 15469",
                          .exit_code = -9},
                         54);
}

TEST(Torchrun, TheOnlyOneThatFailedIsNamed) {
  EXPECT_EQ(told(killed()), "rank 1 (in torchrun) was killed by SIGKILL");
}

TEST(Torchrun, AVictimIsNotCalledTheFirst) {
  const auto failures = told_failures(with_error_files());
  ASSERT_THAT(failures, SizeIs(3));
  EXPECT_EQ(failures[0].rank, 0) << "what it calls the root cause";
  EXPECT_THAT(failures[1].error_file, HasSubstr("/attempt_0/1/error.json"));
  EXPECT_EQ(told(with_error_files()),
            "rank 1 (in torchrun) exited with code 1: ValueError: no such shard");
}

TEST(Torchrun, WhereItCannotTellWhichWasFirstNobodyIsNamed) {
  EXPECT_EQ(told(without_error_files()),
            "ranks 0, 1, 2 (in torchrun) failed, and which was first is not known");
}

// Exceptions of libraries may have any name.
TEST(Torchrun, AMessageIsWhateverStandsBehindItsTraceback) {
  for (const std::string error :
       {"requests.exceptions.ReadTimeout: HTTPConnectionPool", "queue.Empty", "lib.Broken: disk"}) {
    const std::string culprit =
        torchrun::recorded("/tmp/t1.py\", line 12, in main", "      f()\n", error);
    const auto failures = told_failures(
        torchrun::table("/tmp/t1.py", "localhost", {},
                        {.rank = 1, .local_rank = 1, .pid = 7, .traceback = culprit}));
    ASSERT_THAT(failures, SizeIs(1));
    EXPECT_EQ(failures[0].message, error);
  }
}

TEST(Torchrun, LinesThatSayWhoseTheyAreTell) {
  const std::string printed =
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"train.py\", line 12, in main\n"
      "[rank1]: ValueError: no such shard\n"
      "[rank0]: RuntimeError: Connection closed by peer [127.0.0.1]:24773\n"
      "[rank2]: torch.distributed.DistBackendError: NCCL error in: x.cpp:268\n" +
      std::string(without_error_files());
  EXPECT_EQ(told(printed), "rank 1 (in torchrun) exited with code 1: ValueError: no such shard");
}

TEST(Torchrun, OfSeveralThatSpeakOfThemselvesTheEarliestErrorFileTells) {
  std::vector<RankFailure> failures(2, {.launcher = "torchrun", .exit_code = 1});
  failures[0].rank = 0;
  failures[1].rank = 4;
  const auto file = [](const char* said, const char* at) {
    return R"({"message": {"message": ")" + std::string(said) +
           R"(", "extraInfo": {"py_callstack": "x", "timestamp": ")" + at + R"("}}})";
  };
  ASSERT_TRUE(read_error_file(file("KeyError: 3", "1795453767"), failures[0]));
  ASSERT_TRUE(read_error_file(file("KeyError: 4", "1795453766"), failures[1]));
  EXPECT_EQ(failures[1].at_s, 1795453766);
  EXPECT_EQ(first_of(failures, kShippedRows)->rank, 4);
  failures[1].at_s = 0;
  EXPECT_FALSE(first_of(failures, kShippedRows));
}

TEST(Torchrun, AnErrorFileOfSomebodyElseIsNone) {
  RankFailure failure;
  for (const char* text : {"", "{", "[]", "{\"a\": 1}", "nonsense"}) {
    EXPECT_FALSE(read_error_file(text, failure)) << text;
  }
  EXPECT_TRUE(read_error_file(R"({"message": "gone", "timestamp": "1"})", failure));
  EXPECT_EQ(failure.message, "gone");
}

TEST(OpenMpi, NamesTheFirstProcess) {
  EXPECT_EQ(told("mpirun.openmpi detected that one or more processes exited with non-zero status, "
                 "thus causing\nthe job to be terminated. The first process to do so was:\n\n"
                 "  Process name: [[11049,1],1]\n  Exit code:    3\n"),
            "rank 1 (in mpirun) exited with code 3");
  EXPECT_EQ(
      told("mpirun.openmpi noticed that process rank 1 with PID 0 on node vm exited on signal "
           "11 (Segmentation fault).\n"),
      "rank 1 (in mpirun, on vm) was killed by SIGSEGV");
}

TEST(OpenMpi, PrrteFillsItsLines) {
  EXPECT_EQ(told("prterun noticed that process rank 3 with PID 4242 on node node-1 exited on\n"
                 "signal 9 (Killed).\n"),
            "rank 3 (in mpirun, on node-1) was killed by SIGKILL");
  EXPECT_EQ(told("   Process name: [prterun-node-0-77@1,2]\n   Exit code:    1\n"),
            "rank 2 (in mpirun) exited with code 1");
}

TEST(OpenMpi, AnAbortIsTheRanksOwn) {
  EXPECT_EQ(told("MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"
                 "with errorcode 7.\n"),
            "rank 1 (in mpirun) exited with code 7: MPI_Abort");
}

TEST(Hydra, NamesAHostAndIntelARankToo) {
  const std::string rule(83, '=');
  EXPECT_EQ(told(rule +
                 "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
                 "=   PID 16061 RUNNING AT vm\n=   EXIT CODE: 9\n=   CLEANING UP REMAINING "
                 "PROCESSES\n" +
                 rule +
                 "\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal "
                 "11)\n"),
            "a rank (in mpiexec, on vm) was killed by SIGSEGV");
  EXPECT_EQ(told("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
                 "=   RANK 3 PID 4242 RUNNING AT node-1\n=   KILLED BY SIGNAL: 9 (Killed)\n"),
            "rank 3 (in mpiexec, on node-1) was killed by SIGKILL");
  EXPECT_EQ(told("application called MPI_Abort(MPI_COMM_WORLD, 3) - process 2\n"),
            "rank 2 (in mpiexec) failed: MPI_Abort");
}

TEST(DeepSpeed, NamesTheOneThatItSawFirst) {
  const std::string line =
      "[2024-03-20 20:31:29,269] [ERROR] [launch.py:321:sigkill_handler] ['/opt/python', '-u', "
      "'train.py', '--local_rank=4', '--lr', '1'] exits with return code = ";
  EXPECT_EQ(told("[2024-03-20 20:31:29,210] [INFO] [launch.py:315:sigkill_handler] Killing "
                 "subprocess 3353707\n" +
                 line + "1\n"),
            "local rank 4 (in deepspeed) exited with code 1");
  EXPECT_EQ(told("node-1: " + line + "-7\n"),
            "local rank 4 (in deepspeed, on node-1) was killed by SIGBUS");
}

TEST(Srun, NamesTheTask) {
  EXPECT_EQ(told("srun: error: node-1: task 3: Exited with exit code 2\n"),
            "rank 3 (in srun, on node-1) exited with code 2");
}

TEST(LauncherRanks, OrdinaryOutputTellsNothing) {
  EXPECT_THAT(told_failures("step 1\nrank 1 exited\n[1, 2] <stderr>\n[rank1]: loss 3\n"
                            "Traceback (most recent call last):\nKeyError: 'rank'\n"),
              IsEmpty());
  EXPECT_EQ(told(""), "");
}

// A table of torchrun's takes away what the lines of other forms were to say more of.
TEST(LauncherRanks, WhatIsCutOffByATableTellsNothing) {
  EXPECT_EQ(told("Process name: [[1,1],1]\nFailures:\n====\nExit code: 3\n"), "");
  EXPECT_EQ(told("x noticed that process rank 1 with PID 0 on node vm exited on\n"
                 "Failures:\n====\nsignal 11 (Segmentation fault).\n"),
            "");
  for (const std::string line :
       {"=   EXIT CODE: 3\n", "=   KILLED BY SIGNAL: 9 (Killed)\n",
        "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"}) {
    EXPECT_EQ(told("=   RANK 1 PID 7 RUNNING AT vm\nFailures:\n====\n" + line), "") << line;
  }
  EXPECT_EQ(told("MPI_ABORT was invoked on rank 1\nFailures:\n====\nwith errorcode 3.\n"), "");
}

TEST(LauncherRanks, EachFormSaysMoreOfItsOwnFailure) {
  EXPECT_EQ(told("Process name: [[1,1],1]\n=   RANK 2 PID 7 RUNNING AT vm\nExit code: 3\n"),
            "rank 1 (in mpirun) exited with code 3");
}

TEST(LauncherRanks, NumbersThatCannotBeAreNone) {
  const auto torchrun = [](const std::string& rank, const std::string& code) {
    return told("Failures:\n  rank      : " + rank + " (local_rank: 0)\n  exitcode  : " + code +
                " (pid: 1)\n");
  };
  EXPECT_EQ(torchrun("1", "-2147483648"), "rank 1 (in torchrun) failed");
  EXPECT_EQ(torchrun("1", "-65"), "rank 1 (in torchrun) failed");
  EXPECT_EQ(torchrun("1", "256"), "rank 1 (in torchrun) failed");
  EXPECT_EQ(torchrun("1", "255"), "rank 1 (in torchrun) exited with code 255");
  EXPECT_EQ(torchrun("2147483647", "1"), "local rank 0 (in torchrun) exited with code 1");
  EXPECT_EQ(told("x noticed that process rank 1 with PID 0 on node vm exited on signal -5 (x).\n"),
            "rank 1 (in mpirun, on vm) failed");
  EXPECT_EQ(rank_of("10000000"), 10'000'000);
  EXPECT_EQ(rank_of("10000001"), -1);
  EXPECT_EQ(rank_before("[rank2147483647]: x"), -1);
  EXPECT_EQ(rank_of_worker_log("worker_2147483647.log"), -1);
}

TEST(LauncherRanks, ALinesRankIsThatOfItsPrefix) {
  const std::pair<const char*, int> cases[] = {
      {"[rank3]: x", 3},
      {"[default12]:x", 12},
      {"[1,7]<stderr>:x", 7},
      {"[4] x", 4},
      {"[rank3] x", -1},
      {"[1,7] x", -1},
      {"[2024-03-20] x", -1},
      {"x [rank3]: y", -1},
      {"[", -1},
      {"[99999999999] x", -1},
      {"", -1},
  };
  for (const auto& [line, rank] : cases) EXPECT_EQ(rank_before(line), rank) << line;
}

TEST(LauncherRanks, AWorkersLogHasItsRankInItsName) {
  EXPECT_EQ(rank_of_worker_log("worker_12.log"), 12);
  EXPECT_EQ(rank_of_worker_log("worker_10.0.0.1_3.log"), 3);
  for (const char* name : {"scheduler.log", "worker_.log", "worker_3.log.1", "worker_x.log"}) {
    EXPECT_EQ(rank_of_worker_log(name), -1) << name;
  }
}

}  // namespace
}  // namespace envgen
