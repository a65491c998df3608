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
#include <functional>
#include <map>
#include <sstream>
#include <vector>

#include "base/hook_condition.h"
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
using testing::Not;
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
  EXPECT_THAT(rules::run(plain(rules::shell("exit 3"))).err, Not(HasSubstr("code of shells")));
}

TEST_P(Early, ExplainsTheCodesWithWhichShellsReportSignals) {
  for (const auto& [code, why] :
       {std::pair(139, "SIGSEGV has killed"), std::pair(137, "SIGKILL has killed"),
        std::pair(143, "SIGTERM has killed"), std::pair(126, "cannot execute"),
        std::pair(127, "do not find")}) {
    EXPECT_THAT(rules::run(plain(rules::shell("exit " + std::to_string(code)))).err,
                HasSubstr(why));
  }
  EXPECT_THAT(rules::run(plain(rules::shell("exit 200"))).err, Not(HasSubstr("code of shells")));
}

TEST_P(Early, SaysByWhatItWasStopped) {
  Instance instance(
      plain(rules::shell("trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done")));
  instance.await_out("up");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 7);
  EXPECT_THAT(instance.err(), HasSubstr("stopped by SIGTERM, exit code 7"));
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

// With the hooks of `sources`, "pre-start.d/10-mark" and its text; its own /etc.
std::function<void()> install_hooks(std::map<std::string, std::string> sources) {
  return [sources = std::move(sources)] {
    const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                     ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                     ::mount("tmpfs", "/etc", "tmpfs", 0, "mode=755") == 0;
    if (!own) ::_exit(99);
    for (const auto& [name, text] : sources) {
      const fs::path file = "/etc/trainit/hooks/" + name;
      fs::create_directories(file.parent_path());
      std::ofstream(file) << text;
      ::chmod(file.c_str(), 0755);
    }
  };
}

// Hooks that may apply are main()'s to run, and run first.
TEST_P(Early, IsNotForAnImageWithHooks) {
  const std::string mark = "echo hooked >>" + path("hooked") + "\n";
  // TRAINIT_NODE_COUNT: what each hook is given counts as well.
  for (const std::string when :
       {"", "# trainit-when: nodes HERE\n", "# trainit-when: unknown\n",
        "# trainit-when: nodes TRAINIT_NODE_COUNT\n", "# trainit-when:\n"}) {
    fs::remove(path("hooked"));
    const Result result =
        rules::run(after(rules::shell("cat " + path("hooked")),
                         install_hooks({{"pre-start.d/10-mark", "#!/bin/sh\n" + when + mark}})));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "hooked\n") << when;
  }
  const Result other = rules::run(
      after(rules::shell("until [ -e " + path("hooked") + " ]; do :; done"),
            install_hooks({{"post-start.d/10-mark", "#!/bin/sh\n# trainit-when: nodes\n:\n"},
                           {"post-start.d/20-mark", "#!/bin/sh\n" + mark}})));
  EXPECT_EQ(other.code, 0) << other.err;
}

// Else a hook with the name of one in its condition would not run before the command.
TEST_P(Early, KnowsWhatEachHookIsGiven) {
  const auto hooks = install_hooks(
      {{"pre-start.d/10-tell",
        "#!/bin/sh\nenv | sed -n 's/^\\(TRAINIT_[A-Z_]*\\)=.*/\\1/p' >" + path("given") + "\n"}});
  EXPECT_EQ(rules::run(after(rules::shell(":"), hooks)).code, 0);
  std::istringstream names(read(path("given")));
  int count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    const hook_condition::Word word{name.data(), static_cast<long>(name.size())};
    EXPECT_TRUE(hook_condition::is_given(word)) << name;
  }
  EXPECT_GT(count, 8);
}

