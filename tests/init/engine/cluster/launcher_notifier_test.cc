// A worker of a launcher, whole but for its sshd: what the link says of node 0 comes to that.

#include <gmock/gmock.h>

#include "init/engine/cluster/link_status.h"
#include "tests/init/engine/cluster/link_node.h"
#include "tests/init/engine/supervise.h"

namespace launcher_notifier_test {

using link_node::Node;
using testing::HasSubstr;

// Writes down what it is told, and ends with the code that it hears.
constexpr const char* kSshd = R"(
  mkfifo $OUT/sshd
  while :; do
    read -r word value <$OUT/sshd || continue
    echo "$word $value" >>$OUT/told
    [ "$word" != trainit-peer-end ] || exit "$value"
  done)";
constexpr const char* kSession = R"([ -p $OUT/sshd ] && echo "$SSH_ORIGINAL_COMMAND" >$OUT/sshd)";

class LauncherNotifier : public Supervise {
 protected:
  LauncherNotifier() {
    settings_ = link_node::settings_of(link_node::free_port(), 0, 2);
    settings_.socket = path("node-0");
    plan_.framework = "mpi";
    plan_.local_node = envgen::LocalNode{};
    plan_.processes = {shell("main", kSshd)};
    plan_.link = envgen::NodeLink{.address = "127.0.0.1",
                                  .port = settings_.port,
                                  .node_rank = 1,
                                  .node_count = 2,
                                  .timeout_ms = settings_.timeout_ms,
                                  .tell_sshd = {"/bin/sh", "-c", kSession},
                                  .cluster = settings_.cluster,
                                  .common = settings_.common,
                                  .names = {"a"}};
  }
  ~LauncherNotifier() override {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }

  void start_worker() {
    plan_.link->stops = settings_.stops;
    plan_.link->loss_counts = settings_.loss_counts;
    engine::Setup setup = planned(plan_);
    const std::string log = path("log");
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const sys::Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ::dup2(file.get(), STDOUT_FILENO);
    ::dup2(file.get(), STDERR_FILENO);
    sys::close_descriptors(3, {});
    ::_exit(supervise(std::move(setup)));
  }
  int exit_code() { return child::wait_for(std::exchange(pid_, 0)); }
  [[nodiscard]] std::string log() const { return read(path("log")); }
  [[nodiscard]] std::string heard() const { return read(path("out/told")); }

  static bool await(const std::function<bool()>& is_so) {
    const std::int64_t deadline_ms = sys::monotonic_ms() + link_node::kLimitMs;
    while (sys::monotonic_ms() < deadline_ms) {
      if (is_so()) return true;
      ::poll(nullptr, 0, 10);
    }
    return false;
  }
  // Its sshd listens, and node 0 knows that it runs.
  void await_running() const {
    ASSERT_TRUE(await([this] {
      const auto rows = engine::ask_nodes(settings_.socket);
      return rows && rows->size() == 2 && (*rows)[1].phase == "running" &&
             std::filesystem::exists(path("out/sshd"));
    })) << log();
  }

  engine::LinkSettings settings_;  // of node 0
  envgen::Plan plan_;
  pid_t pid_ = 0;
};

TEST_F(LauncherNotifier, TheFarewellEndsTheSshdWithItsCode) {
  Node launcher(settings_);
  start_worker();
  await_running();
  launcher.farewell(3);
  EXPECT_EQ(exit_code(), 3) << log();
  EXPECT_EQ(heard(), "trainit-peer-end 3\n");
}

TEST_F(LauncherNotifier, IsSaidAgainUntilItIsHeard) {
  plan_.link->tell_sshd.back() = std::string("mkdir $OUT/tried && exit 1; ") + kSession;
  Node launcher(settings_);
  start_worker();
  await_running();
  launcher.farewell();
  EXPECT_EQ(exit_code(), 0) << log();
  EXPECT_EQ(heard(), "trainit-peer-end 0\n");
}

TEST_F(LauncherNotifier, ALostLauncherThatTheNodeOutlivesIsGoneUntilItIsBack) {
  settings_.stops = settings_.loss_counts = false;
  start_worker();
  {
    const Node launcher(settings_);
    await_running();
  }
  ASSERT_TRUE(await([this] { return heard() == "trainit-peer-launcher gone\n"; })) << log();
  Node launcher(settings_);
  ASSERT_TRUE(await([this] { return heard().ends_with("trainit-peer-launcher back\n"); })) << log();
  launcher.farewell(4);
  EXPECT_EQ(exit_code(), 4) << log();
}

// What stops all is not the sshd's to answer.
TEST_F(LauncherNotifier, AFailureOfTheLauncherEndsTheWorkerWith76) {
  Node launcher(settings_);
  start_worker();
  await_running();
  launcher.fail("the launcher failed");
  EXPECT_EQ(exit_code(), 76) << log();
  EXPECT_THAT(log(), HasSubstr("the launcher failed"));
  EXPECT_EQ(heard(), "");
}

TEST_F(LauncherNotifier, AFailureThatIsToldOnlyLeavesTheEndToTheFarewell) {
  settings_.stops = settings_.loss_counts = false;
  Node launcher(settings_);
  start_worker();
  await_running();
  launcher.fail("the launcher failed");
  ASSERT_TRUE(await([this] { return log().find("this node goes on") != std::string::npos; }));
  launcher.farewell(5);
  EXPECT_EQ(exit_code(), 5) << log();
}

// A node that may start again by itself has no link to the others, but for a failure of theirs.
TEST_F(LauncherNotifier, AFailureOfTheLauncherIsAwaitedThoughTheWorkerMayStartAgain) {
  plan_.policy.max_restarts = 1;
  Node launcher(settings_);
  start_worker();
  await_running();
  launcher.fail("the launcher failed");
  EXPECT_EQ(exit_code(), 76) << log();
  EXPECT_THAT(log(), HasSubstr("the launcher failed"));
}

// Here the launcher is the one that is whole.
TEST_F(LauncherNotifier, ALauncherThatStartsAgainTellsNobodyButTheEnd) {
  plan_.processes = {shell("main", R"(
    until [ -e $OUT/go ]; do sleep 0.05; done
    mkdir $OUT/first && exit 3
    exit 0)")};
  plan_.link->node_rank = 0;
  plan_.link->tell_sshd.clear();
  plan_.policy.max_restarts = 1;
  settings_.loss_counts = false;  // as plan_node_link says for one that starts again alone
  plan_.link->stop_counts = false;
  start_worker();
  engine::LinkSettings settings = settings_;
  settings.node = 1;
  settings.instance = 7;
  settings.socket = "";
  Node worker(settings);
  worker.await_state(true);
  worker.report(link_node::Stage::kRunning);
  write("out/go", "");
  std::vector<link_node::State> states;
  const auto end = worker.await([&states](const lifecycle::NodeVerdict& verdict) {
    states.push_back(verdict.state);
    return verdict.ended;
  });
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(states, testing::Each(link_node::State::kFine));
  EXPECT_EQ(exit_code(), 0) << log();
  EXPECT_TRUE(std::filesystem::exists(path("out/first")));
}

}  // namespace launcher_notifier_test
