// What is said of the first failure, where, and when: by engine::supervise with shells as ranks.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "init/engine/state/state.h"
#include "tests/init/engine/supervise.h"

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class Diagnosis : public Supervise {
 protected:
  Diagnosis() { write("termination-log", ""); }

  [[nodiscard]] std::string termination() const { return read(termination_log_); }
  [[nodiscard]] engine::JobReport state() const {
    auto report = engine::state_from_json(read(path("run/state.json")), "state.json");
    EXPECT_TRUE(report) << to_line(report.error());
    return report.value_or(engine::JobReport{});
  }
  // As an ordinary process. What is said of a failure has two seconds: on a machine that stands
  // still `told` may not be said, and the job is run again.
  [[nodiscard]] child::Outcome run(engine::Setup setup, const std::string& told = "") const {
    constexpr int kTries = 5;
    for (int i = 1; i < kTries && !told.empty(); ++i) {
      child::Outcome outcome = Supervise::run(setup);
      if (outcome.err.contains(told)) return outcome;
      forget();
      for (const char* left : {"starts", "log", "run"}) std::filesystem::remove_all(path(left));
      write("termination-log", "");
    }
    return Supervise::run(std::move(setup));
  }
  // One rank that has a file.
  [[nodiscard]] envgen::Plan one_rank(const std::string& script) const {
    envgen::Plan plan;
    plan.platform = "local";
    plan.framework = "pytorch";
    plan.processes = {shell("rank-0", script)};
    plan.processes[0].rank = 0;
    plan.processes[0].log = path("log");
    return plan;
  }
  // The same, which notes each start.
  [[nodiscard]] envgen::Plan counted(const std::string& script) const {
    return one_rank("echo start >> " + path("starts") + "; " + script);
  }
  // Eight ranks, the fourth of which fails once all are ready to be stopped.
  [[nodiscard]] engine::Setup eight(const std::string& fatal) const {
    return ranks(8, R"(
      [ $RANK_ID = 5 ] && trap 'exit 9' TERM
      echo > $OUT/up-$RANK_ID
      if [ $RANK_ID = 3 ]; then
        while [ $(ls $OUT | grep -c up-) -lt 8 ]; do sleep 0.05; done
        )" + fatal + R"(
      fi
      sleep 60 & wait)");
  }
};

TEST_F(Diagnosis, OfOneRankAmongEightHasItsLastLinesEverywhere) {
  const auto outcome = run(
      eight(R"(echo starting; printf '10%%\r20%%\r\n'; echo 'boom HF_TOKEN=canary' >&2; exit 3)"),
      "its last lines");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("its last lines: starting | 20% | boom HF_TOKEN=***"));
  EXPECT_THAT(termination(), AllOf(StartsWith("trainit: rank-3 (node 0, device 3) exited with "
                                              "code 3 after "),
                                   HasSubstr("\ntorn down because of it: rank-0: SIGTERM, "),
                                   HasSubstr("rank-5: exit 9"),
                                   HasSubstr("\nits last lines:\n  starting\n  20%\n  "
                                             "boom HF_TOKEN=***\n")));
  const engine::FailureDetail detail = state().failure;
  EXPECT_EQ(detail.task, "rank-3");
  EXPECT_EQ(detail.rank, 3);
  EXPECT_EQ(detail.device, 3);
  EXPECT_EQ(detail.exit_code, 3);
  EXPECT_EQ(detail.signal, "");
  EXPECT_FALSE(detail.oom);
  EXPECT_GT(detail.at_ms, 1'600'000'000'000);
  EXPECT_THAT(detail.last_lines, ElementsAre("starting", "20%", "boom HF_TOKEN=***"));
  EXPECT_THAT(detail.torn_down, SizeIs(7));
}

// An exception that nothing has caught, as Python prints it.
constexpr const char* kRaise = R"(
      raise() {
        printf 'Traceback (most recent call last):\n  File "train.py", line 3, in f\n    g()\n' >&2
        echo "$1" >&2
      }
)";

TEST_F(Diagnosis, SaysTheCauseAndWhatToDoBeforeTheLastLines) {
  const auto outcome = run(eight(std::string(kRaise) + R"(
        raise 'RuntimeError: CUDA out of memory. Tried to allocate 2 GiB'
        for i in 1 2 3 4 5 6 7 8 9; do echo "a warning $i"; done
        exit 3)"),
                           "the cause");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err,
              HasSubstr("error: the cause: RuntimeError: CUDA out of memory. Tried "
                        "to allocate 2 GiB; first failure: rank-3 (node 0, device 3) "));
  EXPECT_THAT(outcome.err, HasSubstr("; what to do: use less device memory"));
  EXPECT_THAT(termination(), StartsWith("trainit: the cause: RuntimeError: CUDA out of memory. "
                                        "Tried to allocate 2 GiB; rank-3 (node 0, device 3) "));
  EXPECT_THAT(termination(), HasSubstr("\nwhat to do: use less"));
  EXPECT_THAT(termination(), HasSubstr("  a warning 9\n"));
  ASSERT_TRUE(state().failure.cause);
  EXPECT_EQ(state().failure.cause->failure_class, "cuda-oom");
  EXPECT_EQ(state().failure.cause->role, "root");
}

