// What a signal to trainit becomes (--signal, --second-term), and how a stop is spread (--drain).

#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <string>

#include "init/sys/clock.h"
#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::shell;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

class SignalMap : public rules::LifecycleTest {};
RULES_EITHER_WAY(SignalMap);

TEST_P(SignalMap, TellsTheJobOfAStopByAnotherSignal) {
  hook("pre-stop", "echo pre-stop >> $HERE/journal");
  Instance instance(job({"--signal", "TERM=INT", "--grace", "5m"},
                        shell("sleep 1000 & trap 'echo interrupted; exit 5' INT; "
                              "trap 'exit 6' TERM; echo up; wait")));
  instance.await_out("up");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 5);
  EXPECT_THAT(instance.out(), HasSubstr("interrupted"));
  EXPECT_EQ(journal(), "pre-stop\n") << "it stays a stop request";
}

TEST_P(SignalMap, MakesAStopRequestOfAnotherSignal) {
  hook("pre-stop", "echo pre-stop >> $HERE/journal");
  Instance instance(job({"--signal", "USR1=TERM", "--grace", "5m"},
                        shell("sleep 1000 & trap 'exit 6' TERM; echo up; wait")));
  instance.await_out("up");
  instance.signal(SIGUSR1);
  EXPECT_EQ(instance.wait(), 6);
  EXPECT_EQ(journal(), "pre-stop\n");
}

// An image inherits STOPSIGNAL from its base. docker stop ends the job, and starts none again.
TEST_P(SignalMap, StopsByTheStopSignalsOfBaseImages) {
  for (const int signal : {SIGQUIT, SIGRTMIN + 3}) {
    Instance instance(job({"--max-restarts", "3"}, shell("trap 'echo saved; exit 5' TERM; echo up; "
                                                         "while :; do sleep 0.01; done")));
    instance.await_out("up");
    instance.signal(signal);
    EXPECT_EQ(instance.wait(), 5);
    EXPECT_THAT(instance.out(), HasSubstr("saved"));
    EXPECT_THAT(instance.err(), AllOf(HasSubstr(" received, stopping"), Not(HasSubstr("restart")),
                                      Not(HasSubstr("first failure"))));
  }
}

TEST_P(SignalMap, SendsQuitOnWhereThatIsAskedFor) {
  Instance instance(job({"--signal", "QUIT=forward"},
                        shell("trap 'echo dumped' QUIT; trap 'exit 5' TERM; echo up; "
                              "while :; do sleep 0.01; done")));
  instance.await_out("up");
  instance.signal(SIGQUIT);
  instance.await_out("dumped");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 5);
}

TEST_P(SignalMap, OfAnotherStopSignalTheEndIsNoFailure) {
  for (const int signal : {SIGHUP, SIGUSR2}) {
    Instance instance(job({"--max-restarts", "3"}, shell("echo up; while :; do sleep 0.01; done")));
    instance.await_out("up");
    instance.signal(signal);
    EXPECT_EQ(instance.wait(), 128 + signal);
    EXPECT_THAT(instance.err(),
                AllOf(HasSubstr("came from outside and has ended main: the job is stopped"),
                      Not(HasSubstr("restart")), Not(HasSubstr("first failure"))));
  }
}

// What nobody sent to trainit is the job's own failure.
TEST_P(SignalMap, OfASignalOfItsOwnTheEndIsAFailure) {
  Instance instance(
      job({"--max-restarts", "1", "--restart-verdict", "off"}, shell("kill -HUP $$")));
  EXPECT_EQ(instance.wait(), 129);
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("restart 1"), HasSubstr("first failure")));
}

TEST_P(SignalMap, MakesAFileOrNothingOfASignalThatTheJobThenDoesNotSee) {
  Instance instance(spec({"--signal", "USR2=file:" + path("out/trigger") + ",HUP=none,WINCH=CONT",
                          "--", rules::payload(), "print-signals", "TERM"}));
  instance.await_out("ready");
  instance.signal(SIGUSR2);
  await_file("out", "trigger");
  instance.signal(SIGHUP);
  instance.signal(SIGWINCH);
  instance.await_out("signal " + std::to_string(SIGCONT) + " ");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  for (const int unseen : {SIGUSR2, SIGHUP, SIGWINCH}) {
    EXPECT_THAT(instance.out(), Not(HasSubstr("signal " + std::to_string(unseen) + " ")));
  }
}

TEST_P(SignalMap, ForwardsAStopSignalToAJobThatAnswersItAndGoesOn) {
  Instance instance(
      spec({"--signal", "INT=forward", "--", rules::payload(), "print-signals", "TERM"}));
  instance.await_out("ready");
  const std::string answered = "signal " + std::to_string(SIGINT) + " ";
  for (int i = 1; i <= 3; ++i) {  // of an ordinary INT the second would kill
    instance.signal(SIGINT);
    while (count(instance.out(), answered) < i && instance.await_more()) {
    }
  }
  EXPECT_TRUE(instance.alive());
  EXPECT_THAT(instance.err(), Not(HasSubstr("stopping")));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << "TERM still stops";
}

