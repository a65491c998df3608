// --parent-death-signal: the end of whoever started trainit, where that is no container's runtime.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Words;
using testing::HasSubstr;

class Parent : public rules::JobTest {
 protected:
  // A shell that starts trainit in the background and ends when the command runs.
  [[nodiscard]] Instance shell_around(const Words& options) const {
    std::string line = rules::trainit();
    for (const std::string& option : options) line += " " + option;
    line +=
        " -- " + rules::payload() + " term-after 0 0 & until [ -e $HERE/out/ready-0 ]; do :; done";
    return Instance(
        {.args = {"sh", "-c", line}, .env = env(), .pid1 = false, .program = "/bin/sh"});
  }
};

TEST_F(Parent, TakesItsInitWithItWhereThatIsAskedFor) {
  Instance shell = shell_around({"--parent-death-signal", "TERM"});
  EXPECT_EQ(shell.wait(), 0);
  await_told("saved-0");
}

// A tracer of trainit that ends as soon as that has seen whose child it is.
void end_behind_first_getppid(pid_t traced) {
  __ptrace_syscall_info call{};
  unsigned long long number = 0;
  for (int status = 0; ::waitpid(traced, &status, 0) == traced && WIFSTOPPED(status);) {
    ::ptrace(PTRACE_SETOPTIONS, traced, nullptr, PTRACE_O_TRACESYSGOOD);
    ::ptrace(PTRACE_GET_SYSCALL_INFO, traced, sizeof call, &call);
    if (call.op == PTRACE_SYSCALL_INFO_ENTRY) number = call.entry.nr;
    if (call.op == PTRACE_SYSCALL_INFO_EXIT && number == SYS_getppid) ::_exit(0);
    ::ptrace(PTRACE_SYSCALL, traced, nullptr, nullptr);
  }
  ::_exit(rules::kCannotStart);
}

// Nobody would send the signal that was asked for then.
TEST_F(Parent, IsMissedAlsoWhereItEndedBeforeTheCall) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const std::string program = rules::trainit();
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t init = ::fork();
    if (init != 0) end_behind_first_getppid(init);
    ::setenv("TRAINIT_RUN_DIR", path("run").c_str(), 1);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execl(program.c_str(), "trainit", "--parent-death-signal", "TERM", "--", "/bin/sleep", "120",
            nullptr);
    ::_exit(rules::kCannotStart);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);  // trainit is ours by now
  ASSERT_EQ(status, 0);
  ASSERT_GT(::waitpid(-1, &status, 0), 0);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST_F(Parent, IsRefusedAsNoSignal) {
  const Result result = tool({"--parent-death-signal", "NOSUCH", "--", "true"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("--parent-death-signal"));
}

}  // namespace
