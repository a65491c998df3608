// Three nodes of a job on one network: what a real job has before its ranks start, hooks and data
// of different durations, and failures meanwhile.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "init/proc/tree.h"
#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::shell;
using rules::Words;
using testing::HasSubstr;
using testing::Not;

constexpr int kNodes = 3;

// A network namespace with a loopback device, which lives as long as the object.
class OwnNetwork {
 public:
  OwnNetwork() {
    int ready[2];
    int opened[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC) + ::pipe2(opened, O_CLOEXEC), 0);
    const pid_t maker = ::fork();
    if (maker == 0) {
      ::close(opened[1]);
      if (::unshare(CLONE_NEWNET) != 0) ::_exit(1);
      const sys::Fd inside(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      ifreq request{.ifr_ifrn = {.ifrn_name = "lo"}};
      request.ifr_flags = IFF_UP;
      if (::ioctl(inside.get(), SIOCSIFFLAGS, &request) != 0) ::_exit(1);
      char byte = 'x';
      (void)!::write(ready[1], &byte, 1);
      (void)!::read(opened[0], &byte, 1);  // until the namespace is held from outside
      ::_exit(0);
    }
    ::close(ready[1]);
    char byte = 0;
    usable_ = ::read(ready[0], &byte, 1) == 1;
    const std::string space = "/proc/" + std::to_string(maker) + "/ns/net";
    space_.reset(::open(space.c_str(), O_RDONLY | O_CLOEXEC));
    for (const int fd : {ready[0], opened[0], opened[1]}) ::close(fd);
    ::waitpid(maker, nullptr, 0);
  }

  [[nodiscard]] bool usable() const { return usable_; }
  // For Spec::before.
  void enter() const {
    if (::setns(space_.get(), CLONE_NEWNET) != 0) ::_exit(rules::kCannotStart);
  }

 private:
  bool usable_ = false;
  sys::Fd space_;
};

class ThreeNodes : public rules::LifecycleTest {
 protected:
  void SetUp() override {
    if (!rules::may_unshare() || !network_.usable()) GTEST_SKIP() << "needs namespaces";
    for (int node = 0; node < kNodes; ++node) {
      make_fifo("hook-" + std::to_string(node));
      make_fifo("rank-" + std::to_string(node));
      ::mkdir(path("run-" + std::to_string(node)).c_str(), 0755);
    }
  }

  // A rank prints "up N", and runs the line that rank() gives it.
  void start(int node, const Words& options) {
    const std::string number = std::to_string(node);
    Words env{"PATH=/usr/bin:/bin",
              "HERE=" + path(""),
              "NODE=" + number,
              "VK_TASK_INDEX=" + number,
              "WORKER_HOST=127.0.0.1,127.0.0.2,127.0.0.3",
              "SLOTS=1",
              "TRAINIT_RUN_DIR=" + path("run-" + number)};
    const Words words = joined(
        {"--framework=pytorch", "--fan-out", "--output=inherit", "--hooks-dir", path("hooks")},
        options);
    nodes_.at(static_cast<std::size_t>(node)) = std::make_unique<Instance>(rules::Spec{
        .args = joined(words, joined({"--"}, shell("exec 3<>${HERE}rank-$NODE; echo up $NODE; "
                                                   "read -r line <&3; eval \"$line\""))),
        .env = std::move(env),
        .before = [this] { network_.enter(); }});
  }
  void start_all(const Words& options) {
    for (int node = 0; node < kNodes; ++node) start(node, options);
  }
  // A hook of each start that ends when hook() says how.
  void hooks_wait() {
    hook("pre-start",
         "exec 3<>${HERE}hook-$NODE; echo hook $NODE; read -r line <&3; eval \"$line\"");
  }

