// Run by hand from a shell, trainit with its command is a job as the command alone would be.

#include <signal.h>

#include <cstdint>

#include "init/sys/clock.h"
#include "tests/rules/shell.h"

namespace {

using rules::kInterrupt;
using rules::kQuit;
using rules::kSuspend;

using JobControl = rules::Shell;

// Says when it runs, and each time when it is continued, interrupted or told to stop.
constexpr const char* kTeller =
    "/bin/sh -c 'trap \"echo continued-\\$((c=c+1))\" CONT; "
    "trap \"echo interrupted-\\$((i=i+1))\" INT; trap \"echo told-\\$((t=t+1))\" TERM; "
    "echo up-$((1+1)); while :; do sleep 0.1 & wait; done'";
constexpr const char* kSleeper = "/bin/sh -c 'echo up-$((1+1)); exec sleep 1000'";

std::string teller(const std::string& options = "") { return "$T " + options + " -- " + kTeller; }
std::string sleeper(const std::string& options = "") { return "$T " + options + " -- " + kSleeper; }

// --- The keys ---

TEST_F(JobControl, EndsByTheInterruptKey) {
  enter(sleeper());
  await("up-2");
  press(kInterrupt);
  EXPECT_EQ(code(), 130);
  leave();
}

// An interpreter at its prompt answers the key itself, and lives on however often it is pressed.
TEST_F(JobControl, LeavesTheInterruptKeyToTheCommand) {
  enter(teller("--grace 300ms"));
  await("up-2");
  for (const char* answer : {"interrupted-1", "interrupted-2", "interrupted-3"}) {
    press(kInterrupt);
    await(answer);
  }
  press(kSuspend);
  enter("kill -USR2 %1; fg");  // it was still there to stop, and ends by a signal of its own
  EXPECT_EQ(code(), 140);
  leave();
}

// A blocked signal waits over an exec, and here stands for one that comes during trainit's start.
TEST_F(JobControl, SendsOnAKeyThatCameBeforeTheCommand) {
  enter(
      "env --block-signal=INT bash -c '"
      "echo up-$((1+1)); until grep -q ShdPnd:.*2$ /proc/$$/status; do :; done; "
      "exec $T -- bash -c \"until grep -q ShdPnd:.*2$ /proc/\\$\\$/status; do :; done; "
      "echo came-$((1+1))\"'");
  await("up-2");
  press(kInterrupt);
  await("came-2");
  EXPECT_EQ(code(), 0);
  leave();
}

TEST_F(JobControl, EndsByTheQuitKey) {
  enter(sleeper());
  await("up-2");
  press(kQuit);
  EXPECT_EQ(code(), 131);
  leave();
}

TEST_F(JobControl, TellsItsCommandOnceOfAKey) {
  enter(teller());
  await("up-2");
  press(kInterrupt);
  await("interrupted-1");
  press(kQuit);
  EXPECT_EQ(code(), 131);
  EXPECT_EQ(shown("interrupted-2"), 0);
  leave();
}

TEST_F(JobControl, GivesThePromptBackByTheSuspendKey) {
  enter(teller());
  await("up-2");
  press(kSuspend);
  await("Stopped  ");  // and not by another signal than the command
  await("ready> ");
  enter("echo here-$((1+1))");
  await("here-2");
  enter("fg");
  await("continued-1");
  press(kQuit);
  EXPECT_EQ(code(), 131);
  EXPECT_EQ(shown("continued-2"), 0);
  leave();
}

// A search path so long that the key comes between the child's start and its exec.
TEST_F(JobControl, GivesThePromptBackWhileItsCommandIsStillSoughtFor) {
  enter("P=$(printf '/x:%.0s' {1..43000})/usr/bin");
  enter("PATH=$P $T -- sleep 1000");
  await_job("trainit");
  suspend();
  enter("kill -KILL %1");
  leave();
}

TEST_F(JobControl, StopsAsOftenAsItIsAskedTo) {
  enter(teller());
  await("up-2");
  for (int round = 1; round <= 5; ++round) {
    suspend();
    enter("fg");
    await("continued-" + std::to_string(round));
  }
  press(kQuit);
  EXPECT_EQ(code(), 131);
  EXPECT_EQ(shown("continued-6"), 0);
  leave();
}

TEST_F(JobControl, GoesOnInTheBackground) {
  enter(teller());
  await("up-2");
  suspend();
  enter("bg");
  await("continued-1");
  enter("jobs");
  await("Running");
  enter("kill -KILL %1; wait %1");
  EXPECT_EQ(code(), 137);
  leave();
}

// --- In the background ---

TEST_F(JobControl, LeavesTheTerminalToTheShellWhenStartedInTheBackground) {
  enter(sleeper() + " &");
  await("up-2");
  enter("echo here-$((1+1))");
  await("here-2");
  enter("kill %1; wait %1");
  EXPECT_EQ(code(), 143);
  leave();
}

TEST_F(JobControl, StopsInTheBackgroundWhenItsCommandReads) {
  enter("$T -- /bin/sh -c 'read line; echo got-$line' &");
  enter("until jobs -l %1 | grep Stopped; do :; done; echo seen-$((1+1))");
  await("tty input");
  await("seen-2");
  enter("fg");
  await("read line; echo got-$line'\r\n");
  enter("this");
  await("got-this");
  EXPECT_EQ(code(), 0);
  leave();
}

TEST_F(JobControl, PassesOnAStopThatIsSentToIt) {
  enter(sleeper() + " & pid=$!");
  await("up-2");
  enter("kill -TSTP $pid");
  enter("until jobs %1 | grep Stopped; do :; done; echo seen-$((1+1))");
  await("seen-2");
  enter("kill -CONT $pid");
  enter("until jobs %1 | grep Running; do :; done; echo again-$((1+1))");
  await("again-2");
  enter("kill $pid; wait $pid");
  EXPECT_EQ(code(), 143);
  leave();
}

// A shell without job control has its background ignore the key.
TEST_F(JobControl, GoesOnWhereTheCallerIgnoresTheKey) {
  enter("sh -c '$T -- sh -c \"echo pid=\\$PPID.; echo up-\\$((1+1)); exec sleep 1000\" & wait'");
  await("up-2");
  const std::string pid = std::to_string(std::stoi(text_behind("pid=")));
  press(kInterrupt);
  await("ready> ");
  enter("kill -0 " + pid + " && echo lives-$((1+1))");
  await("lives-2");
  // A zombie where the machine's PID 1 waits for no orphan.
  enter("kill -TERM " + pid + "; while grep -q '^State:.[^Z]' /proc/" + pid +
        "/status 2>&-; do :; done; echo gone-$((1+1))");
  await("gone-2");
  leave();
}

// --- In a pipeline, redirected, nested ---

TEST_F(JobControl, IsAPartOfAPipeline) {
  enter(teller() + " | cat");
  await("up-2");
  suspend();
  enter("fg");
  await("continued-1");
  press(kQuit);
  await("ready> ");
  leave();
}

TEST_F(JobControl, GivesThePromptBackAlsoWhenAllIsRedirected) {
  enter("P=$(mktemp -u); mkfifo $P; export P");
  enter(
      "$T -- /bin/sh -c 'echo $$ >$P; exec sleep 1000' </dev/null >/dev/null 2>&1 & "
      "read main <$P; rm $P; echo main=$main.");
  await("main=");
  await("main=");
  await(".\r");
  const pid_t main = std::stoi(text_behind("main="));
  enter("fg");
  await_foreground(main);
  suspend();
  enter("fg");
  await_foreground(main);
  press(kInterrupt);
  EXPECT_EQ(code(), 130);
  leave();
}

TEST_F(JobControl, WorksThreeDeep) {
  enter("$T -- $T -- " + teller());
  await("up-2");
  suspend();
  enter("fg");
  await("continued-1");
  press(kInterrupt);
  await("interrupted-1");
  press(kQuit);
  EXPECT_EQ(code(), 131);
  EXPECT_EQ(shown("interrupted-2"), 0);
  leave();
}

// The shell continues the group that it knows of.
TEST_F(JobControl, ContinuesACommandThatMadeAGroupOfItsOwn) {
  enter(
      "$T -- perl -e '$|=1; setpgrp; print \"up-\",1+1,\"\\n\"; kill STOP, $$; "
      "print \"again-\",1+1,\"\\n\"; exit 7'");
  await("up-2");
  await("Stopped");
  await("ready> ");
  enter("fg");
  await("again-2");
  EXPECT_EQ(code(), 7);
  leave();
}

// --- A stop request ---

TEST_F(JobControl, StandsStillWithItsGrace) {
  constexpr std::int64_t kGraceMs = 3000;
  constexpr std::int64_t kUntilKillMs = 1500;  // at least; the rest of the grace is for the kill
  constexpr std::int64_t kPauseMs = 4000;
  enter(teller("--grace 3s") + " & pid=$!");
  await("up-2");
  const std::int64_t told_ms = sys::monotonic_ms();
  enter("kill -TERM $pid");
  await("told-1");
  enter("kill -TSTP $pid");
  enter("until jobs %1 | grep Stopped; do :; done; echo seen-$((1+1))");
  await("seen-2");
  const std::int64_t stopped_ms = sys::monotonic_ms();
  enter("read -t 4; fg");  // what is measured is this time
  await("continued-1");
  EXPECT_GT(sys::monotonic_ms() - stopped_ms, kGraceMs);
  EXPECT_EQ(code(), 137);
  // Before the pause and behind it together, however much of it was over before.
  EXPECT_GE(sys::monotonic_ms() - told_ms, kPauseMs + kUntilKillMs) << "nothing was left";
  leave();
}

// --- Without a shell ---

// As PID 1 of a container with a terminal: the command has the terminal for itself, and nobody
// would continue us.
TEST(SessionLeader, RunsOnWhenItsCommandIsStopped) {
  const std::string script =
      "trap 'echo continued' CONT; echo $$-up; while :; do sleep 0.1 & wait; done";
  rules::Screen screen({rules::trainit(), "--", "/bin/sh", "-c", script});
  ASSERT_TRUE(screen.await("-up"));
  const pid_t main = std::stoi(screen.shown());
  screen.type(kSuspend);
  while (rules::state_of(main) != 'T') ASSERT_NE(rules::state_of(main), '?');
  EXPECT_NE(rules::state_of(screen.pid()), 'T');
  ::kill(screen.pid(), SIGCONT);
  EXPECT_TRUE(screen.await("continued"));
  screen.type(kInterrupt);
  EXPECT_EQ(screen.wait(), 130);
}

TEST(SessionLeader, GivesTheTerminalToARestartedCommandToo) {
  const std::string script =
      "[ $TRAINIT_RESTART_COUNT = 1 ] || exit 3; echo ask-$((1+1)); read line; echo got-$line";
  rules::Screen screen({rules::trainit(), "--max-restarts", "1", "--restart-delay", "10ms", "--",
                        "/bin/sh", "-c", script});
  ASSERT_TRUE(screen.await("ask-2"));
  screen.type("this\n");
  EXPECT_TRUE(screen.await("got-this"));
  EXPECT_EQ(screen.wait(), 0);
}

TEST(SessionLeader, EndsTheDebugWindowByTheInterruptKey) {
  rules::Screen screen({rules::trainit(), "--hold", "1h", "--", "/bin/sh", "-c", "exit 3"});
  ASSERT_TRUE(screen.await("debug"));
  screen.type(kInterrupt);
  EXPECT_EQ(screen.wait(), 3);
}

}  // namespace
