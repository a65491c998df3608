#include "init/engine/workers/worker_list.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using engine::ChildWorker;
using engine::WorkerList;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kLimitMs = 180'000;

// Writes down what it is told.
class Noted : public ChildWorker {
 public:
  Noted(std::vector<std::string>& notes, std::string name)
      : ChildWorker(2, 16), notes_(notes), name_(std::move(name)) {}

  bool start(const std::function<int(int fd)>& body, std::int64_t deadline_ms = 0) {
    const bool started = fork("starting " + name_, {}, body).has_value();
    if (deadline_ms > 0) deadline_ms_ = deadline_ms;
    return started;
  }
  void want(bool wanted, const std::function<int(int fd)>& body, std::int64_t deadline_ms = 0) {
    keep(wanted, [&] { start(body, deadline_ms); });
  }

 private:
  void note(const std::string& what) { notes_.push_back(name_ + " " + what); }
  Heard on_message(std::uint32_t kind, std::string_view bytes) override {
    if (bytes == "damaged") return Heard::kDamaged;
    note("says " + std::string(bytes));
    return kind == 1 ? Heard::kMore : Heard::kLast;
  }
  void on_silence(bool damaged) override { note(damaged ? "is damaged" : "is silent"); }
  void on_overdue() override { note("is late"); }
  void on_exit(const proc::Death& death) override {
    note((death.signaled ? "killed by " : "exits with ") + std::to_string(death.value));
  }

  std::vector<std::string>& notes_;
  std::string name_;
};

class Workers : public testing::Test {
 protected:
  // The channels that can be read, until `count` can.
  void wake(std::size_t count = 1) {
    std::vector<pollfd> sources;
    std::vector<std::uint32_t> indexes;
    list_.each_channel([&](int fd, std::uint32_t index) {
      sources.push_back({fd, POLLIN, 0});
      indexes.push_back(index);
    });
    ASSERT_GE(sources.size(), count);
    std::size_t ready = 0;
    const std::int64_t until_ms = sys::monotonic_ms() + kLimitMs;
    while (ready < count && sys::monotonic_ms() < until_ms) {
      ready = static_cast<std::size_t>(::poll(sources.data(), sources.size(), kLimitMs));
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].revents != 0) list_.read(indexes[i]);
    }
  }
  [[nodiscard]] std::size_t channels() const {
    std::size_t count = 0;
    list_.each_channel([&count](int, std::uint32_t) { ++count; });
    return count;
  }
  // One that nobody ends is a failed test, not a hanging one.
  void reap(const ChildWorker& worker) {
    const pid_t pid = worker.pid();
    siginfo_t info{};
    const std::int64_t until_ms = sys::monotonic_ms() + kLimitMs;
    while (info.si_pid == 0 && sys::monotonic_ms() < until_ms) {
      ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG), 0);
      if (info.si_pid == 0) ::poll(nullptr, 0, 1);
    }
    if (info.si_pid == 0) {
      ADD_FAILURE() << "it lives on";
      ::kill(pid, SIGKILL);
      ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED), 0);
    }
    list_.reaped({info.si_pid, info.si_code != CLD_EXITED, info.si_status, false});
  }
  std::vector<std::string> notes() { return std::exchange(notes_, {}); }

  static int say(int fd, const std::string& text, std::uint32_t kind = 1) {
    return engine::send_message(fd, kind, text) ? 0 : 1;
  }
  static int hang(int /*fd*/) {
    ::pause();
    return 0;
  }

  std::vector<std::string> notes_;
  WorkerList list_;
  Noted& one_ = list_.add<Noted>(notes_, "one");
  Noted& two_ = list_.add<Noted>(notes_, "two");
};

