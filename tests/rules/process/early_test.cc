// A single command of an image that names nothing to resolve: started before libc is up
// (init/early). Nobody may see a difference to a start from main().

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/rules/job.h"
#include "tests/rules/shell.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

class Early : public rules::EitherWay {
 protected:
  // No variable of ours; as PID 1 with a /run of its own.
  [[nodiscard]] Spec plain(const Words& command) const {
    Spec spec{.args = joined({"--"}, command),
              .env = {"PATH=" + path("bin") + ":/usr/bin:/bin", "PAYLOAD_OUT=" + path("out"),
                      "HERE=" + path("")},
              .pid1 = GetParam()};
    if (GetParam()) spec.before = [] { ::mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); };
    return spec;
  }
  [[nodiscard]] Spec after(const Words& command, std::function<void()> also) const {
    Spec spec = plain(command);
    spec.before = [first = spec.before, also = std::move(also)] {
      if (first) first();
      also();
    };
    return spec;
  }
};
RULES_EITHER_WAY(Early);

TEST_P(Early, GivesTheCommandsCode) {
  for (const int code : {0, 1, 7, 125, 126, 127, 255}) {
    const Result result = rules::run(plain(rules::shell("exit " + std::to_string(code))));
    EXPECT_EQ(result.code, code);
    EXPECT_THAT(result.out, IsEmpty());
  }
  EXPECT_EQ(rules::run(plain(rules::shell("kill -9 $$"))).code, 137);
  EXPECT_EQ(rules::run(plain(rules::shell("kill -11 $$"))).code, 139);
}

TEST_P(Early, SaysWhyACommandFailed) {
  EXPECT_THAT(rules::run(plain(rules::shell("exit 3"))).err,
              HasSubstr("first failure: main exited with code 3"));
}

TEST_P(Early, SearchesThePathAsExecvpDoes) {
  ::mkdir(path("bin").c_str(), 0755);
  EXPECT_EQ(rules::run(plain({"true"})).code, 0);
  EXPECT_EQ(rules::run(plain({rules::payload(), "exit", "4"})).code, 4);
  EXPECT_EQ(rules::run(plain({"no-such-program"})).code, 127);
  EXPECT_EQ(rules::run(plain({"/no/such/program"})).code, 127);
  EXPECT_EQ(rules::run(plain({"/"})).code, 126);
  // A text without #! goes to sh, a file without its mode is passed over.
  write("bin/script", "exit 6\n");
  fs::permissions(path("bin/script"), fs::perms::owner_all);
  EXPECT_EQ(rules::run(plain({"script"})).code, 6);
  write("bin/true", "exit 9\n");
  fs::permissions(path("bin/true"), fs::perms::owner_read);
  EXPECT_EQ(rules::run(plain({"true"})).code, 0);
  const Result odd = rules::run(plain({""}));
  EXPECT_EQ(odd.code, 127);
  EXPECT_THAT(odd.err, HasSubstr("empty command name"));
}

// Hooks are main()'s to find, and to run first.
TEST_P(Early, IsNotForAnImageWithHooks) {
  const std::string script = "#!/bin/sh\necho hooked >" + path("hooked") + "\n";
  const Result result = rules::run(after(rules::shell("cat " + path("hooked")), [script] {
    ::unshare(CLONE_NEWNS);
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    ::mount("tmpfs", "/etc", "tmpfs", 0, "mode=755");
    fs::create_directories("/etc/trainit/hooks/pre-start.d");
    std::ofstream("/etc/trainit/hooks/pre-start.d/10-mark") << script;
    ::chmod("/etc/trainit/hooks/pre-start.d/10-mark", 0755);
  }));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "hooked\n");
}

TEST_P(Early, TakesAnAbsolutePathWithoutDashes) {
  Spec spec = plain({});
  spec.args = {"/bin/sh", "-c", "exit 5"};
  EXPECT_EQ(rules::run(spec).code, 5);
}

