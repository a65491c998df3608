// A rank's failure ends the others, names itself, and its code is the container's.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "init/engine/state/state.h"
#include "init/report/run_files.h"
#include "init/report/trace.h"
#include "tests/docker/job.h"
#include "tests/init/report/trace_check.h"

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

  Failure() {
    scratch_.write(kTable, rank_table(4));
    scratch_.write("termination-log", "");
    mkdir(scratch_.path("run").c_str(), 0777);
    chmod(scratch_.path("run").c_str(), 0777);
  }

  // Mounts a termination log, and the run directory, which is then read when the container is gone.
  [[nodiscard]] Words kept(Words flags = {}) const {
    const Words mounts = {"-v", scratch_.path("termination-log") + ":/dev/termination-log",
                          "-v", scratch_.path("run") + ":/kept",
                          "-e", "TRAINIT_RUN_DIR=/kept"};
    flags.insert(flags.end(), mounts.begin(), mounts.end());
    return flags;
  }
  [[nodiscard]] std::string termination() const { return scratch_.read("termination-log"); }
  [[nodiscard]] engine::FailureDetail detail() const {
    const auto report = engine::state_from_json(scratch_.read("run/state.json"), "state.json");
    EXPECT_TRUE(report) << to_line(report.error());
    return report ? report->failure : engine::FailureDetail{};
  }
};

TEST_F(Failure, ByAKillFromOutsideIs137AndNamesIt) {
  const auto job = start({.command = {"sleep-forever"}});
  await_ranks(4);

  const Output killed = job->exec({"payload", "kill", scratch_.read("out/ready-2"), "KILL"});
  ASSERT_EQ(killed.code, 0) << killed.text;

  EXPECT_EQ(job->wait(), 137);
  EXPECT_THAT(job->logs(), ContainsRegex("trainit: .*rank-2 .*SIGKILL"));
}

TEST_F(Failure, ByTheMemoryLimitSaysSo) {
  const auto job = start({.command = once_all_are_up({"complain", "3", "eat-memory", "256"}),
                          .flags = kept({"--memory=64m", "--memory-swap=64m"})});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 137);
  EXPECT_THAT(job->logs(), AllOf(ContainsRegex("trainit: .*rank-2 .*SIGKILL"),
                                 ContainsRegex("OOM|[Oo]ut of memory|out-of-memory")));
  EXPECT_THAT(termination(), AllOf(ContainsRegex("^trainit: rank-2 .*SIGKILL.*out of memory"),
                                   HasSubstr("torn down because of it: rank-0: ")));
  EXPECT_TRUE(detail().oom);
  EXPECT_EQ(detail().signal, "SIGKILL");
  EXPECT_EQ(detail().rank, 2);
}

TEST_F(Failure, OfOneRankAmongEightIsInTheTerminationMessageWithItsLastLines) {
  scratch_.write(kTable, rank_table(8));
  const auto job =
      start({.command = once_all_are_up({"complain", "200", "exit", "3"}), .flags = kept()});
  await_ranks(8);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 3);
  const std::string text = termination();
  EXPECT_LE(text.size(), 4096U);
  EXPECT_THAT(text, ContainsRegex("^trainit: rank-2 \\(node 0, device 2\\) exited with code 3 "));
  EXPECT_THAT(text, HasSubstr("rank-7: "));
  ASSERT_THAT(detail().last_lines, ::testing::SizeIs(20));
  const std::string log = log_of(2);
  EXPECT_THAT(log, HasSubstr(detail().last_lines.back() + "\n"));
  EXPECT_THAT(text, HasSubstr("\n  " + detail().last_lines.front() + "\n"));
  EXPECT_THAT(text, ::testing::EndsWith("\n  " + detail().last_lines.back() + "\n"));
}

TEST_F(Failure, IsInATraceThatLoads) {
  const auto job = start({.command = once_all_are_up({"exit", "3"}),
                          .options = {"--timeline", "/logs/timeline"},
                          .flags = kept()});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 3);
  const auto runs = report::read_runs(scratch_.path("logs/timeline"));
  ASSERT_TRUE(runs) << to_line(runs.error());
  const auto items = trace::items_of(report::trace_of({report::chart_of(runs->at(0))}));
  const trace::Item* failed = trace::find(items, "X", "rank-2");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->args.at("exit_code"), "3");
  EXPECT_NE(trace::find(items, "i", "first failure"), nullptr);
  EXPECT_NE(trace::find(items, "X", "running"), nullptr);
  EXPECT_THAT(scratch_.read("logs/timeline/events.jsonl"), HasSubstr(R"("event":"first_failure")"));
}

TEST_F(Failure, UnderDockersInitIsTheContainersExitCode) {
  const auto job = start({.command = once_all_are_up({"exit", "3"}), .flags = {"--init"}});
  await_ranks(4);
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 3);
  EXPECT_EQ(told("saved", 4), 3);
}

// trainit, its tee and five ranks: the limit leaves no room for rank 5.
TEST_F(Failure, ToStartRank5ForAPidsLimitIs125AndNamesIt) {
  scratch_.write(kTable, rank_table(8));
  const auto job = start({.command = {"sleep-forever"}, .flags = {"--pids-limit=7"}});

  EXPECT_EQ(job->wait(), 125);
  EXPECT_THAT(job->logs(), ContainsRegex("trainit: .*rank-5 .*(EAGAIN|pids)"));
}

}  // namespace
}  // namespace docker