TEST_F(Workers, ThatWereNotStartedCostNothing) {
  EXPECT_EQ(channels(), 0U);
  EXPECT_EQ(list_.next_deadline(), std::nullopt);
  list_.tend(sys::monotonic_ms());
  list_.stepped();
  list_.reaped({4711, false, 0, false});
  list_.reaped({0, false, 0, false});
  EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(Workers, AreHeardInTheirOrder) {
  ASSERT_TRUE(two_.start([](int fd) { return say(fd, "a") + say(fd, "b") + hang(fd); }));
  ASSERT_TRUE(one_.start([](int fd) { return say(fd, "c") + hang(fd); }));
  wake(2);
  EXPECT_EQ(channels(), 2U);
  EXPECT_EQ(notes().front(), "one says c");
  ::kill(one_.pid(), SIGKILL);
  ::kill(two_.pid(), SIGKILL);
  reap(two_);
  reap(one_);
  EXPECT_EQ(channels(), 0U);
}

TEST_F(Workers, ThatEndAreHeardBeforeTheirEnd) {
  ASSERT_TRUE(one_.start([](int fd) { return say(fd, "last words") + 3; }));
  reap(one_);
  EXPECT_THAT(notes(), ElementsAre("one says last words", "one is silent", "one exits with 3"));
  EXPECT_EQ(one_.pid(), 0);
  EXPECT_EQ(channels(), 0U);
}

TEST_F(Workers, ThatAreSilentMayLive) {
  ASSERT_TRUE(one_.start([](int fd) {
    say(fd, "bye");
    ::close(fd);
    return hang(fd);
  }));
  wake();
  if (channels() > 0) wake();
  EXPECT_THAT(notes(), ElementsAre("one says bye", "one is silent"));
  EXPECT_EQ(channels(), 0U);
  EXPECT_NE(one_.pid(), 0);
  ::kill(one_.pid(), SIGKILL);
  reap(one_);
  EXPECT_THAT(notes(), ElementsAre("one killed by 9")) << "its silence is told once";
}

// What it has started may hold the other end of the pipe.
TEST_F(Workers, AreSilentWhenTheyHaveEnded) {
  child::Pipe pipe = child::make_pipe();
  ::fcntl(pipe.out.get(), F_SETFL, O_NONBLOCK);
  one_.adopt(4711, std::move(pipe.out));
  list_.reaped({4711, true, SIGKILL, false});
  EXPECT_THAT(notes(), ElementsAre("one is silent", "one killed by 9"));
  EXPECT_EQ(channels(), 0U);
}

TEST_F(Workers, AreHeardNoFurtherThanTheirLastWord) {
  ASSERT_TRUE(one_.start([](int fd) { return say(fd, "last", 2) + say(fd, "more"); }));
  reap(one_);
  EXPECT_THAT(notes(), ElementsAre("one says last", "one is silent", "one exits with 0"));
}

TEST_F(Workers, ThatSendADamagedMessageAreHeardNoFurtherAndKilled) {
  for (const auto& [kind, text] : std::map<std::uint32_t, std::string>{
           {0, "no kind"}, {1, "damaged"}, {2, std::string(17, 'x')}, {3, "no kind either"}}) {
    ASSERT_TRUE(one_.start([&](int fd) {
      say(fd, "a");
      return say(fd, text, kind) + say(fd, "b") + hang(fd);
    }));
    while (channels() > 0) wake();
    EXPECT_THAT(notes(), ElementsAre("one says a", "one is damaged")) << kind;
    reap(one_);
    EXPECT_THAT(notes(), ElementsAre("one killed by 9"));
  }
}

// By the time one is reaped its number may be another process's.
TEST_F(Workers, ThatAreReapedKillNobodyByWhatTheySaid) {
  ASSERT_TRUE(two_.start(hang));
  child::Pipe pipe = child::make_pipe();
  ::fcntl(pipe.out.get(), F_SETFL, O_NONBLOCK);
  one_.adopt(two_.pid(), std::move(pipe.out));
  say(pipe.in.get(), "damaged");
  one_.reaped({two_.pid(), false, 0, false});
  EXPECT_THAT(notes(), ElementsAre("one is damaged", "one exits with 0"));
  ::kill(two_.pid(), SIGKILL);
  reap(two_);
  EXPECT_THAT(notes(), ElementsAre("two is silent", "two killed by 9"));
}

TEST_F(Workers, AreKilledAtTheirDeadlineOnce) {
  ASSERT_TRUE(one_.start(hang, 1000));
  ASSERT_TRUE(two_.start(hang, 900));
  EXPECT_EQ(list_.next_deadline(), 900);
  list_.tend(899);
  EXPECT_THAT(notes(), IsEmpty());
  list_.tend(900);
  EXPECT_THAT(notes(), ElementsAre("two is late"));
  EXPECT_EQ(list_.next_deadline(), 1000);
  list_.tend(2000);
  list_.tend(3000);
  EXPECT_EQ(list_.next_deadline(), std::nullopt);
  reap(one_);
  reap(two_);
  EXPECT_THAT(notes(), ElementsAre("one is late", "one is silent", "one killed by 9",
                                   "two is silent", "two killed by 9"));
}

TEST_F(Workers, ThatHaveEndedMissNoDeadline) {
  ASSERT_TRUE(one_.start([](int) { return 0; }, 1000));
  reap(one_);
  EXPECT_EQ(list_.next_deadline(), std::nullopt);
}

TEST_F(Workers, MayBeStartedAgain) {
  for (const std::string text : {"a", "b"}) {
    ASSERT_TRUE(one_.start([&text](int fd) { return say(fd, text); }));
    const pid_t first = one_.pid();
    reap(one_);
    EXPECT_THAT(notes(), ElementsAre("one says " + text, "one is silent", "one exits with 0"));
    list_.reaped({first, false, 0, false});  // a later process of the same number is none of them
    EXPECT_THAT(notes(), IsEmpty());
  }
}

TEST_F(Workers, AreKeptOnlyWhileTheyAreWanted) {
  one_.want(false, hang);
  EXPECT_EQ(one_.pid(), 0);
  one_.want(true, [](int) { return 1; });
  reap(one_);
  notes();
  one_.want(true, hang);
  EXPECT_EQ(one_.pid(), 0) << "not again while it is the same wish";
  one_.want(false, hang);
  one_.want(true, hang);
  EXPECT_NE(one_.pid(), 0);
  one_.want(false, hang);
  EXPECT_EQ(channels(), 0U);
  reap(one_);
  EXPECT_THAT(notes(), ElementsAre("one killed by 9")) << "nothing that it says counts";
}

TEST_F(Workers, ThatAreNotWantedAnyMoreMissNoDeadline) {
  one_.want(true, [](int fd) { return say(fd, "unheard") + hang(fd); }, 1000);
  EXPECT_EQ(list_.next_deadline(), 1000);
  one_.want(false, hang);
  EXPECT_EQ(list_.next_deadline(), std::nullopt);
  list_.tend(2000);
  reap(one_);
  EXPECT_THAT(notes(), ElementsAre("one killed by 9"));
}

}  // namespace
