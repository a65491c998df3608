// A rank's failure ends the others, names itself, and its code is the container's.

#include <gmock/gmock.h>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Failure : public JobTest {
 protected:
  // Rank 2 does `fatal` once all are up; the others save and end on TERM.
  static Words once_all_are_up(const Words& fatal) {
    Words command = {"on-rank", "2", "wait-file", "/out/go"};
    command.insert(command.end(), fatal.begin(), fatal.end());
    command.insert(command.end(), {"else", "term-after", "0", "0"});
    return command;
  }

  Failure() { scratch_.write(kTable, rank_table(4)); }
};

TEST_F(Failure, OfOneRankIsTheContainersExitCode) {
  const auto job = start({.command = once_all_are_up({"exit", "3"})});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 3);
  EXPECT_THAT(job->logs(), ContainsRegex("trainit: .*rank-2 .*3"));
  EXPECT_EQ(told("saved", 4), 3) << "the others are told to stop, and may";
}

TEST_F(Failure, ByASignalIs128PlusItsNumberAndNamesIt) {
  const auto job = start({.command = once_all_are_up({"kill-self", "SEGV"})});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 139);
  EXPECT_THAT(job->logs(), ContainsRegex("trainit: .*rank-2 .*SIGSEGV"));
}

TEST_F(Failure, ByAKillFromOutsideIs137AndNamesIt) {
  const auto job = start({.command = {"sleep-forever"}});
  await_ranks(4);

  const Output killed = job->exec({"payload", "kill", scratch_.read("out/ready-2"), "KILL"});
  ASSERT_EQ(killed.code, 0) << killed.text;

  EXPECT_EQ(job->wait(), 137);
  EXPECT_THAT(job->logs(), ContainsRegex("trainit: .*rank-2 .*SIGKILL"));
}

TEST_F(Failure, ByTheMemoryLimitSaysSo) {
  const auto job = start({.command = once_all_are_up({"eat-memory", "256"}),
                          .flags = {"--memory=64m", "--memory-swap=64m"}});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 137);
  EXPECT_THAT(job->logs(), AllOf(ContainsRegex("trainit: .*rank-2 .*SIGKILL"),
                                 ContainsRegex("OOM|[Oo]ut of memory|out-of-memory")));
}

TEST_F(Failure, UnderDockersInitIsTheContainersExitCode) {
  const auto job = start({.command = once_all_are_up({"exit", "3"}), .flags = {"--init"}});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 3);
  EXPECT_EQ(told("saved", 4), 3);
}

// trainit and five ranks: the limit leaves no room for rank 5.
TEST_F(Failure, ToStartRank5ForAPidsLimitIs125AndNamesIt) {
  scratch_.write(kTable, rank_table(8));
  const auto job = start({.command = {"sleep-forever"}, .flags = {"--pids-limit=6"}});

  EXPECT_EQ(job->wait(), 125);
  EXPECT_THAT(job->logs(), ContainsRegex("trainit: .*rank-5 .*(EAGAIN|pids)"));
}

TEST_F(Failure, ToFindTheCommandIs127) {
  const Words args = {"--", "/no/such/program"};
  const Container job(flags_of({.command = {}}), args);

  EXPECT_EQ(job.wait(), 127);
  EXPECT_THAT(job.logs(), HasSubstr("/no/such/program"));
}

TEST_F(Failure, ToExecuteTheCommandIs126) {
  const Words args = {"--", "/etc/passwd"};
  const Container job(flags_of({.command = {}}), args);

  EXPECT_EQ(job.wait(), 126);
  EXPECT_THAT(job.logs(), HasSubstr("/etc/passwd"));
}

TEST_F(Failure, IsInTheTerminationLogWhereThereIsOne) {
  scratch_.write("termination-log", "");
  const auto job =
      start({.command = once_all_are_up({"exit", "3"}),
             .flags = {"-v", scratch_.path("termination-log") + ":/dev/termination-log"}});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 3);
  EXPECT_THAT(scratch_.read("termination-log"), HasSubstr("rank-2"));
  EXPECT_LE(scratch_.read("termination-log").size(), 4096U);
}

}  // namespace
}  // namespace docker