// The third rank suffers from what the fifth died of; the fifth is told to stop meanwhile.
TEST_F(Diagnosis, NamesTheRankWhoseFailureTheOthersOnlySufferFrom) {
  const auto outcome = run(ranks(8, std::string(kRaise) + R"(
      echo > $OUT/up-$RANK_ID
      if [ $RANK_ID = 5 ]; then
        raise "ModuleNotFoundError: No module named 'apex'"
        echo > $OUT/said
        trap 'exit 1' TERM
      fi
      if [ $RANK_ID = 3 ]; then
        while [ $(ls $OUT | grep -c up-) -lt 8 ] || [ ! -e $OUT/said ]; do sleep 0.05; done
        echo 'RuntimeError: NCCL communicator was aborted on rank 3.' >&2
        exit 3
      fi
      sleep 60 & wait)"),
                           "the cause (rank-5)");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the cause (rank-5): ModuleNotFoundError: No module"));
  ASSERT_TRUE(state().failure.cause);
  EXPECT_EQ(state().failure.cause->task, "rank-5");
}

// --- Restarts that cannot help ---

envgen::Plan with_restarts(envgen::Plan plan) {
  plan.policy.max_restarts = 3;
  plan.policy.restart_delay_ms = 100;
  plan.policy.restart_verdict = base::RestartVerdict::kEnforce;
  return plan;
}

constexpr const char* kMissing =
    "echo \"python: can't open file '/a.py': [Errno 2] No such file or directory\" >&2; exit 2";

TEST_F(Diagnosis, EndsTheRestartsOfAMissingScriptAtTheFirst) {
  const auto outcome = run(planned(with_restarts(counted(kMissing))), "no restart: ");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(read(path("starts")), "start\n");
  EXPECT_THAT(outcome.err, HasSubstr("no restart: such a failure does not go away by itself"));
}

TEST_F(Diagnosis, TellsOnlyWhereItShallOnlyTell) {
  envgen::Plan plan = with_restarts(counted(kMissing));
  plan.policy.max_restarts = 1;
  plan.policy.restart_verdict = base::RestartVerdict::kTell;
  const auto outcome = run(planned(plan), "a restart will not help");
  EXPECT_EQ(read(path("starts")), "start\nstart\n");
  EXPECT_THAT(outcome.err, HasSubstr("a restart will not help: such a failure"));
}

TEST_F(Diagnosis, EndsTheRestartsOfWhatComesTwice) {
  const auto outcome = run(
      planned(with_restarts(counted(std::string(kRaise) + "raise \"KeyError: 'loss'\"; exit 1"))),
      "no restart: ");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(read(path("starts")), "start\nstart\n");
  EXPECT_THAT(outcome.err, HasSubstr("no restart: the start before failed with the same cause"));
}

TEST_F(Diagnosis, RestartsWhereItIsInDoubt) {
  const std::vector<std::string> all = {
      "OSError: [Errno 116] Stale file handle", "ConnectionResetError: peer", "bye",
      "lib.errors.CommError: timed out",  // a library's, which no row knows
      "RuntimeError: attempt $(wc -l < " + path("starts") + " | tr 1-9 a-i)"};
  for (const std::string& said : all) {
    const auto outcome =
        run(planned(with_restarts(counted(kRaise + ("raise \"" + said + "\"; exit 1")))));
    EXPECT_EQ(read(path("starts")), "start\nstart\nstart\nstart\n") << said << outcome.err;
    std::filesystem::remove(path("starts"));
  }
}

TEST_F(Diagnosis, OfAVictimAloneSaysSo) {
  const auto outcome =
      run(eight("echo 'RuntimeError: NCCL communicator was aborted on rank 3.' >&2; exit 3"),
          "only says");
  EXPECT_THAT(outcome.err, HasSubstr("rank-3 only says: RuntimeError: NCCL communicator"));
  EXPECT_THAT(outcome.err, HasSubstr("look at the ranks without this message"));
  EXPECT_THAT(termination(), StartsWith("trainit: rank-3 only says: RuntimeError: NCCL "
                                        "communicator was aborted on rank 3.; rank-3 (node 0"));
}

