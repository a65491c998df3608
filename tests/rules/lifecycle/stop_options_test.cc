// How a job ends, as far as it can be chosen: --stop-scope, --escalate, --exit-codes; and what is
// said about an end that is not a good one.

#include <gmock/gmock.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

int count(const std::string& text, const std::string& line) {
  int found = 0;
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) found += one == line ? 1 : 0;
  return found;
}

const Words kFamily = {"main", "sibling", "group", "session", "orphan"};

void await_each(Instance& instance, const Words& names, const std::string& what) {
  for (const std::string& name : names) instance.await_out(name + " " + what + "\n");
}

// The main process of a family ends, the others have their TERM as leftovers unless they had it
// before, and then the KILL.
void finish(Instance& instance) {
  instance.signal(SIGUSR1);
  instance.await_out("late TERM\n");
  await_each(instance, kFamily, "TERM");
  while (instance.alive()) instance.signal(SIGINT);
  EXPECT_EQ(instance.wait(), 0);
}

// --- --stop-scope: whom it reaches, each once ---

// As PID 1 or not, and the scope with those whom it reaches.
struct Reach {
  std::string scope;
  Words told;
};
class Scope : public rules::JobTest, public testing::WithParamInterface<std::tuple<bool, Reach>> {
 protected:
  [[nodiscard]] Spec family() const {
    // A real-time signal is counted as often as it is sent, however quickly.
    return {.args = {"--stop-scope", std::get<1>(GetParam()).scope, "--grace", "1h", "--escalate",
                     "RTMIN+1@1ms", "--", rules::payload(), "family"},
            .env = env(),
            .pid1 = std::get<0>(GetParam())};
  }
  [[nodiscard]] const Words& reached() const { return std::get<1>(GetParam()).told; }
};

TEST_P(Scope, IsSignalledEachProcessOnce) {
  Instance instance(family());
  instance.await_out("up\n");
  instance.signal(SIGTERM);
  await_each(instance, reached(), "TERM");
  await_each(instance, reached(), "35");
  finish(instance);
  for (const std::string& name : kFamily) {
    const bool told = std::ranges::find(reached(), name) != reached().end();
    EXPECT_EQ(count(instance.out(), name + " 35"), told ? 1 : 0) << name;
    EXPECT_EQ(count(instance.out(), name + " TERM"), 1)
        << name << ": once, at the stop or as a leftover";
  }
}

INSTANTIATE_TEST_SUITE_P(Run, Scope,
                         testing::Combine(testing::Values(true, false),
                                          testing::Values(Reach{"main", {"main"}},
                                                          Reach{"group", {"main", "sibling"}},
                                                          Reach{"tree", kFamily})),
                         [](const auto& value) {
                           return std::get<1>(value.param).scope +
                                  (std::get<0>(value.param) ? "AsPid1" : "NotPid1");
                         });

class StopOptions : public rules::EitherWay {};
RULES_EITHER_WAY(StopOptions);

TEST_P(StopOptions, OfSeveralRanksEachOnesGroupIsSignalledOnce) {
  Instance instance(spec(ranks(2, {rules::payload(), "family"},
                               {"--output", "inherit", "--stop-scope", "group", "--escalate",
                                "RTMIN+1@1ms", "--grace", "1h"})));
  instance.await_out("0/up\n");
  instance.await_out("1/up\n");
  instance.signal(SIGTERM);
  const Words told = {"0/main", "0/sibling", "1/main", "1/sibling"};
  await_each(instance, told, "35");
  while (instance.alive()) instance.signal(SIGINT);
  EXPECT_EQ(instance.wait(), 143);
  for (const std::string& name : told) EXPECT_EQ(count(instance.out(), name + " 35"), 1) << name;
  EXPECT_THAT(instance.out(), Not(HasSubstr("session 35")));
}

// `docker exec` and nsenter: a process whose parent is outside.
class StopOfTheTree : public rules::JobTest {};

