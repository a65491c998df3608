// Signals where they are easily lost: in a burst, between fork and exec, to a process that stands
// still, through several inits.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <sstream>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;

class Signals : public rules::EitherWay {
 protected:
  static std::string proc_file(pid_t pid, const std::string& name) {
    return sys::inspect("/proc/" + std::to_string(pid) + "/" + name, true).content;
  }
  static char state_of(pid_t pid) {
    const std::string stat = proc_file(pid, "stat");
    const std::size_t name_end = stat.rfind(')');
    return name_end == std::string::npos ? '-' : stat[name_end + 2];
  }
  // Stops trainit itself, so that what is sent until it goes on is there at once.
  static void freeze(const Instance& instance) {
    instance.signal(SIGSTOP);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(instance.pid()), &info, WSTOPPED), 0);
  }
};
RULES_EITHER_WAY(Signals);

// --- Bursts ---

TEST_P(Signals, OfTenKindsInOneBurstAllArrive) {
  Instance instance(spec({"--", rules::payload(), "print-signals"}));
  instance.await_out("ready\n");
  freeze(instance);
  constexpr std::array kBurst = {SIGHUP,   SIGPROF, SIGUSR1, SIGUSR2, SIGALRM,
                                 SIGWINCH, SIGURG,  SIGIO,   SIGPWR,  SIGVTALRM};
  for (const int signal : kBurst) instance.signal(signal);
  instance.signal(SIGCONT);
  for (const int signal : kBurst) {
    instance.await_out("signal " + std::to_string(signal) + " value 0\n");
  }
  instance.signal(SIGKILL);
  EXPECT_EQ(instance.wait(), 137);
  for (const int signal : kBurst) {
    const std::string line = "signal " + std::to_string(signal) + " ";
    EXPECT_EQ(instance.out().find(line), instance.out().rfind(line)) << "twice";
  }
}

TEST_P(Signals, ThatAreQueuedKeepNumberOrderAndValue) {
  constexpr int kCount = 200;
  Instance instance(spec({"--", rules::payload(), "print-signals"}));
  instance.await_out("ready\n");
  freeze(instance);
  std::string wanted = "ready\n";
  const int real_time = SIGRTMIN + 4;
  for (int i = 0; i < kCount; ++i) {
    sigval value{};
    value.sival_int = i;
    ASSERT_EQ(::sigqueue(instance.pid(), real_time, value), 0);
    wanted += "signal " + std::to_string(real_time) + " value " + std::to_string(i) + "\n";
  }
  instance.signal(SIGCONT);
  instance.await_out("value " + std::to_string(kCount - 1) + "\n");
  std::istringstream lines(instance.out());
  std::string seen;
  for (std::string line; std::getline(lines, line);) {
    if (line != "signal " + std::to_string(SIGCONT) + " value 0") seen += line + "\n";
  }
  EXPECT_EQ(seen, wanted);
  instance.signal(SIGKILL);
  EXPECT_EQ(instance.wait(), 137);
}

// --- Between fork and exec ---

// Traces trainit from its first moment to its first fork; whoever is born then stands still.
class Birth {
 public:
  explicit Birth(pid_t init) : init_(init) {
    constexpr long kOptions =
        PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    EXPECT_EQ(::ptrace(PTRACE_SEIZE, init_, nullptr, kOptions), 0);
  }
  pid_t await_child() {
    for (int status = 0; ::waitpid(init_, &status, __WALL) == init_ && WIFSTOPPED(status);) {
      const int event = status >> 16;
      if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
          event == PTRACE_EVENT_CLONE) {
        unsigned long child = 0;
        ::ptrace(PTRACE_GETEVENTMSG, init_, nullptr, &child);
        child_ = static_cast<pid_t>(child);
        EXPECT_EQ(::waitpid(child_, &status, __WALL), child_);
        return child_;
      }
      ::ptrace(PTRACE_CONT, init_, nullptr, event == 0 ? WSTOPSIG(status) : 0);
    }
    return -1;
  }
  void let_go() const {
    ::ptrace(PTRACE_DETACH, init_, nullptr, nullptr);
    ::ptrace(PTRACE_DETACH, child_, nullptr, nullptr);
  }

 private:
  pid_t init_;
  pid_t child_ = -1;
};

