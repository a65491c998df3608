// Hooks: each at its phase of a job, with what it is told and what it hands on; and hooks that
// fail, hang, flood, or leave something behind.

#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>

#include "init/sys/clock.h"
#include "tests/rules/lifecycle/lifecycle.h"
#include "tests/test_timeout.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kEvents[] = {"pre-start", "post-start", "pre-stop",
                                   "post-stop", "checkpoint", "on-failure"};

// A hook has a quarter of the grace, in which a shell of a busy machine has to do all of its work.
const Words kPatient = {"--grace", "5m"};

class Hooks : public rules::LifecycleTest {
 protected:
  void note_each_event() const {
    for (const char* event : kEvents)
      hook(event, "echo $TRAINIT_HOOK $TRAINIT_EXIT_CODE >> $HERE/journal");
  }
};
RULES_EITHER_WAY(Hooks);

// --- When ---

TEST_P(Hooks, RunAtTheirPointsOfAJobThatFails) {
  note_each_event();
  make_fifo("go");
  hook("post-start", "echo > $HERE/go", "20-go");
  hook("on-failure", "echo \"$TRAINIT_FIRST_FAILURE\" > $HERE/failure", "20-save");
  const Result result =
      rules::run(job({}, shell("grep -q pre-start $HERE/journal || exit 9; read x < $HERE/go; "
                               "echo job >> $HERE/journal; exit 3")));
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(journal(), "pre-start\npost-start\njob\non-failure 3\npost-stop 3\n") << result.err;
  EXPECT_THAT(read(path("failure")), HasSubstr("main exited with code 3"));
}

TEST_P(Hooks, RunAroundTheStopOfAJob) {
  note_each_event();
  hook("post-start", "echo started", "20-say");
  Instance instance(
      job(kPatient, shell("sleep 1000 & trap 'echo job >> $HERE/journal; exit 4' TERM; "
                          "echo up; wait")));
  instance.await_out("up");
  instance.await_err("hook 20-say: started");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
  EXPECT_EQ(journal(), "pre-start\npost-start\npre-stop\njob\npost-stop 4\n") << instance.err();
}

TEST_P(Hooks, RunNeitherOnFailureNorBeforeAStopWhenAllIsWell) {
  note_each_event();
  EXPECT_EQ(rules::run(job({}, {"true"})).code, 0);
  EXPECT_THAT(journal(), AllOf(testing::StartsWith("pre-start\n"),
                               testing::EndsWith("post-stop 0\n"), Not(HasSubstr("pre-stop")),
                               Not(HasSubstr("on-failure")), Not(HasSubstr("checkpoint"))));
}

TEST_P(Hooks, AreAlsoOneScriptThatIsCalledForEachEvent) {
  hook("pre-start", "echo hook >> $HERE/journal");
  const std::string script =
      write("course.sh", "#!/bin/sh\necho script $1 >> $HERE/journal\necho did $1\n", 0755);
  Instance instance(
      job(joined(kPatient, {"--lifecycle-script", script, "--checkpoint-signal", "none"}),
          shell("sleep 1000 & trap 'exit 4' TERM; echo up; wait")));
  instance.await_out("up");
  instance.await_err("did post-start");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
  EXPECT_EQ(journal(),
            "hook\nscript pre-start\nscript post-start\nscript pre-stop\nscript post-stop\n");
}

TEST_P(Hooks, ThatAreAScriptWhichIsMissingEndItBeforeAnythingStarts) {
  hook("pre-start", "echo hook >> $HERE/journal");
  write("plain.sh", "#!/bin/sh\n");
  for (const char* script : {"absent.sh", "plain.sh"}) {
    const Result result =
        rules::run(job({"--lifecycle-script", path(script)}, shell("echo job >> $HERE/journal")));
    EXPECT_EQ(result.code, 125) << script;
    EXPECT_THAT(result.err, HasSubstr("--lifecycle-script " + path(script)));
  }
  EXPECT_EQ(journal(), "");
}

// --- What they are told, and what they hand on ---

TEST_P(Hooks, KnowTheJob) {
  hook("pre-start", "env > $HERE/env.txt");
  Instance instance(spec(joined({"--hooks-dir", path("hooks")}, ranks(2, {"true"}))));
  const pid_t pid = GetParam() ? 1 : instance.pid();
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  const std::string told = "\n" + read(path("env.txt"));
  for (const std::string& line :
       Words{"TRAINIT_HOOK=pre-start", "TRAINIT_PLATFORM=bare", "TRAINIT_FRAMEWORK=ascend",
             "TRAINIT_NODE_RANK=0", "TRAINIT_NODE_COUNT=1", "TRAINIT_WORLD_SIZE=2",
             "TRAINIT_LOCAL_WORLD_SIZE=2", "TRAINIT_RESTART_COUNT=0", "HERE=" + path(""),
             "TRAINIT_PID=" + std::to_string(pid), "TRAINIT_RUN_DIR=" + path("run"),
             "TRAINIT_LOG_DIR=" + path("run/logs")}) {
    EXPECT_THAT(told, HasSubstr("\n" + line + "\n"));
  }
  EXPECT_THAT(told, Not(HasSubstr("\nTRAINIT_EXIT_CODE=")));
}

