// Rules 1 to 3: one thread, calls that older kernels and seccomp profiles lack, signals from the
// first moment on. And what a process finds: environment, descriptors, exit codes.

#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "init/sys/clock.h"
#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
using testing::Not;

class Process : public rules::EitherWay {};
RULES_EITHER_WAY(Process);

// --- 1. One thread; nothing that a static libc cannot do ---

TEST_P(Process, HasOneThread) {
  Instance instance(spec(ranks(2, {rules::payload(), "sleep-forever"})));
  await_told("ready-1");
  EXPECT_EQ(instance.status_kb("Threads"), 1);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// What a job of weeks holds in each container: a page more for each address in a constant, for what
// the start has left on the heap, and for what lies on the stack of the loop.
TEST_P(Process, HoldsLittleMemoryOnceAllThatAStartLeavesIsDone) {
  for (const auto& [arguments, most_kb] :
       {std::pair{ranks(1, {rules::payload(), "print-signals", "TERM"}), 152L},
        std::pair{Words{"--", rules::payload(), "print-signals", "TERM"}, 140L}}) {
    Instance instance(spec(arguments));
    // Before that, PID 1 may be a copy of this process, which ignores SIGTERM.
    ASSERT_TRUE(instance.await_out("ready"));
    // Nothing tells that it is done.
    TestTimeout timeout;
    long held_kb = instance.status_kb("RssAnon");
    while (held_kb > most_kb && timeout.is_left()) {
      ::poll(nullptr, 0, 50);
      held_kb = instance.status_kb("RssAnon");
    }
    EXPECT_LE(held_kb, most_kb);
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 143);
  }
}

// A constant that could be written to is no constant, and lies in pages of each process's own.
// (std::array with deduced arguments is one, GCC 12; std::to_array is not.)
TEST(Objects, KeepTheirConstantsWhereNothingCanWriteThem) {
  const Result constants =
      rules::run({.args = {"sh", "-c",
                           "objdump -t \"$0\" | "
                           "sed -nE 's/.* (\\.data(\\.rel\\.ro)?)\t[0-9a-f]+ +(_Z[A-Za-z0-9_]*[0-9]"
                           "k[A-Z][A-Za-z0-9_.]*)$/\\1 \\3/p'",
                           rules::trainit() + ".symbols"},
                  .env = {"PATH=/usr/bin:/bin"},
                  .pid1 = false,
                  .program = "/bin/sh"});
  const std::string lines = "\n" + constants.out;
  EXPECT_THAT(lines, HasSubstr("\n.data.rel.ro _Z")) << "it has looked at nothing";
  EXPECT_THAT(lines, Not(HasSubstr("\n.data _Z")));
}