TEST_P(SignalMap, LeavesTheStartOfAJobAloneWhenItForwards) {
  make_fifo("go");
  hook("pre-start", "echo preparing; read x < $HERE/go");
  Instance instance(job({"--signal", "INT=forward"}, shell("exit 5")));
  instance.await_err("preparing");
  instance.signal(SIGINT);
  std::ofstream(path("go")) << "x\n";
  EXPECT_EQ(instance.wait(), 5);
}

TEST_P(SignalMap, SaysWhenItsFileCannotBeMadeAndTheJobGoesOn) {
  Instance instance(spec({"--signal", "USR2=file:" + path("absent/trigger"), "--", rules::payload(),
                          "print-signals", "TERM"}));
  instance.await_out("ready");
  instance.signal(SIGUSR2);
  instance.await_err(path("absent/trigger"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_P(SignalMap, ThatIsWrongEndsItBeforeAnythingStarts) {
  for (const char* wrong : {"FOO=INT", "KILL=none", "TERM=INT,TERM=HUP", "USR2=file:trigger"}) {
    const Result result = rules::run(spec({"--signal", wrong, "--", "sh", "-c", "echo started"}));
    EXPECT_EQ(result.code, 125) << wrong;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("--signal"));
  }
}

class StopRequest : public rules::LifecycleTest {};
RULES_EITHER_WAY(StopRequest);

TEST_P(StopRequest, ThatComesTwiceIsADuplicateOtherwise) {
  hook("pre-stop", "echo pre-stop >> $HERE/journal");
  Instance instance(job({"--grace", "1h"}, {rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  while (instance.alive()) instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4) << "it saved";
  EXPECT_EQ(journal(), "pre-stop\n");
}

TEST_P(StopRequest, ThatComesTwiceKillsWhereThatIsAskedFor) {
  Instance instance(
      spec({"--second-term", "kill", "--grace", "1h", "--", rules::payload(), "ignore-term"}));
  await_told("ready-0");
  while (instance.alive()) instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 137);
}

TEST_P(StopRequest, ThatComesAsASecondInterruptWaitsForNoHook) {
  hook("pre-stop", "trap '' TERM INT; echo hanging; sleep 1000");
  Instance instance(
      job({"--grace", "1h", "--hook-timeout", "20m"}, {rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  instance.signal(SIGINT);
  instance.await_err("10-hook: hanging");
  while (instance.alive()) instance.signal(SIGINT);
  EXPECT_EQ(instance.wait(), 137);
}

// --- TERM after INT: a job that goes on at the first and saves on the second ---

TEST_P(StopRequest, ThatIsAnotherSignalReachesAShellToo) {
  Instance instance(
      spec(joined({"--grace", "1h", "--"},
                  shell("trap 'echo went on' INT; trap 'echo saved; exit 3' TERM; echo up\n"
                        "while :; do sleep 0.1 & wait; done"))));
  instance.await_out("up");
  instance.signal(SIGINT);
  instance.await_out("went on");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 3);
  EXPECT_EQ(instance.out(), "up\nwent on\nsaved\n");
}

// No shell: one of its background jobs that was told between fork and exec would never end.
TEST_P(StopRequest, ThatIsAnotherSignalReachesEachOfTwoRanksOnce) {
  Instance instance(two_ranks({"--grace", "1h", "--output", "inherit", "--stop-scope", "group"},
                              {rules::payload(), "record-signals"}));
  for (const char* rank : {"0", "1"}) await_told(std::string("ready-") + rank);
  instance.signal(SIGINT);
  instance.await_err("SIGINT received, stopping");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 130) << "the first one counts";
  EXPECT_THAT(instance.err(), HasSubstr("SIGTERM received while stopping"));
  for (const char* rank : {"0", "1"}) {
    EXPECT_EQ(told(std::string("signals-") + rank), "INT parent\nTERM parent\n");
  }
}

TEST_P(StopRequest, EndsAHookBeforeTheStartAndStartsNothing) {
  hook("pre-start", "sleep 1000 & trap 'echo told >> $HERE/journal; exit 1' TERM; echo up; wait");
  hook("pre-start", "echo next >> $HERE/journal", "20-next");
  Instance instance(job({}, shell("echo job >> $HERE/journal")));
  instance.await_err("10-hook: up");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_EQ(journal(), "told\n") << instance.err();
}

TEST_P(StopRequest, ReachesTheJobBehindTheDrain) {
  constexpr int kDrainMs = 300;
  Instance instance(spec({"--drain", std::to_string(kDrainMs) + "ms", "--", rules::payload(),
                          "term-after", "0", "4"}));
  await_told("ready-0");
  const std::int64_t start_ms = sys::monotonic_ms();
  instance.signal(SIGTERM);
  await_told("saved-0");
  EXPECT_GE(sys::monotonic_ms() - start_ms, kDrainMs);
  EXPECT_EQ(instance.wait(), 4);
}

TEST_P(StopRequest, WaitsForNoDrainWhenTheJobEndsByItself) {
  make_fifo("go");
  hook("pre-stop", "echo > $HERE/go");
  Instance instance(
      job({"--grace", "1h", "--drain", "30m"}, shell("echo up; read x < $HERE/go; exit 4")));
  instance.await_out("up");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
}

}  // namespace