// A condition is no way to switch off what others may change: main() refuses it.
TEST_P(Early, BelievesNoHookThatOthersMayChange) {
  const auto hooks =
      install_hooks({{"pre-start.d/10-check", "#!/bin/sh\n# trainit-when: nodes\nexit 1\n"}});
  const std::string directory = "/etc/trainit/hooks/pre-start.d";
  const std::string hook = directory + "/10-check";
  const std::vector<std::function<int()>> changes = {
      [hook] { return ::chmod(hook.c_str(), 0777); },
      [hook] { return ::chown(hook.c_str(), 1234, 0); },
      [directory] { return ::chmod(directory.c_str(), 0777); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Result result =
        rules::run(after(rules::shell("echo started"), [hooks, change = changes[i]] {
          hooks();
          if (change() != 0) ::_exit(99);
        }));
    EXPECT_EQ(result.code, 125) << i;
    EXPECT_THAT(result.out, IsEmpty()) << i;
    EXPECT_THAT(result.err, HasSubstr("others may change it")) << i;
  }
}

// Of hooks that say that they do not apply, and of those after a failure, nothing is seen before.
TEST_P(Early, IsForAnImageWhoseHooksDoNotApply) {
  const std::string mark =
      "echo $TRAINIT_HOOK $TRAINIT_EXIT_CODE $TRAINIT_RESTART_COUNT "
      "$TRAINIT_WORLD_SIZE $(pwd) >>" +
      path("hooked") + "\n";
  const auto hooks =
      install_hooks({{"pre-start.d/10-nodes", "#!/bin/sh\n# trainit-when: nodes\n" + mark},
                     {"pre-start.d/20-set", "#!/bin/sh\n# trainit-when: NOT_SET ranks\n" + mark},
                     {"on-failure.d/10-say", "#!/bin/sh\n" + mark},
                     {"on-failure.d/20-nodes", "#!/bin/sh\n# trainit-when: nodes\n" + mark},
                     {"stall.d/10-say", "#!/bin/sh\n" + mark},
                     {"README.md", "no hook\n"}});
  // Started by main() in an image with hooks, it would have TRAINIT_RESTART_COUNT.
  const Words plain_one = rules::shell("test -z \"$TRAINIT_RESTART_COUNT\"");
  EXPECT_EQ(rules::run(after(plain_one, hooks)).code, 0);
  EXPECT_FALSE(fs::exists(path("hooked")));
  const Result failed = rules::run(after(rules::shell("exit 3"), hooks));
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.err, HasSubstr("first failure: main exited with code 3"));
  EXPECT_EQ(read(path("hooked")), "on-failure 3 0 1 " + fs::current_path().string() + "\n");
}

TEST_P(Early, StopsACommandWhoseImageHasHooksInItsGrace) {
  Instance instance(after({rules::payload(), "record-signals"},
                          install_hooks({{"on-failure.d/10-say", "#!/bin/sh\n:\n"}})));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(told("signals-0"), HasSubstr("TERM"));
}

// They say how the command ends, not whether something has to be resolved before it starts.
TEST_P(Early, TakesOptionsOfTheEnd) {
  Spec spec = plain(rules::shell("env | grep -c ^TRAINIT_; exit 3"));
  spec.env.insert(spec.env.end(), {"TRAINIT_GRACE=28s", "TRAINIT_STOP_SCOPE=tree",
                                   "TRAINIT_EXIT_CODES=0=4,3=7", "TRAINIT_LOG_FORMAT=json"});
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_EQ(result.out, "0\n") << "they are not for the command";
  EXPECT_THAT(result.err, HasSubstr("\"message\":"));
  spec.args = {"--", "/bin/true"};
  EXPECT_EQ(rules::run(spec).code, 4);
}

TEST_P(Early, RefusesABadOptionBeforeItStartsAnything) {
  Spec spec = plain(rules::shell("echo started"));
  spec.env.emplace_back("TRAINIT_GRACE=soon");
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.out, IsEmpty());
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
  Instance instance(
      plain(rules::shell("until grep -qs running /run/trainit/state.json; do :; done; " +
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
