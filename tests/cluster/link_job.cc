#include "tests/cluster/link_job.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace cluster {

namespace fs = std::filesystem;

namespace {

// Reading and writing, so that it waits for the line and not for somebody who opens the other end;
// a trap runs at once.
constexpr const char* kStub = R"(
trap 'echo rank $RANK saved; exit 0' USR1
exec 3<>/ctl/rank-$RANK
echo rank $RANK up
read -r line <&3
eval "$line")";

}  // namespace

void LinkTest::describe_job(int nodes, const Words& options) {
  nodes_ = nodes;
  options_ = options;
  for (int rank = 0; rank < nodes * kRanksPerNode; ++rank) {
    ASSERT_EQ(mkfifo(scratch_.path("rank-" + std::to_string(rank)).c_str(), 0600), 0);
  }
}

void LinkTest::start_job(int nodes, const Words& options) {
  describe_job(nodes, options);
  for (int index = 0; index < nodes; ++index) start_node(index);
}

void LinkTest::start_node(int index, const Words& flags) {
  const std::string number = std::to_string(index);
  std::string hosts;
  for (int i = 0; i < nodes_; ++i) hosts += (i > 0 ? ",node-" : "node-") + std::to_string(i);
  scratch_.write("term-" + number, "");
  fs::create_directories(scratch_.path("run-" + number));
  fs::permissions(scratch_.path("run-" + number), fs::perms{0755});
  Node node{.flags = {"-e", "VK_TASK_INDEX=" + number, "-e", "WORKER_HOST=" + hosts, "-e",
                      "SLOTS=" + std::to_string(kRanksPerNode), "-v", scratch_.path("") + ":/ctl",
                      "-v", scratch_.path("term-" + number) + ":/dev/termination-log", "-v",
                      scratch_.path("run-" + number) + ":/run/trainit"},
            .args = {"--framework=pytorch", "--fan-out", "--output=inherit"}};
  node.flags.insert(node.flags.end(), flags.begin(), flags.end());
  node.args.insert(node.args.end(), options_.begin(), options_.end());
  node.args.insert(node.args.end(), {"--", "sh", "-c", kStub});
  start(Image::kTorch, index, node);
}

void LinkTest::await_up(int index, int times) const {
  std::string all;
  for (int local = 0; local < kRanksPerNode; ++local) {
    const std::string line = "rank " + std::to_string(index * kRanksPerNode + local) + " up";
    ASSERT_TRUE(node(index).await_log(line, times)) << logs();
  }
}

void LinkTest::await_all_up(int times) const {
  for (int index = 0; index < nodes_; ++index) await_up(index, times);
  for (int index = 1; index < nodes_; ++index) {
    ASSERT_TRUE(node(index).await_log("connected to node 0")) << logs();
  }
}

void LinkTest::order(int rank, const std::string& line) const {
  std::ofstream fifo(scratch_.path("rank-" + std::to_string(rank)));
  fifo << line << '\n';
}

void LinkTest::signal_pid1(int index, int signal) const {
  const int pid = atoi(node(index).inspect("{{.State.Pid}}").c_str());
  ASSERT_GT(pid, 1);
  ASSERT_EQ(kill(pid, signal), 0);
}

bool LinkTest::iptables(int index, const Words& rule) const {
  Words argv = {"nsenter", "--target", node(index).inspect("{{.State.Pid}}"), "--net", "iptables"};
  argv.insert(argv.end(), rule.begin(), rule.end());
  return docker::run_program(argv).code == 0;
}

std::string LinkTest::address_of(int index) const {
  return node(index).inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}");
}

void LinkTest::disconnect(int index) const {
  const auto done =
      docker::run_program({"docker", "network", "disconnect", network(), node(index).name()});
  ASSERT_EQ(done.code, 0) << done.text;
}

void LinkTest::connect(int index) const {
  const auto done =
      docker::run_program({"docker", "network", "connect", "--alias",
                           "node-" + std::to_string(index), network(), node(index).name()});
  ASSERT_EQ(done.code, 0) << done.text;
}

std::string LinkTest::message(int index) const {
  const std::string text = scratch_.read("term-" + std::to_string(index));
  return text.substr(0, text.find('\n'));
}

std::string LinkTest::state_failure(int index) const {
  const auto shown = docker::run_program(
      {"env", "TRAINIT_RUN_DIR=" + scratch_.path("run-" + std::to_string(index)),
       getenv("TRAINIT_BINARY"), "status", "--json"});
  const std::string key = R"("first_failure":)";
  const std::size_t at = shown.text.find(key);
  if (at == std::string::npos) return shown.text;
  const std::size_t begin = shown.text.find('"', at + key.size()) + 1;
  return shown.text.substr(begin, shown.text.find('"', begin) - begin);
}

void LinkTest::expect_same_failure(const std::vector<int>& nodes, std::string_view text) const {
  const std::string first = message(nodes.at(0));
  EXPECT_THAT(first, testing::HasSubstr(text));
  const std::string said = first.substr(std::string_view("trainit: ").size());
  for (const int index : nodes) {
    EXPECT_EQ(message(index), first) << "node " << index;
    EXPECT_EQ(state_failure(index), said) << "node " << index;
    EXPECT_THAT(node(index).logs(), testing::HasSubstr(said)) << "node " << index;
  }
}

void lasts(std::chrono::milliseconds length) { poll(nullptr, 0, static_cast<int>(length.count())); }

}  // namespace cluster