  [[nodiscard]] Instance& node(int index) { return *nodes_.at(static_cast<std::size_t>(index)); }
  void give(const std::string& fifo, int index, const std::string& line) const {
    const sys::Fd fd(::open(path(fifo + std::to_string(index)).c_str(), O_RDWR | O_CLOEXEC));
    const std::string text = line + "\n";
    ASSERT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void rank(int index, const std::string& line) const { give("rank-", index, line); }
  void hook_of(int index, const std::string& line) const { give("hook-", index, line); }
  // Until the rank, or the hook, of each node has begun `times` times.
  void await_ranks(int times = 1) {
    for (int index = 0; index < kNodes; ++index) await_rank(index, times);
  }
  void await_rank(int index, int times = 1) {
    await(index, "\nup " + std::to_string(index) + "\n", times);
  }
  void await_hooks(int times = 1) {
    for (int index = 0; index < kNodes; ++index) {
      await(index, "hook 10-hook: hook " + std::to_string(index) + "\n", times);
    }
  }
  void await(int index, const std::string& text, int times) {
    const auto seen = [&] {
      const std::string all = "\n" + node(index).out() + "\n" + node(index).err();
      int count = 0;
      for (std::size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at) ++count;
      return count >= times;
    };
    while (!seen()) {
      if (!node(index).await_more() || (!node(index).alive() && !seen())) {
        FAIL() << text << said();
      }
    }
  }
  std::vector<int> wait_for_all() {
    std::vector<int> codes;
    for (const auto& node : nodes_) codes.push_back(node->wait());
    return codes;
  }
  [[nodiscard]] std::string said() const {
    std::string text;
    for (const auto& node : nodes_) text += "---\n" + node->out() + node->err();
    return text;
  }

 private:
  OwnNetwork network_;
  std::array<std::unique_ptr<Instance>, kNodes> nodes_;
};
INSTANTIATE_TEST_SUITE_P(Run, ThreeNodes, testing::Values(true),
                         [](const auto&) { return "AsPid1"; });

const Words kTogether{"--restart-across-nodes", "--max-restarts=2", "--restart-delay=1ms"};

TEST_P(ThreeNodes, WhoseHooksTakeDifferentTimesStartTogether) {
  hooks_wait();
  start_all(kTogether);
  await_hooks();
  hook_of(0, "exit 0");
  await_rank(0);
  hook_of(1, "exit 0");
  await_rank(1);
  hook_of(2, "exit 0");
  await_rank(2);
  for (int index = 0; index < kNodes; ++index) rank(index, "exit 0");
  EXPECT_THAT(wait_for_all(), testing::Each(0)) << said();
  EXPECT_THAT(said(), Not(HasSubstr("list of nodes")));
}

TEST_P(ThreeNodes, RestartWhileAHookStillRuns) {
  hooks_wait();
  start_all(kTogether);
  await_hooks();
  hook_of(0, "exit 0");
  hook_of(1, "exit 0");
  await_rank(0);
  await_rank(1);
  rank(1, "exit 5");
  await_hooks(2);
  for (int index = 0; index < kNodes; ++index) {
    EXPECT_EQ(node(index).lines_with("first failure: rank-1"), 1) << said();
    hook_of(index, "exit 0");
  }
  await_rank(2);
  await_rank(0, 2);
  await_rank(1, 2);
  for (int index = 0; index < kNodes; ++index) rank(index, "exit 0");
  EXPECT_THAT(wait_for_all(), testing::Each(0)) << said();
}

TEST_P(ThreeNodes, EndByAHookThatFailsOnOneOfThem) {
  hooks_wait();
  start_all(kTogether);
  await_hooks();
  hook_of(0, "exit 0");
  await_rank(0);
  hook_of(2, "echo no card >&2; exit 9");
  EXPECT_EQ(wait_for_all(), (std::vector{76, 76, 9})) << said();
  for (int index = 0; index < kNodes; ++index) {
    EXPECT_EQ(node(index).lines_with("first failure: node 2 "), 1) << said();
  }
}

// Whose options differ: the others would wait for it until their time is over.
TEST_P(ThreeNodes, EndWhereOneOfThemWaitsForNoOther) {
  for (int alone = 0; alone < kNodes; ++alone) {
    for (int index = 0; index < kNodes; ++index) {
      start(index, index == alone ? Words{} : kTogether);
    }
    std::vector<int> codes(kNodes, 76);
    codes.at(static_cast<std::size_t>(alone)) = 125;
    EXPECT_EQ(wait_for_all(), codes) << said();
    const std::string text = "first failure: node " + std::to_string(alone) + " (127.0.0." +
                             std::to_string(alone + 1) +
                             ") does not wait for the other nodes before a start";
    for (int index = 0; index < kNodes; ++index) {
      EXPECT_EQ(node(index).lines_with(text), 1) << said();
    }
  }
}

// --- A checkpoint that is asked for when a node has failed ---

const char* const kSaves =
    "trap 'echo saved; exit 0' USR1; echo ready; while :; do sleep 0.05 & wait; done";

class ThreeNodesSave : public ThreeNodes {
 protected:
  void begin() {
    start_all({"--signal", "USR1=checkpoint"});
    await_ranks();
    for (int other = 1; other < kNodes; ++other) ASSERT_TRUE(node(other).await_err("connected to"));
  }
  static void await_zombie_of(const Instance& node) {
    const auto is_one = [&node](const proc::Member& member) {
      return member.parent == node.pid() && member.state == 'Z';
    };
    while (node.alive() && std::ranges::none_of(proc::all_processes(), is_one)) {
      ::poll(nullptr, 0, 5);
    }
  }
  void expect_first_failure(const std::string& text) {
    for (int index = 0; index < kNodes; ++index) {
      EXPECT_LE(node(index).lines_with("first failure: "), 1) << said();
      if (node(index).lines_with("first failure: " + text) == 0) ADD_FAILURE() << said();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Run, ThreeNodesSave, testing::Values(true),
                         [](const auto&) { return "AsPid1"; });

TEST_P(ThreeNodesSave, InVainOnceAContainerIsGone) {
  begin();
  for (const int index : {0, 2}) {
    rank(index, kSaves);
    ASSERT_TRUE(node(index).await_out("ready"));
  }
  node(1).signal(SIGKILL);
  ASSERT_EQ(node(1).wait(), 128 + SIGKILL);
  for (const int index : {0, 2}) node(index).signal(SIGUSR1);
  for (const int index : {0, 2}) {
    EXPECT_EQ(node(index).wait(), 76) << said();
    EXPECT_THAT(node(index).out(), HasSubstr("saved"));
    EXPECT_EQ(node(index).lines_with("first failure: node 1 (127.0.0.2) is lost"), 1) << said();
  }
}

// The node does not run when its rank dies and it is asked to save.
TEST_P(ThreeNodesSave, InVainOnceARankHasDied) {
  begin();
  for (const int index : {0, 2}) {
    rank(index, kSaves);
    ASSERT_TRUE(node(index).await_out("ready"));
  }
  node(1).signal(SIGSTOP);
  rank(1, "exit 210");
  await_zombie_of(node(1));
  for (int index = kNodes - 1; index >= 0; --index) node(index).signal(SIGUSR1);
  for (const int index : {0, 2}) ASSERT_TRUE(node(index).await_out("saved"));
  node(1).signal(SIGCONT);
  EXPECT_EQ(wait_for_all(), (std::vector{76, 210, 76})) << said();
  expect_first_failure("rank-1");
}

TEST_P(ThreeNodesSave, OnAllOfThemThoughARankEndsOtherwise) {
  begin();
  for (const int index : {0, 2}) {
    rank(index, kSaves);
    ASSERT_TRUE(node(index).await_out("ready"));
  }
  rank(1, "trap 'exit 210' USR1; echo ready; while :; do sleep 0.05 & wait; done");
  ASSERT_TRUE(node(1).await_out("ready"));
  node(2).signal(SIGUSR1);
  EXPECT_THAT(wait_for_all(), testing::Each(75)) << said();
}

// The copy on node 2 waits for another job's, which holds the lock of the dataset.
// Whatever their ranks wait for, it cannot come.
TEST_P(ThreeNodes, WithWorldsOfTheirOwnEndAndSayHowTheyDiffer) {
  start(0, {});
  start(1, {"--slots", "1"});
  start(2, {"--slots", "2"});
  EXPECT_THAT(wait_for_all(), testing::Each(125)) << said();
  EXPECT_THAT(node(0).err(),
              HasSubstr("node 2 (127.0.0.3) cannot take part: it plans 6 ranks in all, and node 0 "
                        "3: give all nodes the same --slots"));
  EXPECT_THAT(node(1).err(), HasSubstr("node 2 (127.0.0.3) cannot take part"));
  EXPECT_THAT(node(2).err(), HasSubstr("node 0 plans 3 ranks in all, and this node 6"));
}

TEST_P(ThreeNodes, RestartWhileDataAreStillCopied) {
  ::mkdir(path("data").c_str(), 0755);
  write("data/train.bin", "x");
  const auto options = [this](int node) {
    return joined(kTogether, {"--data", path("data"), "--data-headroom", "0", "--data-root",
                              path("cache-" + std::to_string(node))});
  };
  for (int index = 0; index < kNodes; ++index) {
    ::mkdir(path("cache-" + std::to_string(index)).c_str(), 0755);
  }
  const Words once =
      joined({"--data", path("data"), "--data-headroom", "0", "--data-root", path("cache-2")},
             {"--", "true"});
  ASSERT_EQ(rules::run({.args = once, .env = env()}).code, 0);
  sys::Fd lock;
  for (const auto& entry : std::filesystem::directory_iterator(path("cache-2/trainit-datasets"))) {
    const std::string file = entry.path().string();
    if (file.ends_with(".lock")) lock.reset(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    if (entry.is_directory()) std::filesystem::remove_all(entry.path());
  }
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  for (int index = 0; index < kNodes; ++index) start(index, options(index));
  await_rank(0);
  await_rank(1);
  ASSERT_TRUE(node(2).await_err("another job copies it"));
  rank(1, "exit 5");
  ASSERT_TRUE(node(2).await_err("restart 1 of")) << said();
  lock.reset();
  await_rank(0, 2);
  await_rank(1, 2);
  await_rank(2);
  EXPECT_TRUE(std::filesystem::exists(path("cache-2/trainit-datasets"))) << said();
  for (int index = 0; index < kNodes; ++index) rank(index, "exit 0");
  EXPECT_THAT(wait_for_all(), testing::Each(0)) << said();
}

}  // namespace