TEST_F(Diagnosis, OfALauncherNamesTheRank) {
  envgen::Plan plan = one_rank(
      "echo 'mpirun noticed that process rank 3 with PID 0 on node b exited on signal 9 (Killed).';"
      "exit 137");
  plan.processes[0].name = "main";
  plan.processes[0].rank = -1;
  const auto outcome = run(planned(plan), "in mpirun");
  EXPECT_EQ(outcome.code, 137);
  EXPECT_THAT(outcome.err, HasSubstr("first failure: rank 3 (in mpirun, on b) was killed by "
                                     "SIGKILL; main exited with code 137 (the code of shells for "
                                     "a command that SIGKILL has killed) after "));
  EXPECT_THAT(termination(), HasSubstr("; rank 3 (in mpirun, on b) was killed by SIGKILL; main"));
  EXPECT_EQ(state().failure.task, "main");
  EXPECT_EQ(state().failure.rank, 3);
  EXPECT_EQ(state().failure.launcher, "mpirun");
}

// Both are dead before either is seen: trainit stands still meanwhile.
TEST_F(Diagnosis, OfTheSameBreathIsTheRankThatIsNoVictim) {
  const auto outcome = run(ranks(2, R"(
      if [ $RANK_ID = 0 ]; then
        until [ -s $OUT/one ]; do sleep 0.01; done
        kill -STOP $PPID
        echo > $OUT/stands
        (until grep -q ') Z' /proc/$$/stat && grep -q ') Z' /proc/$(cat $OUT/one)/stat; do
           sleep 0.01
         done
         kill -CONT $PPID) > /dev/null 2>&1 &
        echo 'RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:2222'
        exit 1
      fi
      echo $$ > $OUT/one
      until [ -e $OUT/stands ]; do sleep 0.01; done
      exit 210)"));
  EXPECT_EQ(outcome.code, 210);
  EXPECT_THAT(outcome.err, HasSubstr("first failure: rank-1 (node 0, device 1) exited with code "
                                     "210 after "));
  EXPECT_THAT(outcome.err, HasSubstr("; at the same time: rank-0 (node 0, device 0) exited with "
                                     "code 1 after "));
  EXPECT_THAT(outcome.err, Not(HasSubstr("first failure: rank-0")));
  EXPECT_THAT(termination(), StartsWith("trainit: rank-1 (node 0, device 1) exited with code 210"));
  EXPECT_EQ(state().failure.task, "rank-1");
  EXPECT_EQ(state().failure.exit_code, 210);
}

TEST_F(Diagnosis, OfASignalNamesIt) {
  EXPECT_EQ(run(eight("kill -SEGV $$")).code, 139);
  EXPECT_EQ(state().failure.signal, "SIGSEGV");
  EXPECT_EQ(state().failure.exit_code, 139);
}

// Nobody is left to be torn down, so nothing but this keeps the job from its end.
TEST_F(Diagnosis, OfTheLastRankHasItsLastLinesToo) {
  const auto outcome = run(planned(one_rank("echo last words; exit 4")), "its last lines");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("its last lines: last words"));
  EXPECT_THAT(termination(), HasSubstr("\n  last words\n"));
  EXPECT_THAT(termination(), Not(HasSubstr("torn down")));
}

TEST_F(Diagnosis, HasTheLastLinesWhereverTheyWent) {
  for (const auto output : {envgen::Output::kFirst, envgen::Output::kInherit,
                            envgen::Output::kFiles, envgen::Output::kTee}) {
    engine::Setup setup = ranks(2, "[ $RANK_ID = 0 ] && echo mine && exit 4; sleep 60");
    setup.request.output = output;
    const auto outcome = run(std::move(setup), "its last lines");
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("its last lines: mine"));
    EXPECT_THAT(termination(), HasSubstr("its last lines:\n  mine\n"));
  }
}

TEST_F(Diagnosis, OfAProcessOnStdoutHasItsLastLines) {
  engine::Setup setup = single("echo step 1; echo boom >&2; exit 3");
  setup.request.observe.stall_ms = 3'600'000;  // something to resolve
  const auto outcome = run(std::move(setup), "its last lines: step 1 | boom");
  EXPECT_THAT(outcome.err, HasSubstr("its last lines: step 1 | boom"));
  EXPECT_THAT(termination(), HasSubstr("\n  boom\n"));
}