TEST(Objects, NeedNothingThatAStaticLibcLacksOrAThreadBehindOurBack) {
  const std::string folder = std::filesystem::path(rules::trainit()).parent_path();
  const Result symbols =
      rules::run({.args = {"sh", "-c",
                           "nm -u " + folder + "/libinit_*.a " + folder + "/libenvgen.a " + folder +
                               "/liblifecycle.a | sed -n 's/^ *[Uw] //p' | sort -u"},
                  .env = {"PATH=/usr/bin:/bin"},
                  .pid1 = false,
                  .program = "/bin/sh"});
  std::set<std::string> used;
  std::istringstream lines(symbols.out);
  for (std::string line; std::getline(lines, line);) used.insert(line);
  ASSERT_TRUE(used.contains("waitid")) << symbols.err;
  for (const char* denied :
       {"pthread_create",
        "posix_spawn",
        "posix_spawnp",
        "getaddrinfo",
        "gethostbyname",
        "getpwnam",
        "getpwuid",
        "getpwnam_r",
        "getpwuid_r",
        "getgrnam",
        "getgrgid",
        "initgroups",
        "setlocale",
        "newlocale",
        "iconv",
        "iconv_open",
        "dlopen",
        "dlsym",
        "system",
        "popen",
        "syslog",
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"}) {
    EXPECT_FALSE(used.contains(denied)) << denied;
  }
}

// --- 2, 3. Kernels and profiles ---

// What Linux 4.19 lacks.
const std::vector<long> kNewCalls = {
    SYS_clone3,      SYS_close_range,       SYS_openat2,      SYS_faccessat2,      SYS_pidfd_open,
    SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_epoll_pwait2, SYS_process_mrelease};

TEST_P(Process, RunsWhereNewerCallsAreRefused) {
  for (int error : {EPERM, ENOSYS}) {
    Spec refused = spec(ranks(2, rules::shell("exit $((RANK_ID * 4))")));
    refused.before = [error] { rules::refuse_calls(kNewCalls, error); };
    const Result result = rules::run(refused);
    EXPECT_EQ(result.code, 4) << result.err;
    refused.args = {"--", "/bin/sh", "-c", "exit 6"};
    EXPECT_EQ(rules::run(refused).code, 6);
  }
}

TEST(NotPid1, GoesOnWhereItMayNotBecomeASubreaper) {
  const Result result = rules::run(
      {.args = {"--", "/bin/sh", "-c", "exit 6"}, .env = {}, .pid1 = false, .before = [] {
         rules::refuse_calls({SYS_prctl}, EPERM);
       }});
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning"), HasSubstr("PR_SET_CHILD_SUBREAPER")));
}

// --- 3. Signals ---

void set_odd_signals() {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  for (int signal : {SIGUSR2, SIGTSTP, SIGRTMIN + 5}) ::sigaddset(&blocked, signal);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  for (int signal : {SIGHUP, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_IGN);
}

TEST_P(Process, HasTheMaskAndTheIgnoredSignalsOfTheCaller) {
  const Words show = {rules::payload(), "status", "SigBlk", "SigIgn", "SigCgt"};
  Spec plain{.args = show, .env = env(), .pid1 = GetParam(), .program = rules::payload()};
  plain.before = set_odd_signals;
  const std::string wanted = rules::run(plain).out;
  ASSERT_THAT(wanted, HasSubstr("SigIgn"));
  Spec single = spec(joined({"--"}, show));
  single.before = set_odd_signals;
  EXPECT_EQ(rules::run(single).out, wanted);
  Spec several = spec(ranks(2, show));
  several.before = set_odd_signals;
  EXPECT_EQ(rules::run(several).out, wanted);
  EXPECT_EQ(log_of(1), wanted);
}

TEST_P(Process, GoesOnWithLimitsNicenessAndUmaskOfTheCaller) {
  const Words show = rules::shell("umask; nice; ulimit -S -n; cat /proc/self/oom_score_adj");
  auto odd = [] {
    ::umask(013);
    ::setpriority(PRIO_PROCESS, 0, 7);
    const rlimit files{77, 99};
    ::setrlimit(RLIMIT_NOFILE, &files);
  };
  Spec single = spec(joined({"--"}, show));
  single.before = odd;
  Spec plain{.args = show, .env = env(), .pid1 = GetParam(), .before = odd, .program = "/bin/sh"};
  EXPECT_EQ(rules::run(single).out, rules::run(plain).out);
}

// From the moment at which all signals are blocked, a stop request counts.
TEST_P(Process, LosesNoStopRequestOfItsFirstMoments) {
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    Instance instance(spec({"--", rules::payload(), "sleep-forever"}));
    const std::string file = "/proc/" + std::to_string(instance.pid()) + "/status";
    TestTimeout timeout;
    while (read(file).find("SigBlk:\tfffffffffffbfeff") == std::string::npos) {
      ASSERT_TRUE(instance.alive());
      ASSERT_TRUE(timeout.is_left()) << "they are not all blocked";
    }
    instance.signal(SIGTERM);
    ASSERT_EQ(instance.wait(), 143) << "round " << round;
  }
}

TEST_P(Process, HasEverySignalBlockedAlsoWhenItHasWrittenItsState) {
  Instance instance(spec({"--", rules::payload(), "sleep-forever"}));
  await_told("ready-0");
  TestTimeout timeout;
  while (read(path("run/state.json")).find("running") == std::string::npos) {
    ASSERT_TRUE(timeout.is_left());
  }
  EXPECT_THAT(read("/proc/" + std::to_string(instance.pid()) + "/status"),
              HasSubstr("SigBlk:\tfffffffffffbfeff"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_P(Process, EndsUnderAHailOfStopRequestsFromTheStart) {
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    Instance instance(spec({"--", rules::payload(), "sleep-forever"}));
    while (instance.alive()) {
      instance.signal(SIGTERM);
      ::sched_yield();
    }
    ASSERT_EQ(instance.wait(), 143) << "round " << round;
  }
}

TEST_P(Process, ForwardsEverySignalThatIsNoStop) {
  Instance instance(spec({"--", rules::payload(), "record-signals"}));
  await_told("ready-0");
  std::string wanted;
  for (int signal : {SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGSEGV, SIGILL, SIGABRT, SIGURG,
                     SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU}) {
    instance.signal(signal);
    wanted += std::string(::sigabbrev_np(signal)) + " ";
    std::string seen;
    while (seen.find(std::string(::sigabbrev_np(signal)) + " ") == std::string::npos) {
      ASSERT_TRUE(instance.alive());
      seen = told("signals-0");
    }
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
}

// --- Exit codes ---

TEST_P(Process, EndsWithTheCommandsOwnCode) {
  for (int code : {0, 1, 2, 42, 124, 125, 126, 127, 128, 143, 200, 254, 255}) {
    EXPECT_EQ(rules::run(spec({"--", rules::payload(), "exit", std::to_string(code)})).code, code);
  }
}

TEST(ExitCode, IsTheCommandsForEachOfTheir256) {
  for (int code = 0; code < 256; ++code) {
    const Result result = rules::run(
        {.args = {"--", rules::payload(), "exit", std::to_string(code)}, .env = {}, .pid1 = false});
    ASSERT_EQ(result.code, code);
  }
}

TEST_P(Process, EndsWith128PlusTheSignalThatKilledTheCommand) {
  const rlimit no_core{0, 0};
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGKILL, SIGSEGV, SIGPIPE, SIGTERM,
                     SIGUSR1, SIGSYS, 32, 33, 34, 35, 63, 64}) {
    Spec killed = spec({"--", "/bin/sh", "-c", "kill -" + std::to_string(signal) + " $$"});
    killed.before = [&no_core, signal] {
      ::setrlimit(RLIMIT_CORE, &no_core);
      // Whoever runs the tests may ignore it; by the call itself, as glibc keeps 32 and 33.
      constexpr std::array<std::uint64_t, 4> kDefault{};
      ::syscall(SYS_rt_sigaction, signal, kDefault.data(), nullptr, sizeof(std::uint64_t));
    };
    EXPECT_EQ(rules::run(killed).code, 128 + signal) << signal;
  }
}

TEST_P(Process, EndsWith127Or126WhenTheCommandDoesNotStart) {
  const struct {
    Words command;
    int code;
    std::string text;
  } cases[] = {
      {{"no-such-program"}, 127, "no-such-program"},
      {{path("absent")}, 127, path("absent")},
      {{""}, 127, "empty command name"},
      {{path("run")}, 126, "directory"},
      {{write("plain", "echo")}, 126, "0644"},
      {{write("bad-interpreter", "#!/no/such\n", 0755)}, 126, "/no/such"},
  };
  for (const auto& [command, code, text] : cases) {
    const Result result = rules::run(spec(joined({"--"}, command)));
    EXPECT_EQ(result.code, code) << text;
    EXPECT_THAT(result.err, HasSubstr(text));
    const Result several = rules::run(spec(ranks(2, command)));
    EXPECT_EQ(several.code, code) << text;
    EXPECT_THAT(several.err, AllOf(HasSubstr(text), HasSubstr("rank-")));
  }
}

TEST_P(Process, EndsWith125WithoutACommand) {
  for (const Words& args : {Words{}, Words{"--"}, Words{"run"}, Words{"--grace", "1s"}}) {
    const Result result = rules::run(spec(args));
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr("no command"));
  }
}

TEST_P(Process, EndsWith125ForABadOptionOrVariable) {
  Result result = rules::run(spec({"--grace", "soon", "--", "true"}));
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--grace"), HasSubstr("\"soon\"")));
  Spec by_variable = spec({"--", "true"});
  by_variable.env.emplace_back("TRAINIT_OUTPUT=nowhere");
  result = rules::run(by_variable);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("TRAINIT_OUTPUT"), HasSubstr("\"nowhere\"")));
}

