// The course of a job in a real engine: hooks, checkpoint, restart, limits, the debug window, and a
// job of several containers that restarts or shrinks. The image has no shell: hooks are scripts of
// the payload.

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;
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

  // Until the status shows it.
  static bool await_status(const Container& job, std::string_view text) {
    return Program({"docker", "exec", job.name(), "trainit", "status", "--watch"}).await(text);
  }
  static void send(const Container& job, const std::string& signal) {
    const Output sent = run_program({"docker", "kill", "--signal", signal, job.name()});
    ASSERT_EQ(sent.code, 0) << sent.text;
  }
};

// --- Hooks ---

TEST_F(Lifecycle, RunsTheImagesHooksAroundTheJob) {
  hook("pre-start",
       "journal $TRAINIT_HOOK $TRAINIT_PLATFORM $TRAINIT_WORLD_SIZE\nexport GREETING=hello");
  hook("on-failure", "journal $TRAINIT_HOOK $TRAINIT_EXIT_CODE");
  hook("post-stop", "journal $TRAINIT_HOOK $TRAINIT_EXIT_CODE");
  script("out/train", "journal job $GREETING\nexit 3");
  const auto job = start_single({}, {"lines", "/out/train"});

  EXPECT_EQ(job->wait(), 3);
  EXPECT_EQ(journal(), "pre-start local 1\njob hello\non-failure 3\npost-stop 3\n");
}

TEST_F(Lifecycle, StopsInTimeWithHooksThatHang) {
  scratch_.write(kTable, rank_table(2));
  hook("pre-stop", "ignore-term");
  hook("post-stop", "ignore-term");
  const auto job = start(
      {.command = {"term-after", "0", "0"}, .options = {"--grace=3s"}, .flags = course_flags()});
  await_ranks(2);

  job->stop(5);

  EXPECT_EQ(job->wait(), 143) << "and not 137, Docker's KILL";
  EXPECT_EQ(told("saved", 2), 2);
}

// --- Checkpoint and continue ---

TEST_F(Lifecycle, SavesACheckpointOnTheMappedSignalWithItsDataLoaders) {
  scratch_.write(kTable, rank_table(2));
  const auto job = start({.command = {"loader", "3", "USR1"},
                          .options = {"--signal=USR2=checkpoint"},
                          .flags = course_flags()});
  await_ranks(2);
  ASSERT_TRUE(await_status(*job, "phase running"));

  send(*job, "USR2");

  EXPECT_EQ(job->wait(), 75);
  EXPECT_EQ(told("checkpoint", 2), 2);
  EXPECT_EQ(told("crash", 2), 0);
  EXPECT_THAT(termination_log(), AllOf(HasSubstr("checkpoint"), HasSubstr("trainit: ")));
}

TEST_F(Lifecycle, SavesACheckpointOnRequestAndGoesOn) {
  scratch_.write(kTable, rank_table(2));
  const auto job = start({.command = {"loader", "3", "USR1", "stay"}, .flags = course_flags()});
  await_ranks(2);
  ASSERT_TRUE(await_status(*job, "phase running"));

  EXPECT_EQ(job->exec({"trainit", "checkpoint", "--keep-running"}).code, 0);
  for (const char* rank : {"0", "1"}) scratch_.await(std::string("out/checkpoint-") + rank);
  EXPECT_EQ(job->exec({"trainit", "status"}).code, 0) << "it runs";
  job->stop();

  EXPECT_EQ(job->wait(), 143);
  EXPECT_EQ(told("crash", 2), 0);
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

TEST_F(Lifecycle, IsReleasedByRootWhereTrainitIsAnotherUser) {
  const Container job({"--user", "1000:1000", "--tmpfs", "/tmp:mode=1777"},
                      {"--hold=1h", "--", "payload", "exit", "3"});
  ASSERT_TRUE(job.await_log("kept for debugging"));

  const Output status = run_program({"docker", "exec", "-u", "0", job.name(), "trainit", "status"});
  EXPECT_EQ(status.code, 1) << status.text;
  EXPECT_THAT(status.text, AllOf(HasSubstr("phase hold"), HasSubstr("trainit release")));
  const Output stranger =
      run_program({"docker", "exec", "-u", "2000", job.name(), "trainit", "release"});
  EXPECT_NE(stranger.code, 0) << stranger.text;
  const Output released =
      run_program({"docker", "exec", "-u", "0", job.name(), "trainit", "release"});
  EXPECT_EQ(released.code, 0) << released.text;

  EXPECT_EQ(job.wait(), 3);
}

TEST_F(Lifecycle, EndsTheWindowAtOnceOnAStopWithTheJobsCode) {
  const auto job = start_single({"--hold=1h"}, {"exit", "3"});
  ASSERT_TRUE(job->await_log("kept for debugging"));

  const auto before = Clock::now();
  job->stop();

  EXPECT_EQ(job->wait(), 3);
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(5));
}

