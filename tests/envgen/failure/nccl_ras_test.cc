#include "envgen/failure/nccl_ras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using envgen::SeenJob;
using envgen::SeenProcess;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string answer(const std::string& row, const std::string& rest) {
  return "NCCL version 2.27.3 compiled with CUDA 12.9\n"
         "CUDA runtime version 12090, driver version 12090\n\n"
         "Job summary\n===========\n\n"
         "  Nodes  Processes         GPUs  Processes     GPUs\n"
         "(total)   per node  per process    (total)  (total)\n"
         "      2          4            1          8        8\n"
         "\nCommunicators... (0.01s)\n=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
         "    #  in group  per comm  per node  per comm  in group\n" +
         row + rest;
}
const std::string kWorld = "    0         1         2         4         8         8   RUNNING  X\n";
const std::string kErrors = "\nErrors\n======\n\n";
const std::string kWarnings = "\nWarnings\n========\n\n";

constexpr int kJob = 8;  // its world size

std::string ras_text(const std::string& answer, int world_size) {
  return envgen::ras_text(answer, world_size, {});
}

// All of a job, with these processes.
SeenJob whole(std::initializer_list<int> pids) {
  SeenJob job{.ranks = {}, .whole = true};
  for (const int pid : pids) {
    job.ranks.push_back(
        {.name = "rank-" + std::to_string(job.ranks.size()), .ended = "", .processes = {}});
    job.ranks.back().processes.push_back({.pid = pid, .name = "python3"});
  }
  return job;
}

TEST(Ras, SaysNothingOfAJobThatIsWell) {
  EXPECT_EQ(ras_text(answer(kWorld, kErrors + kWarnings), kJob), "");
  EXPECT_EQ(ras_text("", kJob), "");
  EXPECT_EQ(ras_text("HTTP/1.1 400 Bad Request\r\n\r\n", kJob), "");
}

TEST(Ras, NamesARankThatDoesNotAnswer) {
  // 2.24: the rank is told apart from its process.
  EXPECT_EQ(ras_text(answer(kWorld, kErrors +
                                        "INCOMPLETE\n"
                                        "  Missing communicator data from 1 job process\n"
                                        "  Process 731 on node 10.0.0.2 managing GPU 1\n\n"
                                        "#0-0 (cf264af53edbe986) INCOMPLETE\n"
                                        "  Missing communicator data from 1 rank\n"
                                        "  The missing rank: 5\n" +
                                        kWarnings +
                                        "TIMEOUT\n  Encountered 2 communication timeouts while "
                                        "gathering communicator data\n"),
                     kJob),
            "rank 5 (process 731 on 10.0.0.2) does not answer");
  // 2.26: both at once, and of smaller communicators too.
  const std::string two =
      kWorld + "    1         2         2         2         4         8   RUNNING  X\n";
  const std::string text =
      answer(two, kErrors +
                      "INCOMPLETE\n"
                      "  Missing communicator data from 2 job processes\n"
                      "  Process 731 on node 10.0.0.2 managing GPU 1\n"
                      "  Process 732 on node 10.0.0.2 managing GPU 2\n\n"
                      "#0-0 (cf264af53edbe986) INCOMPLETE\n"
                      "  Missing communicator data from 2 ranks\n"
                      "  Rank 5 -- GPU 1 managed by process 731 on node 10.0.0.2\n"
                      "  Rank 6 -- GPU 2 managed by process 732 on node 10.0.0.2\n\n"
                      "#1-0 (1111111111111111) INCOMPLETE\n"
                      "  Missing communicator data from 1 rank\n"
                      "  Rank 1 -- GPU 1 managed by process 731 on node 10.0.0.2\n");
  EXPECT_EQ(ras_text(text, kJob),
            "rank 5 (process 731 on 10.0.0.2), rank 6 (process 732 on 10.0.0.2) do not answer");
  EXPECT_THAT(ras_text(text, 0),
              HasSubstr("rank 5 of a communicator of 8 (process 731 on 10.0.0.2)"));
  EXPECT_EQ(envgen::ras_text(text, 8, whole({1, 731, 732})), "rank-1, rank-2 do not answer")
      << "by our own names";
}

