// The course of a job in a real engine: hooks, restart, the debug window, and a job of several
// containers that shrinks or grows. The image has no shell: hooks are scripts of the payload.

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kTerminationLog = "/dev/termination-log";

class Lifecycle : public JobTest {
 protected:
  Lifecycle() {
    scratch_.write("termination-log", "");
    fs::create_directory(scratch_.path("hooks"));
  }

  // Lines of the payload's commands as a hook of the image.
  void hook(const std::string& event, const std::string& lines,
            const std::string& name = "10-hook") const {
    fs::create_directories(scratch_.path("hooks/" + event + ".d"));
    script("hooks/" + event + ".d/" + name, lines);
  }
  void script(const std::string& file, const std::string& lines) const {
    scratch_.write(file, "#!/usr/local/bin/payload lines\n" + lines + "\n");
    fs::permissions(scratch_.path(file), fs::perms(0755));
  }
  [[nodiscard]] Words course_flags() const {
    return {"-v", scratch_.path("hooks") + ":/etc/trainit/hooks:ro", "-v",
            scratch_.path("termination-log") + ":" + kTerminationLog};
  }
  // On no platform: one process.
  [[nodiscard]] std::unique_ptr<Container> start_single(const Words& options,
                                                        const Words& command) const {
    Words flags = course_flags();
    flags.insert(flags.end(), {"-e", "PAYLOAD_OUT=/out", "-v", scratch_.path("out") + ":/out"});
    return std::make_unique<Container>(flags, args_of({.command = command, .options = options}));
  }
  [[nodiscard]] std::string journal() const { return scratch_.read("out/journal"); }
  [[nodiscard]] std::string termination_log() const { return scratch_.read("termination-log"); }
};

// --- Hooks ---

TEST_F(Lifecycle, StopsInTimeWithHooksThatHang) {
  scratch_.write(kTable, rank_table(2));
  hook("pre-stop", "ignore-term");
  hook("post-stop", "ignore-term");
  const auto job = start(
      {.command = {"term-after", "0", "0"}, .options = {"--grace=6s"}, .flags = course_flags()});
  await_ranks(2);

  job->stop();

  EXPECT_EQ(job->wait(), 143) << "and not 137, Docker's KILL";
  EXPECT_EQ(told("saved", 2), 2);
}

// --- Restart ---

TEST_F(Lifecycle, RestartsAJobThatSucceedsTheThirdTime) {
  hook("pre-start", "journal start $TRAINIT_RESTART_COUNT");
  hook("on-failure", "journal failure $TRAINIT_EXIT_CODE");
  const auto job = start_single({"--max-restarts=5", "--restart-delay=10ms"},
                                {"until-restart", "2", "9", "exit", "0"});

  EXPECT_EQ(job->wait(), 0);
  EXPECT_EQ(journal(), "start 0\nfailure 9\nstart 1\nfailure 9\nstart 2\n");
  EXPECT_EQ(termination_log(), "") << "a failure that a restart has mended is none of the pod's";
}

TEST_F(Lifecycle, RestartsAJobBesideASessionThatNoticesNothing) {
  hook("pre-start", "tell start-$TRAINIT_RESTART_COUNT");
  const auto job = start_single(
      {"--max-restarts=1", "--restart-delay=10ms"},
      {"wait-file", "/out/go", "until-restart", "1", "9", "wait-file", "/out/end", "exit", "0"});
  scratch_.await("out/start-0-0");
  Program session({"docker", "exec", "-e", "RANK_ID=9", job->name(), "payload", "record-signals"});
  scratch_.await("out/ready-9");
  scratch_.write("out/go", "");
  scratch_.await("out/start-1-0");

  EXPECT_EQ(job->exec({"payload", "kill", scratch_.read("out/ready-9"), "USR2"}).code, 0);
  scratch_.await("out/signals-9");
  EXPECT_EQ(scratch_.read("out/signals-9"), "USR2 other\n");
  scratch_.write("out/end", "");

  EXPECT_EQ(job->wait(), 0);
}

// --- The debug window ---

TEST_F(Lifecycle, HoldsAFailedContainerUntilItIsReleasedAndItsSessionsWithIt) {
  hook("post-stop", "tell post\nwait-file /out/finish");
  const auto job =
      start_single({"--hold=1h", "--grace=60s"}, {"wait-file", "/out/go", "exit", "3"});
  scratch_.await("out/ready-0");
  Program session({"docker", "exec", "-e", "RANK_ID=9", job->name(), "payload", "record-signals"});
  scratch_.await("out/ready-9");
  scratch_.write("out/go", "");
  ASSERT_TRUE(job->await_log("kept for debugging"));

  const Output status = job->exec({"trainit", "status"});
  EXPECT_EQ(status.code, 1) << "held";
  EXPECT_THAT(status.text, AllOf(HasSubstr("phase hold"), HasSubstr("exited with code 3"),
                                 HasSubstr("left"), HasSubstr("trainit release")));
  EXPECT_EQ(job->exec({"trainit", "hold", "--for", "2h"}).code, 0);
  EXPECT_EQ(job->exec({"trainit", "release"}).code, 0);
  scratch_.await("out/post-0");
  const std::string session_pid = scratch_.read("out/ready-9");
  EXPECT_EQ(job->exec({"payload", "kill", session_pid, "USR2"}).code, 0);
  scratch_.await("out/signals-9");
  EXPECT_EQ(scratch_.read("out/signals-9"), "USR2 other\n") << "alive up to the end, never told";
  scratch_.write("out/finish", "");

  EXPECT_EQ(job->wait(), 3);
}