TEST_F(StopOfTheTree, SparesWhatWasInjected) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a pid namespace";
  Instance instance({.args = {"--stop-scope", "tree", "--grace", "1h", "--escalate", "RTMIN+1@1ms",
                              "--", rules::payload(), "family"},
                     .env = env()});
  instance.await_out("up\n");
  const child::Pipe up = child::make_pipe();
  const child::Pipe end = child::make_pipe();
  const pid_t helper = ::fork();
  if (helper == 0) {
    const std::string space = "/proc/" + std::to_string(instance.pid()) + "/ns/pid";
    const sys::Fd fd(::open(space.c_str(), O_RDONLY | O_CLOEXEC));
    if (::setns(fd.get(), CLONE_NEWPID) != 0) ::_exit(99);
    const pid_t injected = ::fork();
    if (injected == 0) {
      char byte = 'u';
      if (::write(up.in.get(), &byte, 1) != 1 || ::read(end.out.get(), &byte, 1) != 1) ::_exit(98);
      ::_exit(7);
    }
    int status = 0;
    ::waitpid(injected, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  char byte = 0;
  ASSERT_EQ(::read(up.out.get(), &byte, 1), 1);
  instance.signal(SIGTERM);
  instance.await_out("orphan 35\n");
  ASSERT_EQ(::write(end.in.get(), "e", 1), 1);
  int status = 0;
  ::waitpid(helper, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7) << "it was signalled";
  while (instance.alive()) instance.signal(SIGINT);
  instance.wait();
}

// Without a /proc of its own nobody can be told apart. Below the namespace's own one lies that of
// the machine, whose numbers are other processes.
class WithoutProc : public rules::JobTest, public testing::WithParamInterface<int> {};

TEST_P(WithoutProc, AStopOfTheTreeReachesAllOnceAndSoDoesTheEnd) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a pid namespace";
  Spec family{.args = {"--stop-scope", "tree", "--grace", "1h", "--escalate", "RTMIN+1@1ms", "--",
                       rules::payload(), "family"},
              .env = env()};
  family.before = [mounts = GetParam()] {
    for (int i = 0; i < mounts; ++i) ::umount2("/proc", MNT_DETACH);
  };
  Instance instance(family);
  instance.await_out("up\n");
  instance.signal(SIGTERM);
  await_each(instance, kFamily, "35");
  while (instance.alive()) instance.signal(SIGINT);
  EXPECT_EQ(instance.wait(), 137);
  for (const std::string& name : kFamily) {
    EXPECT_EQ(count(instance.out(), name + " TERM"), 1) << name;
    EXPECT_EQ(count(instance.out(), name + " 35"), 1) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Run, WithoutProc, testing::Values(1, 2), [](const auto& value) {
  return value.param == 1 ? "TheMachinesIsSeen" : "NoneAtAll";
});

// --- --escalate ---

TEST_P(StopOptions, EachStepOfTheEscalationComesAtItsTime) {
  Instance instance(spec({"--grace", "1h", "--escalate", "INT@100ms,RTMIN+1@200ms", "--",
                          rules::payload(), "family"}));
  instance.await_out("up\n");
  const std::int64_t before = instance.age_ms();
  instance.signal(SIGTERM);
  instance.await_out("main INT\n");
  EXPECT_GE(instance.age_ms() - before, 100);
  instance.await_out("main 35\n");
  EXPECT_GE(instance.age_ms() - before, 200);
  // Of signals that come while the process has no CPU the kernel gives the lowest number first.
  EXPECT_THAT(instance.out(), AnyOf(HasSubstr("main TERM\nmain INT\nmain 35\n"),
                                    HasSubstr("main INT\nmain TERM\nmain 35\n")));
  finish(instance);
}

TEST_P(StopOptions, AStepThatEndsTheJobIsItsOwnEnd) {
  const Result result =
      rules::run(spec({"--grace", "1h", "--escalate", "INT@10ms,QUIT@20ms", "--", "/bin/sh", "-c",
                       "trap '' TERM INT; ulimit -c 0; kill $PPID; exec sleep 1000"}));
  EXPECT_EQ(result.code, 131);
  EXPECT_THAT(result.err, Not(HasSubstr("first failure")));
}

TEST_P(StopOptions, AKillAmongTheStepsIsAnEarlierKill) {
  Instance instance(
      spec({"--grace", "1h", "--escalate", "KILL@50ms", "--", rules::payload(), "ignore-term"}));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 137);
}