TEST(Ras, NamesADeadRank) {
  EXPECT_EQ(
      ras_text(answer(kWorld, kErrors + "DEAD\n"
                                        "  1 job process is considered dead (unreachable via the "
                                        "RAS network)\n"
                                        "  Process 731 on node 10.0.0.2 managing GPU 1\n\n"
                                        "#0-0 (cf264af53edbe986) INCOMPLETE\n"
                                        "  Missing communicator data from 1 rank\n"
                                        "  The missing rank: 5\n"),
               kJob),
      "rank 5 (process 731 on 10.0.0.2): dead, for NCCL");
}

TEST(Ras, NamesTheRankThatIsBehind) {
  const std::string behind = kErrors + kWarnings +
                             "#0-0 (27a079b828ff1a75) MISMATCH\n"
                             "  Communicator ranks have different AllReduce operation counts\n"
                             "  7 ranks have launched up to operation 6650\n"
                             "  Rank 3 has launched up to operation 6649 -- GPU 3 managed by "
                             "process 77 on node 10.0.0.1\n";
  EXPECT_EQ(ras_text(answer(kWorld, behind), kJob),
            "rank 3 (process 77 on 10.0.0.1) has launched 6649 AllReduce operations, others 6650");
  const std::string none = kErrors + kWarnings +
                           "#0-0 (27a079b828ff1a75) MISMATCH\n"
                           "  Communicator ranks have different collective operation counts\n"
                           "  6 ranks have launched up to operation 12\n"
                           "  2 ranks have not launched any operations\n"
                           "  Rank 3 -- GPU 3 managed by process 77 on node 10.0.0.1\n"
                           "  Rank 4 -- [process information not found]\n";
  EXPECT_EQ(ras_text(answer(kWorld, none), kJob),
            "rank 3 (process 77 on 10.0.0.1), rank 4 have launched 0 collective operations, others "
            "12");
  const std::string halves = kErrors + kWarnings +
                             "#0-0 (27a079b828ff1a75) MISMATCH\n"
                             "  Communicator ranks have different Broadcast operation counts\n"
                             "  4 ranks have launched up to operation 12\n"
                             "  4 ranks have launched up to operation 11\n";
  EXPECT_EQ(ras_text(answer(kWorld, halves), kJob),
            "4 of 8 ranks have launched 11 Broadcast operations, others 12");
}

TEST(Ras, TellsErrors) {
  EXPECT_EQ(ras_text(answer(kWorld,
                            kErrors + "#0-0 (27a079b828ff1a75) ERROR\n"
                                      "  Asynchronous error on 1 rank\n"
                                      "  Rank 2 reported Remote process error -- GPU 2 managed by "
                                      "process 76 on node 10.0.0.1\n"),
                     kJob),
            "rank 2 (process 76 on 10.0.0.1) reported Remote process error");
  EXPECT_EQ(ras_text(answer(kWorld, kErrors +
                                        "#0-0 (27a079b828ff1a75) ERROR\n"
                                        "  Initialization errors on 3 ranks\n"
                                        "  3 ranks reported Unhandled system error\n" +
                                        kWarnings +
                                        "#0-0 (27a079b828ff1a75) MISMATCH\n"
                                        "  Communicator ranks have different status\n"
                                        "  7 ranks have status RUNNING\n"
                                        "  Rank 2 has status INIT -- GPU 2 managed by process 7 on "
                                        "node 10.0.0.1\n"),
                     kJob),
            "3 of 8 ranks reported Unhandled system error");
}

TEST(Ras, OfALargerJobSaysNothing) {
  const std::string text = answer(kWorld, kErrors +
                                              "INCOMPLETE\n"
                                              "  Missing communicator data from 1 job process\n"
                                              "  Process 731 on node 10.0.0.2 managing GPU 1\n");
  EXPECT_THAT(ras_text(text, kJob), HasSubstr("731"));
  EXPECT_EQ(ras_text(text, 4), "") << "of another job on the same machine's network";
}

TEST(Ras, StaysWithinItsBounds) {
  std::string rest = kErrors + "INCOMPLETE\n";
  for (int i = 0; i < 10'000; ++i) {
    rest += "  Process " + std::to_string(i) + " on node " + std::string(300, '\x01') +
            " managing GPU 0\n";
  }
  const std::string text = ras_text(answer(kWorld, rest), kJob);
  EXPECT_THAT(text, AllOf(HasSubstr("process 0 on ?"), Not(HasSubstr("\x01"))));
  EXPECT_LE(text.size(), 500U);
}

}  // namespace