TEST_P(Early, HandsOnEveryFileThatExecWould) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const Result result =
      rules::run(after(rules::shell("echo through >&9"), [end = ends[1]] { ::dup2(end, 9); }));
  EXPECT_EQ(result.code, 0);
  ::close(ends[1]);
  EXPECT_EQ(read("/proc/self/fd/" + std::to_string(ends[0])), "through\n");
  ::close(ends[0]);
}

// Whoever reads the other end must see its end although trainit lives on.
TEST_P(Early, KeepsNoDescriptorOfTheCaller) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  Instance instance(after(
      {"/bin/sh", "-c", "exec 9>&-; exec " + rules::payload() + " sleep-forever"}, [end = ends[1]] {
        ::dup2(end, 9);
        ::close(end);
      }));
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
  EXPECT_TRUE(instance.alive());
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// Of the first moment, too: sent before libc is up it waits in the queue.
TEST_P(Early, AnswersASignalOfTheFirstMoment) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const Words unblock = {"/usr/bin/python3", "-c",
                           "import signal as s\n"
                           "s.signal(s.SIGINT, s.SIG_DFL)\n"
                           "s.pthread_sigmask(s.SIG_SETMASK, [])\n"
                           "s.pause()"};
    Instance instance(after(unblock, [signal] {
      sigset_t all;
      ::sigfillset(&all);
      ::sigprocmask(SIG_BLOCK, &all, nullptr);
      ::kill(::getpid(), signal);
    }));
    EXPECT_EQ(instance.wait(), 128 + signal);
  }
}

TEST_P(Early, ForwardsInTheOrderOfArrival) {
  Instance instance(plain({rules::payload(), "record-signals"}));
  await_told("ready-0");
  for (int i = 0; i < 3; ++i) instance.signal(SIGRTMIN + 2);
  instance.signal(SIGUSR1);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(told("signals-0"), HasSubstr("USR1"));
}

TEST_P(Early, LetsLeftoversSave) {
  Instance instance(
      plain(rules::shell("setsid sh -c 'trap \"echo saved > $HERE/saved; exit\" TERM; "
                         "echo > $HERE/out/worker; while :; do sleep 1; done' & "
                         "until [ -e $HERE/out/worker ]; do :; done; exit 0")));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(read(path("saved")), "saved\n");
}

TEST_P(Early, WorksWhereTheCallerIgnoresSigchld) {
  EXPECT_EQ(rules::run(after(rules::shell("exit 8"), [] { ::signal(SIGCHLD, SIG_IGN); })).code, 8);
}

TEST_P(Early, LeavesMaskAndIgnoredSignalsAsTheyWere) {
  const Words show = {"/bin/grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"};
  auto caller = [] {
    sigset_t some;
    ::sigemptyset(&some);
    ::sigaddset(&some, SIGUSR2);
    ::sigprocmask(SIG_SETMASK, &some, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
  };
  const Result result = rules::run(after(show, caller));
  EXPECT_THAT(result.out, HasSubstr("SigBlk:\t0000000000000800"));
  EXPECT_THAT(result.out, HasSubstr("SigIgn:\t0000000000001001"));
}

TEST_P(Early, PublishesItsStateWhenTheCommandRunsOn) {
  if (!GetParam()) GTEST_SKIP() << "/run is the machine's";
  Instance instance(plain(rules::shell("until [ -S /run/trainit/control ]; do :; done; " +
                                       rules::trainit() + " status; exit $?")));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(instance.out(), HasSubstr("running"));
}

TEST_P(Early, DiesWithItsParentsKill) {
  if (GetParam()) GTEST_SKIP() << "the kernel does it";
  Instance instance(plain({rules::payload(), "sleep-forever"}));
  await_told("ready-0");
  const pid_t command = std::stoi(told("ready-0"));
  instance.signal(SIGKILL);
  EXPECT_EQ(instance.wait(), 137);
  // A zombie until the machine's PID 1 looks at it; the suite's time-out bounds it.
  const std::string alive = "RSDT";
  while (alive.find(rules::state_of(command)) != std::string::npos) ::sched_yield();
}

}  // namespace