TEST_P(Process, OfAJobIsTheCodeOfItsFirstFailure) {
  const Result result = rules::run(
      spec(ranks(3, {rules::payload(), "on-rank", "1", "exit", "3", "else", "sleep-forever"})));
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("first failure: rank-1 (node 0, device 1) exited with code 3"));
}

// --- What a task finds ---

TEST_P(Process, HasTheEnvironmentOfTheCallerByteForByte) {
  const Words odd = {"A=1",
                     "A=2",
                     "NOT_AN_ASSIGNMENT",
                     "=x",
                     "",
                     "EMPTY=",
                     "B==",
                     "\xff\xfe=\x80",
                     "Z=\n\t",
                     "TRAINIT_PORT=tcp://10.0.0.1:80",
                     "TRAINIT_VERSION=1.2",
                     "LISTEN_PID=7"};
  Spec cat = spec({"--", "/bin/cat", "/proc/self/environ"});
  cat.env = odd;
  cat.env.emplace_back("TRAINIT_RUN_DIR=" + path("run"));
  std::string wanted;
  for (const std::string& entry : cat.env) wanted += entry + '\0';
  EXPECT_EQ(rules::run(cat).out, wanted);
}

TEST_P(Process, DoesNotHaveTheVariablesOfOptions) {
  Spec cat = spec({"--", "/bin/cat", "/proc/self/environ"});
  cat.env = {"TRAINIT_GRACE=9s", "TRAINIT_STRICT=0", "TRAINIT_RUN_DIR=" + path("run"), "A=1"};
  EXPECT_EQ(rules::run(cat).out, "TRAINIT_RUN_DIR=" + path("run") + '\0' + "A=1" + '\0');
}