TEST_F(Lifecycle, HasATerminalBesideTheJob) {
  const auto job =
      start_single({"--terminal=payload sleep-forever"}, {"wait-file", "/out/go", "exit", "0"});
  scratch_.await("out/ready-0");
  EXPECT_TRUE(await_status(*job, "terminal"));
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 0) << "the terminal holds nothing up";
}

TEST_F(Lifecycle, WarnsOfATerminalThatTheImageDoesNotHave) {
  const auto job = start_single({"--terminal=1", "--hold=0s"}, {"exit", "4"});

  EXPECT_EQ(job->wait(), 4);
  EXPECT_THAT(job->logs(), HasSubstr("no terminal: the image has no sshd"));
}

// --- The time limit ---

TEST_F(Lifecycle, ExtendsTheTimeOfAJobThatRuns) {
  constexpr std::chrono::seconds kAdded{4};  // more than was there
  const auto job = start_single({"--max-duration=3s"}, {"sleep-forever"});
  scratch_.await("out/ready-0");

  const Output extended = job->exec({"trainit", "extend", "--for", "4s"});
  const auto after = Clock::now();

  EXPECT_EQ(extended.code, 0) << extended.text;
  EXPECT_EQ(job->wait(), 124);
  EXPECT_GE(Clock::now() - after, kAdded);
  EXPECT_THAT(termination_log(), AllOf(HasSubstr("trainit: "), HasSubstr("--max-duration")));
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
    for (int other = 0; other < kMostNodes; ++other) {
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
  static constexpr int kMostNodes = 3;
  // Of RFC 2544's range, which is nobody's; another one for each run of this program.
  inline static const std::string kSubnet = "198.18." + std::to_string(getpid() % 256) + ".";
  static std::string address(int index) { return kSubnet + std::to_string(10 + index); }

  std::string network_;
  std::vector<std::unique_ptr<Container>> nodes_;
};

TEST_F(Cluster, RestartsTogetherWhenARankOfOneFails) {
  const Words options = {"--hosts=node-0,node-1", "--fan-out", "--master-addr=node-0",
                         "--restart-across-nodes", "--max-restarts=3"};
  script("out/train",
         "journal $RANK starts $TRAINIT_RESTART_COUNT\n"
         "wait-file /out/go-$RANK\n"
         "until-restart 1 9 exit 0");
  for (const int index : {0, 1}) {
    start_node(index, {"-e", "TRAINIT_NODE_RANK=" + std::to_string(index)}, options,
               {"lines", "/out/train"});
  }
  await_ranks(2);

  scratch_.write("out/go-1", "");
  ASSERT_TRUE(node(0).await_log("restart 1")) << "its own rank was well";
  EXPECT_THAT(node(0).logs(),
              HasSubstr("first failure: rank-1 (node 1 node-1) exited with code 9"));
  scratch_.write("out/go-0", "");

  EXPECT_EQ(node(0).wait(), 0);
  EXPECT_EQ(node(1).wait(), 0);
  EXPECT_THAT(journal(), AllOf(HasSubstr("0 starts 1\n"), HasSubstr("1 starts 1\n")));
}

// They meet before the first start too, and an engine may take its time between two containers.
TEST_F(Cluster, NamesTheNodesThatDoNotComeToTheRestartInTime) {
  const Words options = {"--hosts=node-0,node-1",
                         "--fan-out",
                         "--master-addr=node-0",
                         "--max-restarts=3",
                         "--restart-window=6s",
                         "--restart-across-nodes",
                         "--grace=60s"};
  script("out/train", "wait-file /out/go-$RANK\nexit 9");
  start_node(0, {"-e", "TRAINIT_NODE_RANK=0"}, options, {"lines", "/out/train"});
  start_node(1, {"-e", "TRAINIT_NODE_RANK=1"}, options, {"ignore-term"});
  await_ranks(2);

  scratch_.write("out/go-0", "");

  EXPECT_EQ(node(0).wait(), 69);
  EXPECT_THAT(node(0).logs(), HasSubstr("node 1 (node-1): still stopping"));
}

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