TEST_P(Signals, ThatComeBetweenForkAndExecReachTheCommand) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) {
    child::Pipe go = child::make_pipe();
    Spec traced = spec({"--", rules::payload(), "sleep-forever"});
    traced.before = [fd = go.out.get()] {
      char byte = 0;
      std::ignore = ::read(fd, &byte, 1);
    };
    Instance instance(traced);
    Birth birth(instance.pid());
    child::say(go.in.get(), "x");
    ASSERT_GT(birth.await_child(), 0);
    instance.signal(signal);
    birth.let_go();
    EXPECT_EQ(instance.wait(), 128 + signal);
  }
}

// --- A process that stands still ---

TEST_P(Signals, ThatStopTheCommandDoNotEndIt) {
  Instance instance(spec({"--", rules::payload(), "term-after", "1", "5"}));
  await_told("ready-0");
  const pid_t main = instance.only_child();
  ASSERT_EQ(::kill(main, SIGSTOP), 0);
  while (state_of(main) != 'T') ASSERT_TRUE(instance.alive());
  ASSERT_EQ(::kill(main, SIGCONT), 0);
  while (state_of(main) == 'T') ASSERT_TRUE(instance.alive());
  instance.signal(SIGTERM);
  // One that a shell may have started stands still with its command, whenever it learns of it.
  while (instance.alive()) instance.signal(SIGCONT);
  EXPECT_EQ(instance.wait(), 5);
}

TEST_P(Signals, OfATerminalsStopHaltTheCommandAndContinueIt) {
  Instance instance(spec({"--", rules::payload(), "sleep-forever"}));
  await_told("ready-0");
  const pid_t main = instance.only_child();
  instance.signal(SIGTSTP);
  TestTimeout timeout;
  while (state_of(main) != 'T') ASSERT_TRUE(timeout.is_left()) << "it is not stopped";
  instance.signal(SIGCONT);
  while (state_of(main) == 'T') ASSERT_TRUE(timeout.is_left()) << "it stays stopped";
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// Each is in a session of its own, where the kernel stops nobody by default; a handler hears it.
TEST_P(Signals, OfATerminalsStopReachTheHandlersOfRanks) {
  Instance instance(spec(ranks(2, {rules::payload(), "record-signals"})));
  await_told("ready-0");
  await_told("ready-1");
  instance.signal(SIGTSTP);
  for (const char* rank : {"signals-0", "signals-1"}) {
    TestTimeout timeout;
    while (told(rank).find("TSTP parent\n") == std::string::npos) {
      ASSERT_TRUE(timeout.is_left()) << rank;
    }
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// --- Inits below inits ---

Words nested(const Words& command) {
  Words words = {"--"};
  for (int depth = 0; depth < 2; ++depth) words = joined(words, {rules::trainit(), "--"});
  return joined(words, command);
}

TEST_P(Signals, AndCodesGoThroughThreeInits) {
  EXPECT_EQ(rules::run(spec(nested({"/bin/sh", "-c", "exit 11"}))).code, 11);
  EXPECT_EQ(rules::run(spec(nested({"/bin/sh", "-c", "kill -USR2 $$"}))).code, 128 + SIGUSR2);
  Instance instance(spec(nested({rules::payload(), "term-after", "1", "17"})));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 17);
}

TEST_P(Signals, OfTheInnermostOfThreeInitsReachWhatItsCommandLeaves) {
  for (const char* name : {"begin", "never"}) ::mkfifo(path(name).c_str(), 0600);
  Instance instance(spec(nested(
      rules::shell("setsid sh -c 'trap \"echo told; exit 0\" TERM; echo up; read x < $HERE/never' &"
                   " read x < $HERE/begin; exit 3"))));
  instance.await_out("up\n");
  std::ofstream(path("begin")) << "x\n";
  EXPECT_EQ(instance.wait(), 3);
  EXPECT_THAT(instance.out(), HasSubstr("told\n"));
}

}  // namespace