TEST_P(StopOptions, AStepBehindTheKillIsLeftOutAndSaidSo) {
  Instance instance(
      spec({"--grace", "400ms", "--escalate", "INT@10s", "--", rules::payload(), "ignore-term"}));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 137);
  EXPECT_EQ(instance.lines_with("SIGINT after 10 s is left out, because SIGKILL comes 0.1 s after "
                                "the stop signal"),
            1);
  const Result plan =
      tool({"plan", "--verbose", "--grace", "400ms", "--escalate", "INT@10s", "--", "true"});
  EXPECT_THAT(plan.out, HasSubstr("warning: --escalate: SIGINT after 10 s is left out"));
}

// --- --exit-codes ---

TEST_P(StopOptions, TheContainersCodeIsTheOneThatWasChosenForTheJobs) {
  struct Case {
    std::string rules;
    std::string code;
    int given;
  };
  for (const Case& one : {Case{"3=0", "3", 0}, Case{"1-3=75,2=9", "2", 75}, Case{"1-3=75", "4", 4},
                          Case{"0=5", "0", 5}}) {
    const Result result =
        rules::run(spec({"--exit-codes", one.rules, "--", rules::payload(), "exit", one.code}));
    EXPECT_EQ(result.code, one.given) << one.rules;
    const std::string line =
        "exit code " + one.code + ", given as " + std::to_string(one.given) + " (--exit-codes)";
    const bool changed = one.code != std::to_string(one.given);
    EXPECT_EQ(result.err.find(line) != std::string::npos, changed) << result.err;
  }
}

TEST_P(StopOptions, AStoppedJobCanBeASuccess) {
  Instance instance(spec({"--exit-codes", "143=0", "--", rules::payload(), "sleep-forever"}));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(instance.lines_with("exit code 143, given as 0 (--exit-codes)"), 1);
}

TEST_P(StopOptions, TheStateTellsBothCodesAndTheMessageTheJobs) {
  const Result result = rules::run(
      spec(ranks(2, {rules::payload(), "on-rank", "1", "exit", "3", "else", "sleep-forever"},
                 {"--exit-codes", "3=75"})));
  EXPECT_EQ(result.code, 75);
  EXPECT_THAT(result.err, HasSubstr("exited with code 3"));
  const std::string state = read(path("run/state.json"));
  EXPECT_THAT(state, testing::ContainsRegex("\"exit_code\": ?3,"));
  EXPECT_THAT(state, testing::ContainsRegex("\"given_exit_code\": ?75,"));
  EXPECT_THAT(tool({"status"}).out, HasSubstr("exit code 3, given as 75\n"));
}

// --- What is wrong with the options ends it before anything starts ---

TEST_P(StopOptions, WrongOnesAreOneLineAndStartNothing) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"--stop-scope", "all"},      {"--stop-scope", ""},          {"--escalate", "INT"},
      {"--escalate", "NOSIG@1s"},   {"--escalate", "INT@soon"},    {"--escalate", "INT@5s,QUIT@3s"},
      {"--escalate", "INT@1s,"},    {"--escalate", "99@1s"},       {"--exit-codes", "1"},
      {"--exit-codes", "256=0"},    {"--exit-codes", "3-1=0"},     {"--exit-codes", "1=256"},
      {"--exit-codes", "125=0,=1"}, {"--exit-codes", "-1=0"},      {"--signal", "TREM=INT"},
      {"--signal", "KILL=INT"},     {"--second-term", "wait"},     {"--drain", "1h"},
      {"--hook-timeout", "0"},      {"--fatal-hooks", "pre-stop"}, {"--min-nodes", "2"},
      {"--restart-delay", "5s"},    {"--no-restart-on", "1"},      {"--checkpoint-timeout", "0"},
  };
  for (const auto& [option, value] : wrong) {
    const Result result = rules::run(spec({option, value, "--", "/bin/sh", "-c", "echo started"}));
    EXPECT_EQ(result.code, 125) << option << " " << value;
    EXPECT_EQ(result.out, "") << option << " " << value;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(option));
  }
}

// --- What is said about an end ---

TEST_P(StopOptions, TheCauseOfASingleCommandsDeathIsOneLine) {
  const Result signal = rules::run(spec({"--", rules::payload(), "kill-self", "KILL"}));
  EXPECT_EQ(signal.code, 137);
  EXPECT_EQ(std::ranges::count(signal.err, '\n'), 1) << signal.err;
  EXPECT_THAT(signal.err, HasSubstr("was killed by SIGKILL"));
  const Result code = rules::run(spec({"--", rules::payload(), "exit", "9"}));
  EXPECT_EQ(std::ranges::count(code.err, '\n'), 1) << code.err;
  EXPECT_THAT(code.err, HasSubstr("exited with code 9"));
}

