// The drop-ins' loop where a whole program cannot be brought into the situation.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/dropin/loop.h"
#include "tests/init/child.h"

namespace {

dropin::InitFlavour tini(char** command) {
  dropin::InitFlavour flavour;
  flavour.verbosity = 0;
  flavour.command = command;
  return flavour;
}

// A child of ours that has ended, of which no signal is left to tell.
pid_t ended_unheard(int code) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(code);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigwaitinfo(&child, &info);
  return pid;
}

TEST(DropinLoop, EndsWithACommandThatEndedBeforeItsSignalsWereTakenOver) {
  const auto outcome = child::run([] {
    const proc::SavedSignals saved = proc::take_over_signals();
    char name[] = "command";
    char* command[] = {name, nullptr};
    return dropin::run_loop(tini(command), saved, {.command = ended_unheard(7)});
  });
  EXPECT_EQ(outcome.code, 7);
}

TEST(DropinLoop, AnswersFirstWhatWasReceivedBefore) {
  const auto outcome = child::run([] {
    const proc::SavedSignals saved = proc::take_over_signals();
    const pid_t pid = ::fork();
    if (pid == 0) {
      proc::restore_signals(saved);
      while (true) ::pause();
    }
    siginfo_t term{};
    term.si_signo = SIGTERM;
    term.si_code = SI_USER;
    char name[] = "command";
    char* command[] = {name, nullptr};
    return dropin::run_loop(tini(command), saved, {.command = pid, .received = &term});
  });
  EXPECT_EQ(outcome.code, 128 + SIGTERM);
}

// The caller's own children come with it through exec; they are reaped, and are not the command.
TEST(DropinLoop, TakesNoOtherChildForTheCommand) {
  const auto outcome = child::run([] {
    const proc::SavedSignals saved = proc::take_over_signals();
    ended_unheard(3);
    char name[] = "true";
    char* command[] = {name, nullptr};
    return dropin::run_loop(tini(command), saved);
  });
  EXPECT_EQ(outcome.code, 0);
}

}  // namespace