TEST_P(Process, HasTheArgumentsOfTheCaller) {
  const Words odd = {"/usr/bin/printf", "%s|", "", "--grace", "\xff", "a b", "--", "$X"};
  EXPECT_EQ(rules::run(spec(joined({"--"}, odd))).out, "|--grace|\xff|a b|--|$X|");
}

// --- 8. Descriptors ---

void add_descriptors() {
  // 3 and 4 as a socket activation hands them over, 7 by somebody's mistake.
  ::dup2(::open("/etc/passwd", O_RDONLY | O_CLOEXEC), 20);
  ::dup2(20, 3);
  ::dup2(20, 4);
  ::dup2(20, 7);
  ::close(20);
}

std::string numbers_in(const std::string& listing) {
  std::string numbers;
  std::istringstream lines(listing);
  std::string line;
  while (std::getline(lines, line)) numbers += line.substr(0, line.find(' ')) + " ";
  return numbers;
}

TEST_P(Process, SeesWhatTheCallerPassedInAsTheSingleMainTaskAndNothingOfOurs) {
  Spec single = spec({"--", rules::payload(), "fds"});
  single.before = add_descriptors;
  // The test's own caller may have passed something in as well.
  const std::string numbers = numbers_in(rules::run(single).out);
  EXPECT_THAT(numbers, testing::StartsWith("0 1 2 3 4 7 "));
  EXPECT_THAT(numbers, testing::Not(HasSubstr(" 5 "))) << "ours";
}

TEST_P(Process, SeesNoDescriptorBut012AsOneOfSeveralRanks) {
  Spec several = spec(ranks(3, {rules::payload(), "fds"}));
  several.before = add_descriptors;
  EXPECT_EQ(numbers_in(rules::run(several).out), "0 1 2 ");
  EXPECT_EQ(numbers_in(log_of(1)), "0 1 2 ");
  EXPECT_EQ(numbers_in(log_of(2)), "0 1 2 ");
}

// Whoever reads the other end would wait for an end of file until trainit ends.
TEST_P(Process, DoesNotHoldWhatItPassedOn) {
  child::Pipe pipe = child::make_pipe();
  Spec single = spec({"--", "/bin/sh", "-c", "exec 7>&-; echo ready; exec sleep 1000"});
  single.before = [fd = pipe.in.get()] { ::dup2(fd, 7); };
  Instance instance(single);
  pipe.in.reset();
  instance.await_out("ready");
  EXPECT_EQ(child::read_to_end(pipe.out.get()), "");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_P(Process, SeesTheDescriptorsOfASocketActivationAsTheMainTaskAlone) {
  Spec several = spec(
      ranks(2, rules::shell(rules::payload() +
                            " fds; echo pid $$ $LISTEN_PID; echo n=$LISTEN_FDS $LISTEN_FDNAMES")));
  several.env = joined(env(), {"LISTEN_FDS=2", "LISTEN_PID=1", "LISTEN_FDNAMES=a:b"});
  several.before = add_descriptors;
  const Result result = rules::run(several);
  EXPECT_THAT(numbers_in(result.out), testing::StartsWith("0 1 2 3 4 "));
  EXPECT_THAT(result.out, HasSubstr("n=2 a:b"));
  std::smatch pids;
  ASSERT_TRUE(std::regex_search(result.out, pids, std::regex("pid (\\d+) (\\d+)")));
  EXPECT_EQ(pids[1], pids[2]);
  EXPECT_THAT(numbers_in(log_of(1)), testing::StartsWith("0 1 2 pid"));
  EXPECT_THAT(log_of(1), HasSubstr("n=\n"));
}

}  // namespace