// Whoever signals one comes too late; the kernel, which ends a pid namespace with its PID 1, does
// not. As another process nobody can promise it: Reaping.EndsABreedThatDoesNotHearTerm has what
// can.
TEST_P(StopOptions, WhatBreedsOnIsEndedWithTheJob) {
  if (!GetParam()) GTEST_SKIP() << "only PID 1 ends its namespace";
  ::mkfifo(path("held").c_str(), 0600);
  const sys::Fd held(::open(path("held").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Instance instance(spec(
      {"--grace", "1s", "--", "/bin/sh", "-c",
       "trap '' TERM; exec 3> $HERE/held; trap - TERM; exec " + rules::payload() + " runners 8"}));
  instance.await_out("up\n");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
  // The last that has it open has ended.
  constexpr int kLimitMs = 180'000;
  pollfd open{held.get(), 0, 0};
  EXPECT_EQ(::poll(&open, 1, kLimitMs), 1) << "some breed on";
  EXPECT_NE(open.revents & POLLHUP, 0);
}

// A file system that takes a request and never answers: whoever asked is beyond SIGKILL.
class DeafMount {
 public:
  explicit DeafMount(std::string path)
      : path_(std::move(path)), fd_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    ::mkdir(path_.c_str(), 0755);
  }
  [[nodiscard]] bool valid() const { return fd_.valid(); }
  // By the process that is to hang, in a namespace of its own.
  void mount() const {
    if (::unshare(CLONE_NEWNS) != 0) ::_exit(97);
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(97);
    const std::string options =
        "fd=" + std::to_string(fd_.get()) + ",rootmode=40000,user_id=0,group_id=0";
    if (::mount("deaf", path_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      ::_exit(97);
    if (::write(mounted_.in.get(), "m", 1) != 1) ::_exit(97);
  }
  // Agrees on the protocol, and takes the first request.
  void take_one() {
    char byte = 0;
    ASSERT_EQ(::read(mounted_.out.get(), &byte, 1), 1);
    fuse_in_header header = take();
    ASSERT_EQ(header.opcode, static_cast<std::uint32_t>(FUSE_INIT));
    struct {
      fuse_out_header header;
      fuse_init_out init;
    } answer{};
    answer.header = {sizeof answer, 0, header.unique};
    answer.init.major = FUSE_KERNEL_VERSION;
    answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
    answer.init.max_write = 4096;
    ASSERT_EQ(::write(fd_.get(), &answer, sizeof answer), static_cast<ssize_t>(sizeof answer));
    take();
  }
  void let_go() { fd_.reset(); }

 private:
  fuse_in_header take() {
    std::array<char, 1 << 16> request{};
    fuse_in_header header{};
    EXPECT_GE(::read(fd_.get(), request.data(), request.size()),
              static_cast<ssize_t>(sizeof header));
    std::memcpy(&header, request.data(), sizeof header);
    return header;
  }

  std::string path_;
  child::Pipe mounted_ = child::make_pipe();
  sys::Fd fd_;
};

TEST_P(StopOptions, WhatSigkillDoesNotEndIsNamedAndNotWaitedFor) {
  DeafMount deaf(path("deaf"));
  if (!deaf.valid() || !rules::may_unshare()) GTEST_SKIP() << "needs FUSE and namespaces";
  Spec hanging = spec({"--grace", "400ms", "--", "/bin/sh", "-c", "exec cat $HERE/deaf/file"});
  hanging.before = [&deaf] { deaf.mount(); };
  Instance instance(hanging);
  deaf.take_one();
  instance.signal(SIGTERM);
  instance.await_err("outlived SIGKILL, going on without: pid ");
  instance.await_err("(cat), state D");
  // The kernel keeps a PID 1 that has exited until its namespace is empty. Let go, the process ends
  // by the TERM that it has had first, which may be seen before the exit.
  if (GetParam()) deaf.let_go();
  EXPECT_THAT(instance.wait(), testing::AnyOf(137, GetParam() ? 143 : 137));
  deaf.let_go();
}

}  // namespace
