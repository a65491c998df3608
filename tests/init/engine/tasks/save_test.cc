#include "init/engine/tasks/save.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>

#include "init/sys/log.h"
#include "tests/init/child.h"

namespace engine {
namespace {

// Processes that say "+" when they are up, and their letter when they are asked to save.
class Family {
 public:
  pid_t member(char letter, bool catches, const std::function<void()>& children = [] {}) {
    ++count_;
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    own_letter = letter;
    message = pipe_.in.get();
    ::signal(SIGUSR1,
             catches ? [](int) { child::say(message, std::string(1, own_letter)); } : SIG_DFL);
    children();
    child::say(message, "+");
    while (true) ::pause();
  }

  // The next `count` bytes, sorted.
  std::string hear(std::size_t count) const {
    std::string text;
    while (text.size() < count) {
      char letter = 0;
      pollfd ready{pipe_.out.get(), POLLIN, 0};
      constexpr int kLimitMs = 180'000;
      if (::poll(&ready, 1, kLimitMs) != 1 || ::read(ready.fd, &letter, 1) != 1) return "hung";
      text += letter;
    }
    std::ranges::sort(text);
    return text;
  }

 private:
  static inline char own_letter = 0;
  static inline int message = -1;
  child::Pipe pipe_ = child::make_pipe();
  int count_ = 0;
};

// Who is asked, by letter, and at the end how many that is; `up`: how many processes there are.
std::string asked_of(std::size_t up, const std::function<std::vector<pid_t>(Family&)>& job) {
  return child::run([&] {
           Family family;
           const std::vector<pid_t> mains = job(family);
           family.hear(up);
           Asked asked;
           ask_to_save(mains, SIGUSR1, true, asked);
           const std::size_t count = asked.reached.size();
           child::say(STDOUT_FILENO, family.hear(count) + std::to_string(count));
           // Nobody has died of it.
           for (const pid_t main : mains) {
             if (::waitpid(main, nullptr, WNOHANG) != 0) return 1;
             ::kill(main, SIGKILL);
           }
           return 0;
         })
      .out;
}

TEST(AskToSave, AsksTheMainProcessesAndNotTheirDataLoaders) {
  EXPECT_EQ(asked_of(3,
                     [](Family& family) {
                       return std::vector{
                           family.member('a', true, [&] { family.member('l', true); }),
                           family.member('b', true)};
                     }),
            "ab2");
}

TEST(AskToSave, AsksTheRanksBelowALauncherThatWouldDieOfIt) {
  EXPECT_EQ(asked_of(6,
                     [](Family& family) {
                       return std::vector{family.member('t', false, [&] {
                         family.member('a', true, [&] { family.member('l', true); });
                         family.member('s', false, [&] { family.member('b', true); });
                         family.member('x', false);
                       })};
                     }),
            "ab2");
}

TEST(AskToSave, AsksNobodyWhereNobodyCatchesIt) {
  EXPECT_EQ(
      asked_of(2,
               [](Family& family) {
                 return std::vector{family.member('a', false, [&] { family.member('b', false); })};
               }),
      "0");
}

TEST(AskToSave, LeavesOtherProcessesAlone) {
  EXPECT_EQ(asked_of(2,
                     [](Family& family) {
                       family.member('s', true);  // a service
                       return std::vector{family.member('a', true)};
                     }),
            "a1");
}

// A main process with this mask, which has no handler, and says "+" when it is up.
pid_t masked(const child::Pipe& up, const std::function<void(sigset_t&)>& fill) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGUSR1, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  fill(set);
  ::sigprocmask(SIG_SETMASK, &set, nullptr);
  child::say(up.in.get(), "+");
  while (true) ::pause();
}

// The numbers of processes that a first look and the last one reach: "0? 0" is an unsure first one.
std::string looks_at(const std::function<void(sigset_t&)>& fill) {
  return child::run([&] {
           const child::Pipe up = child::make_pipe();
           const pid_t main = masked(up, fill);
           char byte = 0;
           if (::read(up.out.get(), &byte, 1) != 1) return 1;
           Asked asked;
           ask_to_save({main}, SIGUSR1, false, asked);
           std::string text = std::to_string(asked.reached.size()) + (asked.unsure ? "? " : " ");
           ask_to_save({main}, SIGUSR1, true, asked);
           child::say(STDOUT_FILENO, text + std::to_string(asked.reached.size()));
           const bool lives = ::waitpid(main, nullptr, WNOHANG) == 0;
           ::kill(main, SIGKILL);
           return lives ? 0 : 1;
         })
      .out;
}

// A shell and a C library block all signals around a fork.
TEST(AskToSave, SparesAProcessThatBlocksAllSignals) {
  EXPECT_EQ(looks_at([](sigset_t& set) { ::sigfillset(&set); }), "0? 0");
}

TEST(AskToSave, AsksAProcessThatBlocksAFewToWaitForThemOnce) {
  EXPECT_EQ(looks_at([](sigset_t& set) { ::sigaddset(&set, SIGUSR1); }), "1 1");
  EXPECT_EQ(looks_at([](sigset_t& set) {
              for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT})
                ::sigaddset(&set, signal);
            }),
            "1 1");
}

class TouchTrigger : public child::Scratch {};

// Its worker is waited for as PID 1 reaps it.
int touch(const std::string& file) {
  sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
  touch_trigger(file, {}, proc::take_over_signals());
  int status = 0;
  return ::wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(TouchTrigger, MakesTheFile) {
  const auto outcome = child::run([&] { return touch(path("trigger")); });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(::access(path("trigger").c_str(), F_OK), 0);
}

TEST_F(TouchTrigger, KeepsWhatIsInItAndSetsItsTime) {
  const std::string file = write("trigger", "text");
  const timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), old, 0), 0);
  EXPECT_EQ(child::run([&] { return touch(file); }).code, 0);
  struct stat now{};
  ASSERT_EQ(::stat(file.c_str(), &now), 0);
  EXPECT_GT(now.st_mtim.tv_sec, 1);
  EXPECT_EQ(read(file), "text");
}

TEST_F(TouchTrigger, SaysWhatCannotBeMade) {
  const auto outcome = child::run([&] { return touch(path("no/trigger")); });
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(path("no/trigger")), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace engine
