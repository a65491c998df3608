// PyTorch 1.13 with gloo over two nodes with two ranks each: under torchrun, under torchrun whose
// workers have sessions of their own as those of 2.x have, under torch.distributed.launch, and
// started by trainit.

#include <gmock/gmock.h>

#include "tests/cluster/cluster.h"

namespace cluster {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Way {
  const char* name;
  Words options;        // trainit's
  Words command;        // up to the script's arguments
  int code_of_failure;  // of a rank that ends with 3, on its node
  bool agents = true;
  bool own_sessions = false;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

const Words kScript = {"python3", "/tests/torch_allreduce.py"};

// Agents say 1 for any worker.
const Way kTorchrun{"Torchrun", {"--torch-launcher=torchrun"}, kScript, 1};
const Way kLaunch{"Launch", {}, kScript, 1};
const Way kFanOut{"FanOut", {"--fan-out"}, kScript, 3, false};
// As the platform's page has its users write it.
const Way kOwnSessions{
    "TorchrunWithSetsid",
    {},
    {"bash", "-c",
     "exec torchrun --nnodes ${WORLD_SIZE} --nproc_per_node ${SLOTS} --node_rank ${RANK} "
     "--master_addr ${MASTER_ADDR} --master_port ${MASTER_PORT} "
     "--no_python setsid python3 /tests/torch_allreduce.py \"$@\"",
     "torchrun"},
    1,
    true,
    true};

class PyTorch : public ClusterTest, public testing::WithParamInterface<Way> {
 protected:
  void start_all(const Words& script_args) {
    const Way& way = GetParam();
    for (int index = 0; index < kNodes; ++index) {
      Node node{.flags = {"-e", "VK_TASK_INDEX=" + std::to_string(index), "-e",
                          "WORKER_HOST=node-0,node-1", "-e", "SLOTS=2"},
                .args = {"--framework=pytorch", "--output=inherit"}};
      node.args.insert(node.args.end(), way.options.begin(), way.options.end());
      node.args.emplace_back("--");
      node.args.insert(node.args.end(), way.command.begin(), way.command.end());
      node.args.insert(node.args.end(), script_args.begin(), script_args.end());
      start(Image::kTorch, index, node);
    }
  }

  static std::string line_of(int rank) { return "rank " + std::to_string(rank) + " of 4 on node-"; }

  // Until every rank has seen the sum of all.
  void await_ranks() const {
    for (int rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(node(rank / 2).await_log(line_of(rank))) << logs();
    }
  }
};

TEST_P(PyTorch, AllreducesOverAllRanksAndEndsEverywhereWith0) {
  start_all({});

  EXPECT_THAT(wait_for_all(), Each(0));
  for (int rank = 0; rank < 4; ++rank) {
    const std::string session = GetParam().own_sessions ? "True" : "(True|False)";
    EXPECT_THAT(node(rank / 2).logs(),
                ContainsRegex(line_of(rank) + std::to_string(rank / 2) +
                              " local=" + std::to_string(rank % 2) + " uid=0 session=" + session +
                              ": sum 10 by gloo"));
  }
}

TEST_P(PyTorch, EndsEverywhereWhenARankFails) {
  start_all({"--fail-on-rank=3", "--code=3"});

  // Its ranks on the other node fail in the next allreduce. Agents look at theirs every five
  // seconds only, and the failure of the agent that looks first is the first.
  const int code = GetParam().code_of_failure;
  if (GetParam().agents) {
    EXPECT_THAT(wait_for_all(), AnyOf(ElementsAre(76, code), ElementsAre(code, 76)));
  } else {
    EXPECT_THAT(wait_for_all(), ElementsAre(76, code));
    EXPECT_THAT(node(0).logs(),
                HasSubstr("first failure: rank-3 (node 1 node-1) exited with code 3"));
  }
}

TEST_P(PyTorch, EndsEverywhereWith143WhenAllAreStopped) {
  start_all({"--until-stopped"});
  await_ranks();

  stop_all();

  EXPECT_THAT(wait_for_all(), Each(143));
}

INSTANTIATE_TEST_SUITE_P(Cluster, PyTorch,
                         testing::Values(kTorchrun, kOwnSessions, kLaunch, kFanOut),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace cluster