TEST_F(Lifecycle, WarnsOfATerminalThatTheImageDoesNotHave) {
  const auto job = start_single({"--terminal=1", "--hold=0s"}, {"exit", "4"});

  EXPECT_EQ(job->wait(), 4);
  EXPECT_THAT(job->logs(), HasSubstr("no terminal: the image has no sshd"));
}

// --- Several containers ---

// node-0, node-1, ... on a network of their own. The image has no getent, so their addresses stand
// in /etc/hosts, as a platform writes them for pods without DNS.
class Cluster : public Lifecycle {
 protected:
  Cluster() : network_(unique_name()) {}
  ~Cluster() override {
    nodes_.clear();
    run_program({"docker", "network", "rm", network_});
  }
  void SetUp() override {
    Lifecycle::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Output made = run_program(
        {"docker", "network", "create", "--internal", "--subnet", kSubnet + "0/24", network_});
    ASSERT_EQ(made.code, 0) << made.text;
  }

  void start_node(int index, const Words& more, const Words& options, const Words& command) {
    const std::string host = "node-" + std::to_string(index);
    Words flags = {"--hostname",
                   host,
                   "--network-alias",
                   host,
                   "-e",
                   "PAYLOAD_OUT=/out",
                   "-v",
                   scratch_.path("out") + ":/out"};
    flags.insert(flags.end(), {"--ip", address(index)});
    for (int other = 0; other < kMaxNodes; ++other) {
      flags.insert(flags.end(),
                   {"--add-host", "node-" + std::to_string(other) + ":" + address(other)});
    }
    flags.insert(flags.end(), more.begin(), more.end());
    nodes_.push_back(std::make_unique<Container>(flags,
                                                 args_of({.command = command, .options = options}),
                                                 Place{.network = network_, .image = {}}));
  }
  [[nodiscard]] const Container& node(std::size_t index) const { return *nodes_.at(index); }

 private:
  static constexpr int kMaxNodes = 3;
  // Of RFC 2544's range, which is nobody's; another one for each run of this program.
  inline static const std::string kSubnet = "198.18." + std::to_string(getpid() % 256) + ".";
  static std::string address(int index) { return kSubnet + std::to_string(10 + index); }

  std::string network_;
  std::vector<std::unique_ptr<Container>> nodes_;
};

class Elastic : public Cluster {
 protected:
  Elastic() {
    for (const int index : {0, 1, 2}) fs::create_directory(scratch_.path(folder(index)));
    script("out/train",
           "journal $RANK of $WORLD_SIZE starts $TRAINIT_RESTART_COUNT\n"
           "tell of$WORLD_SIZE\n"
           "term-after 0 0");
  }
  void start_worker(int index) {
    start_node(index,
               {"-e", "VC_TASK_INDEX=" + std::to_string(index), "-v",
                scratch_.path(folder(index)) + ":/etc/volcano:ro"},
               {"--elastic", "--min-nodes=2", "--fan-out", "--slots=1"}, {"lines", "/out/train"});
  }
  // The platform's file of the task's hosts, which each pod has.
  void list(int count) const {
    for (const int index : {0, 1, 2}) list_for(index, count);
  }
  void list_for(int index, int count) const {
    std::string hosts;
    for (int i = 0; i < count; ++i) hosts += "node-" + std::to_string(i) + "\n";
    scratch_.replace(folder(index) + "/worker.host", hosts);
  }
  void await_world(int count) const {
    for (int rank = 0; rank < count; ++rank) {
      scratch_.await("out/of" + std::to_string(count) + "-" + std::to_string(rank));
    }
  }

 private:
  static std::string folder(int index) { return "volcano-" + std::to_string(index); }
};

// As Volcano does: the file changes, and the pod is deleted.
TEST_F(Elastic, GoesOnWithTwoOfThreeHosts) {
  list(3);
  for (const int index : {0, 1, 2}) start_worker(index);
  await_world(3);

  list(2);
  node(2).stop();
  EXPECT_EQ(node(2).wait(), 143);
  await_world(2);

  EXPECT_THAT(journal(), AllOf(HasSubstr("2 of 3 starts 0\n"), HasSubstr("0 of 2 starts 1\n"),
                               HasSubstr("1 of 2 starts 1\n")));
  for (const std::size_t index : {0, 1}) {
    node(index).stop();
    EXPECT_EQ(node(index).wait(), 143);
    // The second where the watcher first looks behind the change, the third where the other is
    // first.
    EXPECT_THAT(node(index).logs(), AnyOf(HasSubstr("3 nodes -> 2"), HasSubstr("now 2 nodes"),
                                          HasSubstr("list of nodes has changed on node")));
  }
}

TEST_F(Elastic, TakesInAThirdHost) {
  list(2);
  for (const int index : {0, 1}) start_worker(index);
  await_world(2);

  list(3);
  start_worker(2);
  await_world(3);

  EXPECT_THAT(journal(), AllOf(HasSubstr("0 of 3 starts 1\n"), HasSubstr("1 of 3 starts 1\n"),
                               HasSubstr("2 of 3 starts ")));
}

// A platform writes the file to each pod in its own time.
TEST_F(Elastic, WaitsForANodeThatSeesTheNewListLate) {
  list(2);
  for (const int index : {0, 1}) start_worker(index);
  await_world(2);

  list_for(0, 3);
  list_for(2, 3);
  start_worker(2);
  ASSERT_TRUE(node(1).await_log("the list of nodes has changed on node 0 (node-0), and this one"));
  ASSERT_TRUE(node(0).await_log("node 1 (node-1): "));
  list_for(1, 3);
  await_world(3);

  EXPECT_THAT(journal(), AllOf(HasSubstr("0 of 3 starts 1\n"), HasSubstr("1 of 3 starts 1\n"),
                               HasSubstr("2 of 3 starts ")));
}

}  // namespace
}  // namespace docker