TEST_P(Hooks, ExportToTheNextHookAndToEachRank) {
  hook("pre-start", "echo FIRST=one >> $TRAINIT_ENV", "10-first");
  hook("pre-start",
       "printf 'SECOND<<END\\n%s two\\nlines\\nEND\\nRANK_ID=77\\n' $FIRST >> $TRAINIT_ENV",
       "20-second");
  const Result result =
      rules::run(spec(joined({"--hooks-dir", path("hooks"), "--output", "inherit"},
                             ranks(2, shell("echo rank $RANK_ID: \"$SECOND\"")))));
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* rank : {"0", "1"}) {
    EXPECT_THAT(result.out, HasSubstr(std::string("rank ") + rank + ": one two\nlines\n"));
  }
  EXPECT_THAT(result.err, HasSubstr("20-second exports RANK_ID"));
}

// --- Those that fail ---

TEST_P(Hooks, BeforeTheStartThatFailEndItWithTheirCodeAndNothingStarts) {
  hook("pre-start", "echo no licence left; exit 7");
  hook("pre-start", "echo next >> $HERE/journal", "20-next");
  const Result result =
      rules::run(job({"--max-restarts", "3"}, shell("echo job >> $HERE/journal")));
  EXPECT_EQ(result.code, 7);
  EXPECT_EQ(journal(), "");
  EXPECT_THAT(result.err,
              ContainsRegex("first failure: .*pre-start hook 10-hook.*no licence left"));
  EXPECT_THAT(result.err, Not(HasSubstr("restart 1"))) << "a hook's failure stays";
}

TEST_P(Hooks, BeforeTheStartThatTakeTooLongAre69) {
  hook("pre-start", "sleep 1000");
  const Result result =
      rules::run(job({"--hook-timeout", "pre-start=50ms"}, shell("echo job >> $HERE/journal")));
  EXPECT_EQ(result.code, 69);
  EXPECT_EQ(journal(), "");
  EXPECT_THAT(result.err, ContainsRegex("10-hook.*no end after 0.05 s"));
}

TEST_P(Hooks, EndTheJobForTheEventsOfFatalHooksOnly) {
  for (const char* event : kEvents) hook(event, "exit 7");
  make_fifo("go");
  hook("pre-stop", "exit 8", "20-more");
  Result result = rules::run(job({"--fatal-hooks", "none"}, shell("exit 3")));
  EXPECT_EQ(result.code, 3);
  for (const char* event : {"pre-start", "on-failure", "post-stop"}) {
    EXPECT_THAT(result.err, ContainsRegex("warning: .*" + std::string(event) + " hook 10-hook"));
  }
  write("hooks/pre-start.d/10-hook", "#!/bin/sh\n", 0755);
  // It would go on for ever.
  result = rules::run(job({"--fatal-hooks", "post-start"}, {rules::payload(), "sleep-forever"}));
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.err, ContainsRegex("first failure: .*post-start hook 10-hook"));
}

// --- Those without manners ---

TEST_P(Hooks, ThatLeaveADaemonAreNotWaitedForAndTheDaemonEndsWithTheJob) {
  make_fifo("alive");
  const sys::Fd alive(::open(path("alive").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  hook("pre-start",
       "setsid sh -c 'exec 8> $HERE/alive; trap \"\" HUP; sleep 1000 & wait' & "
       "until [ -e /proc/$!/fd/8 ]; do :; done; echo ready");
  make_fifo("go");
  Instance instance(job({"--grace", "5m"}, shell("echo up; read x < $HERE/go")));
  instance.await_out("up");
  std::ofstream(path("go")) << "x\n";
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_EQ(child::read_to_end(alive.get()), "") << "the daemon is gone";
  EXPECT_LT(instance.age_ms(), kAtOnceMs) << "nothing of the grace was waited for";
}

TEST_P(Hooks, ThatFloodDoNotDelayTheJobsSignals) {
  constexpr int kSignals = 50;
  hook("post-start", "echo begin; exec yes", "10-flood");
  Instance instance(job({}, {rules::payload(), "print-signals", "TERM"}));
  instance.await_out("ready");
  instance.await_err("10-flood: begin");
  // A limit for a hang, not for a slow machine.
  constexpr std::int64_t kLimitMs = 180'000;
  const std::int64_t until_ms = sys::monotonic_ms() + kLimitMs;
  for (int i = 0; i < kSignals; ++i) {
    const std::string line = "signal " + std::to_string(SIGRTMIN + i % 10 + 4);
    const std::size_t before = instance.out().size();
    instance.signal(SIGRTMIN + i % 10 + 4);
    while (instance.out().find(line, before) == std::string::npos) {
      ASSERT_TRUE(instance.await_more() && sys::monotonic_ms() < until_ms)
          << "signal " << i << " did not come through";
    }
  }
  EXPECT_LT(instance.status_kb("VmHWM"), 16'000);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_LT(instance.err().size(), 4U << 20);
}

TEST_P(Hooks, ThatHangBeforeTheStopLeaveTheJobItsTime) {
  hook("pre-stop", "trap '' TERM; echo hanging; sleep 1000; sleep 1000");
  Instance instance(
      job({"--grace", "8s"}, shell("sleep 1000 & trap 'echo saved; exit 4' TERM; echo up; wait")));
  instance.await_out("up");
  const std::int64_t start_ms = sys::monotonic_ms();
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
  EXPECT_THAT(instance.out(), HasSubstr("saved"));
  EXPECT_THAT(instance.err(), HasSubstr("hook 10-hook: hanging"));
  EXPECT_LT(sys::monotonic_ms() - start_ms, kAtOnceMs) << "the grace";
}

}  // namespace
