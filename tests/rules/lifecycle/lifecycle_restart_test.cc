// Restart on failure: how often, after what, and what each start finds.

#include <gmock/gmock.h>
#include <signal.h>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Words kSoon = {"--restart-delay", "1ms"};
// A time, not null.
constexpr const char* kSecondAwaited =
    "\"restarts\": 1,\n  \"most_restarts\": 2,\n  \"restart_at_ms\": 1";
const Words kNoteAndFail = shell("echo job $TRAINIT_RESTART_COUNT >> $HERE/journal; exit 9");

class Restart : public rules::LifecycleTest {
 protected:
  void note_hooks(const Words& events) const {
    for (const std::string& event : events) {
      hook(event, "echo $TRAINIT_HOOK $TRAINIT_RESTART_COUNT >> $HERE/journal");
    }
  }
};
RULES_EITHER_WAY(Restart);

TEST_P(Restart, OfAJobThatSucceedsTheThirdTimeIsASuccess) {
  const Result result = rules::run(two_ranks(
      joined(kSoon, {"--max-restarts", "5"}),
      shell("echo start $TRAINIT_RESTART_COUNT; [ $TRAINIT_RESTART_COUNT = 2 ] && exit 0; "
            "[ $RANK = 1 ] && exit 9; exec " +
            rules::payload() + " term-after 0 0")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(log_of(1), "start 0\nstart 1\nstart 2\n") << "a rank's log is appended to";
  EXPECT_THAT(result.err, AllOf(HasSubstr("rank-1 (node 0) exited with code 9"),
                                HasSubstr("restart 2 of at most 5"), HasSubstr("exit code 0")));
  EXPECT_EQ(told("saved-0"), "") << "the other rank is stopped as in any failure";
  EXPECT_THAT(tool({"status"}).out,
              AllOf(HasSubstr("state success"), HasSubstr("restarted 2 times, at most 5")));
}

// The second start runs for longer than the reset, whatever the machine does.
TEST_P(Restart, IsCountedAnewAfterAStartThatRanForLong) {
  const Result result = rules::run(
      job(joined(kSoon, {"--max-restarts", "1", "--restart-reset", "50ms"}),
          shell("case $TRAINIT_RESTART_COUNT in 0) exit 9;; 1) sleep 0.1; exit 9;; esac")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart 1 of at most 1 after failures, counted anew as the "
                                    "start ran for "));
  EXPECT_THAT(read(path("run/events.jsonl")), HasSubstr("restarts_reset"));
  EXPECT_THAT(tool({"status"}).out, HasSubstr("restarted 2 times, 1 of at most 1 counted"));
}

TEST_P(Restart, HappensSoManyTimesAndEachStartIsWhole) {
  note_hooks({"pre-start", "on-failure", "post-stop"});
  const Result result = rules::run(job(joined(kSoon, {"--max-restarts", "2"}), kNoteAndFail));
  EXPECT_EQ(result.code, 9);
  EXPECT_EQ(journal(),
            "pre-start 0\njob 0\non-failure 0\n"
            "pre-start 1\njob 1\non-failure 1\n"
            "pre-start 2\njob 2\non-failure 2\npost-stop 2\n")
      << result.err;
}

TEST_P(Restart, DropsWhatTheHooksOfTheLastStartExported) {
  hook("pre-start", "echo VALUE_$TRAINIT_RESTART_COUNT=set >> $TRAINIT_ENV");
  const Result result = rules::run(
      job(joined(kSoon, {"--max-restarts", "1"}), shell("echo 0:$VALUE_0 1:$VALUE_1; exit 9")));
  EXPECT_EQ(result.out, "0:set 1:\n0: 1:set\n");
}

TEST_P(Restart, LeavesARunningRankNoEndOfItsLastRun) {
  make_fifo("go");
  Instance instance(
      job(joined(kSoon, {"--max-restarts", "1"}),
          shell("[ $TRAINIT_RESTART_COUNT = 0 ] && exit 9; read -r line < $HERE/go")));
  await_state("\"restarts\": 1,");
  await_state("\"phase\": \"running\",");
  const std::string state = read(path("run/state.json"));
  const std::size_t rank = state.find("\"kind\": \"main\"");
  ASSERT_NE(rank, std::string::npos) << state;
  EXPECT_THAT(state.substr(rank), HasSubstr("\"incarnation\": 2"));
  EXPECT_THAT(state.substr(rank, state.find('}', rank) - rank), HasSubstr("\"ended_ms\": null"));
  write("go", "\n");
  EXPECT_EQ(instance.wait(), 0);
}

TEST_P(Restart, DoesNotMendTheseCodes) {
  for (const char* codes : {"9", "1-2,5-20"}) {
    const Result result = rules::run(
        job(joined(kSoon, {"--max-restarts", "2", "--no-restart-on", codes}), kNoteAndFail));
    EXPECT_EQ(result.code, 9) << codes;
  }
  EXPECT_EQ(journal(), "job 0\njob 0\n");
}

TEST_P(Restart, LeavesNothingOfTheLastStart) {
  const Result result = rules::run(job(
      joined(kSoon, {"--max-restarts", "1"}),
      shell(
          "if [ $TRAINIT_RESTART_COUNT = 1 ]; then kill -0 $(cat $HERE/pid) && exit 8; exit 0; fi; "
          "setsid sleep 1000 & echo $! > $HERE/pid; exit 9")));
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(Restart, LeavesServicesAlone) {
  const std::string service =
      "sh -c 'sleep 1000 & trap \"echo told >> $HERE/journal; exit\" TERM; echo > $HERE/up; wait'";
  const Result result = rules::run(job(
      joined(kSoon, {"--max-restarts", "1", "--terminal=" + service}),
      shell("until [ -e $HERE/up ]; do :; done; echo job $TRAINIT_RESTART_COUNT >> $HERE/journal; "
            "[ $TRAINIT_RESTART_COUNT = 1 ] || exit 9")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(journal(), "job 0\njob 1\ntold\n") << "once, at the end";
}

TEST_P(Restart, IsGivenUpByAStopWhileItIsAwaited) {
  Instance instance(job({"--max-restarts", "2", "--restart-delay", "1h"}, kNoteAndFail));
  await_state(kSecondAwaited);
  EXPECT_THAT(tool({"status"}).out, HasSubstr("restart 2 of 2 in "));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << "the restart had answered the failure";
  EXPECT_EQ(journal(), "job 0\njob 1\n");
  EXPECT_THAT(read(path("run/state.json")),
              AllOf(HasSubstr("\"state\": \"stopped\""), HasSubstr("main exited with code 9")))
      << "and the failure that was answered can still be read";
}

TEST_P(Restart, IsNotForAJobThatIsStopped) {
  Instance instance(
      job(joined(kSoon, {"--max-restarts", "2"}), {rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
  EXPECT_THAT(instance.err(), Not(HasSubstr("restart")));
}

}  // namespace