// Then Kubernetes takes the end of the log (FallbackToLogsOnError).
TEST_F(Diagnosis, IsNotInTheTerminationLogWhereItSaysNoMoreThanTheExitCode) {
  EXPECT_EQ(run(single("echo boom >&2; exit 3")).code, 3);
  EXPECT_EQ(termination(), "") << "a plain init";
  engine::Setup silent = single("kill -9 $$");
  silent.request.output = envgen::Output::kFiles;
  EXPECT_EQ(run(std::move(silent)).code, 137);
  EXPECT_EQ(termination(), "");
  EXPECT_EQ(run(ranks(2, "[ $RANK_ID = 0 ] && exit 4; sleep 60")).code, 4);
  EXPECT_THAT(termination(), HasSubstr("rank-0")) << "which of them";
  engine::Setup absent = single("");
  absent.request.command = {"/no/such/program"};
  EXPECT_EQ(run(std::move(absent)).code, 127);
  EXPECT_THAT(termination(), HasSubstr("/no/such/program"));
}

TEST_F(Diagnosis, OfAPlainCommandSaysOnceHowToGetACause) {
  constexpr const char* kAdvice =
      "no cause is known: set TRAINIT_OUTPUT=tee, or put "
      "--output tee before --";
  const std::string err = run(single("echo boom >&2; exit 3")).err;
  EXPECT_THAT(err, HasSubstr(kAdvice));
  EXPECT_EQ(err.find(kAdvice), err.rfind(kAdvice));
  engine::Setup kept = single("echo boom >&2; exit 3");
  kept.request.output = envgen::Output::kTee;
  EXPECT_THAT(run(std::move(kept)).err, Not(HasSubstr(kAdvice)));
}

TEST_F(Diagnosis, OfAStartHasNoLinesOfTheOneBefore) {
  envgen::Plan plan = one_rank("[ $TRAINIT_RESTART_COUNT = 1 ] || echo before; exit 3");
  // The next start waits for what is to be said of this one.
  plan.policy.restart_verdict = base::RestartVerdict::kTell;
  plan.policy.max_restarts = 1;
  plan.policy.restart_delay_ms = 0;
  const auto outcome = run(planned(plan), "its last lines: before");
  EXPECT_EQ(outcome.code, 3);
  const std::size_t second = outcome.err.rfind("first failure");
  EXPECT_THAT(outcome.err.substr(0, second), HasSubstr("its last lines: before"));
  EXPECT_THAT(outcome.err.substr(second), Not(HasSubstr("before")));
  EXPECT_THAT(termination(), Not(HasSubstr("before")));
}

TEST_F(Diagnosis, IsSaidBeforeTheRestartThatFollowsFromIt) {
  envgen::Plan plan = one_rank("[ $TRAINIT_RESTART_COUNT = 1 ] || exit 3");
  plan.policy.max_restarts = 1;
  const std::string err = run(planned(plan)).err;
  EXPECT_LT(err.find("first failure"), err.find("restart 1 of at most 1 after failures"));
}

TEST_F(Diagnosis, IsSaidOnce) {
  const std::string err = run(eight("exit 3")).err;
  EXPECT_NE(err.find("first failure"), std::string::npos);
  EXPECT_EQ(err.find("first failure"), err.rfind("first failure"));
}

TEST_F(Diagnosis, OfAnEarlierStartIsNoneOfAJobThatEndsWell) {
  envgen::Plan plan = one_rank("[ $TRAINIT_RESTART_COUNT = 1 ] || { echo lost >&2; exit 3; }");
  plan.policy.max_restarts = 1;
  plan.policy.restart_delay_ms = 100;
  EXPECT_EQ(run(planned(plan)).code, 0);
  EXPECT_EQ(termination(), "");
  EXPECT_EQ(state().failure, engine::FailureDetail{});
}

TEST_F(Diagnosis, OfARankBehindTheTeeHasItsLastLines) {
  envgen::Plan plan = one_rank("echo step 1; echo boom >&2; exit 3");
  plan.processes[0].log.clear();
  plan.processes[0].tee = true;
  plan.processes[0].echo = true;
  const auto outcome = run(planned(plan), "its last lines: step 1 | boom");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("its last lines: step 1 | boom"));
}

TEST_F(Diagnosis, IsSaidAlsoWhereTheOutputCannotBeRead) {
  const auto outcome = run(planned(one_rank("rm $OUT/../log; mkfifo $OUT/../log; exit 3")));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("first failure: rank-0"));
}

TEST_F(Diagnosis, SaysWhichNodeItIsAboutWhereThereAreSeveral) {
  envgen::Plan plan = one_rank("exit 3");
  plan.node_count = 2;
  plan.local_node = envgen::LocalNode{1, ""};
  const auto outcome = run(planned(plan));
  EXPECT_THAT(outcome.err, HasSubstr("trainit[node 1]: error: first failure: rank-0 (node 1 "));
  EXPECT_EQ(state().failure.node, 1);
  EXPECT_NE(state().failure.host, "");
}

}  // namespace
