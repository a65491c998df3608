#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

Container with(Words variables, int gpus = 0) {
  Container one;
  one.variables = std::move(variables);
  Words devices = {"null"};
  for (int i = 0; i < gpus; ++i) devices.push_back("nvidia" + std::to_string(i));
  one.paths["/dev"] = directory(devices);
  return one;
}

Request pytorch(Words command = {"python", "train.py"}) {
  Request request = request_of(std::move(command));
  request.framework = "pytorch";
  return request;
}

std::string seen(const Words& variables, const Request& request) {
  Snapshot snapshot;
  snapshot.env = base::Environ(variables);
  Inputs inputs(snapshot, request);
  return platform_named("env").detect(inputs).value_or("");
}

const Words kSecondOfTwo = {"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=pod-0"};

TEST(Env, IsSeenOnlyWhereRanksAreAskedFor) {
  EXPECT_THAT(seen(kSecondOfTwo, pytorch()), HasSubstr("RANK, WORLD_SIZE"));
  EXPECT_EQ(seen(kSecondOfTwo, request_of({"python", "train.py"})), "");
  Request single = request_of({"python", "train.py"});
  single.framework = "single";
  EXPECT_EQ(seen(kSecondOfTwo, single), "");
}

TEST(Env, NeedsARankACountAndAMaster) {
  EXPECT_EQ(seen({"WORLD_SIZE=2", "RANK=1"}, pytorch()), "");
  EXPECT_EQ(seen({"WORLD_SIZE=2", "MASTER_ADDR=a"}, pytorch()), "");
  EXPECT_EQ(seen({"WORLD_SIZE=1", "RANK=0", "MASTER_ADDR=a"}, pytorch()), "") << "one is none";
  EXPECT_THAT(seen({"NNODES=2", "NODE_RANK=1", "MASTER_ADDR=a"}, pytorch()), HasSubstr("NNODES"));
  EXPECT_THAT(seen({"NUM_NODES=2", "NODE_RANK=1", "MASTER_ADDR=a"}, pytorch()),
              HasSubstr("NUM_NODES"));
  EXPECT_EQ(seen({"NUM_NODES=2", "MASTER_ADDR=a"}, pytorch()), "") << "those of a graph";
  EXPECT_EQ(seen({"NUM_NODES=1", "NODE_RANK=0", "MASTER_ADDR=a"}, pytorch()), "");
  Request request = pytorch();
  request.master_addr = "a";
  EXPECT_NE(seen({"WORLD_SIZE=2", "RANK=1"}, request), "");
}

TEST(Env, LeavesTheWordToWhoeverNamesTheNodes) {
  Request request = pytorch();
  request.hosts = "a,b";
  EXPECT_EQ(seen(kSecondOfTwo, request), "");
  request = pytorch();
  request.nodes = 2;
  request.node_rank = 1;
  EXPECT_EQ(seen(kSecondOfTwo, request), "");
}

TEST(Env, AsNodesHasTheRanksOfThisNodeOnEach) {
  Request request = pytorch();
  request.rank_means = RankMeans::kNode;
  ResolvedCluster resolved = locate("env", with(kSecondOfTwo, 8), request);
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(2));
  EXPECT_EQ(resolved.cluster.world_size, 16);
  EXPECT_EQ(resolved.cluster.master_addr, "pod-0");
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_FALSE(resolved.platform.own_rank);
}

TEST(Env, AsProcessesIsOneRankOfItsNode) {
  Request request = pytorch();
  request.rank_means = RankMeans::kProcess;
  Container one = with({"WORLD_SIZE=16", "RANK=11", "MASTER_ADDR=pod-0", "MASTER_PORT=4000"}, 8);
  ResolvedCluster resolved = locate("env", one, request);
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(2));
  EXPECT_EQ(resolved.cluster.world_size, 16);
  EXPECT_EQ(resolved.cluster.master_port, 4000);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.platform.own_rank, 11);
  EXPECT_EQ(resolved.platform.local_rank, 3);
}

TEST(Env, LocalNumbersSettleThatItIsAProcess) {
  ResolvedCluster resolved = locate(
      "env",
      with({"WORLD_SIZE=4", "RANK=3", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=a"}, 8),
      pytorch());
  EXPECT_EQ(resolved.platform.own_rank, 3);
  EXPECT_EQ(resolved.platform.local_rank, 1);
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(2));
}

TEST(Env, NumbersOfNodesSettleThatItIsANode) {
  for (const Words& variables :
       {Words{"NNODES=2", "NODE_RANK=1", "MASTER_ADDR=a"},
        Words{"NNODES=2", "NODE_RANK=1", "WORLD_SIZE=16", "MASTER_ADDR=a"},
        Words{"NNODES=2", "WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=a"},
        Words{"NUM_NODES=2", "NODE_RANK=1", "MASTER_ADDR=a"},
        Words{"NUM_NODES=2", "NODE_RANK=1", "WORLD_SIZE=16", "MASTER_ADDR=a"},
        Words{"NUM_NODES=34", "NNODES=2", "NODE_RANK=1", "MASTER_ADDR=a"}}) {
    ResolvedCluster resolved = locate("env", with(variables, 8), pytorch());
    EXPECT_THAT(resolved.cluster.nodes, SizeIs(2)) << variables[1];
    EXPECT_EQ(resolved.cluster.world_size, 16) << variables[1];
    EXPECT_EQ(resolved.local_node.node_rank, 1) << variables[1];
  }
}

TEST(Env, BothMeaningsAreOneWhereANodeHasOneRank) {
  ResolvedCluster resolved = locate("env", with(kSecondOfTwo), pytorch());
  EXPECT_EQ(resolved.cluster.world_size, 2);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

TEST(Env, ATypedLauncherIsStartedOnceOnANode) {
  ResolvedCluster resolved =
      locate("env", with(kSecondOfTwo, 8), pytorch({"torchrun", "train.py"}));
  EXPECT_EQ(resolved.cluster.world_size, 16);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

TEST(Env, AsksWhereItIsOpen) {
  EXPECT_THAT(refusal("env", with(kSecondOfTwo, 8), pytorch()),
              AllOf(HasSubstr("RANK and WORLD_SIZE"), HasSubstr("\"1\" and \"2\""),
                    HasSubstr("8 ranks on a node"), HasSubstr("--rank-means node"),
                    HasSubstr("--rank-means process"), HasSubstr("--platform local")));
}

TEST(Env, RefusesNumbersThatDoNotFit) {
  Request nodes = pytorch();
  nodes.rank_means = RankMeans::kNode;
  EXPECT_THAT(refusal("env", with({"WORLD_SIZE=2", "RANK=2", "MASTER_ADDR=a"}), nodes),
              HasSubstr("node ranks go from 0 to 1"));
  EXPECT_THAT(refusal("env", with({"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=localhost"}), nodes),
              HasSubstr("this node itself"));
  Request processes = pytorch();
  processes.rank_means = RankMeans::kProcess;
  EXPECT_THAT(
      refusal("env", with({"WORLD_SIZE=7", "RANK=1", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=a"}),
              processes),
      HasSubstr("multiple"));
  EXPECT_THAT(refusal("env",
                      with({"WORLD_SIZE=8", "RANK=3", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=4",
                            "MASTER_ADDR=a"}),
                      processes),
              HasSubstr("follow one another"));
  EXPECT_THAT(
      refusal("env", with({"NNODES=2", "NODE_RANK=0", "WORLD_SIZE=7", "MASTER_ADDR=a"}), pytorch()),
      HasSubstr("NNODES"));
  EXPECT_THAT(refusal("env", with({"NUM_NODES=2", "NODE_RANK=0", "WORLD_SIZE=7", "MASTER_ADDR=a"}),
                      pytorch()),
              HasSubstr("NUM_NODES"));
}

TEST(Env, ARankThatIsOfAnotherNodeIsAContradiction) {
  const auto ranked = [](const char* rank, const char* world) {
    return with({"NUM_NODES=2", "NODE_RANK=1", "MASTER_ADDR=a", rank, world}, 8);
  };
  for (const auto& [rank, world] :
       {std::pair("RANK=0", "WORLD_SIZE=2"), std::pair("RANK=0", "WORLD_SIZE=16"),
        std::pair("RANK=7", "WORLD_SIZE=16")}) {
    EXPECT_THAT(refusal("env", ranked(rank, world), pytorch()), HasSubstr("NODE_RANK and RANK"))
        << rank << " " << world;
    Request told = pytorch();
    told.node_rank = 1;
    EXPECT_EQ(locate("env", ranked(rank, world), told).local_node.node_rank, 1);
  }
  EXPECT_THAT(
      refusal("env", with({"NNODES=2", "NODE_RANK=1", "MASTER_ADDR=a", "RANK=0"}), pytorch()),
      HasSubstr("NODE_RANK and RANK"));
  EXPECT_THAT(
      refusal("env", with({"NNODES=1", "NODE_RANK=0", "MASTER_ADDR=a", "RANK=1", "WORLD_SIZE=2"}),
              pytorch()),
      HasSubstr("NODE_RANK and RANK"));
  for (const char* rank : {"RANK=1", "RANK=8", "RANK=15"}) {
    EXPECT_EQ(locate("env", ranked(rank, "WORLD_SIZE=16"), pytorch()).local_node.node_rank, 1)
        << rank;
  }
}

TEST(Env, AsksForWhatIsMissingOfWhatThereIs) {
  EXPECT_THAT(refusal("env", with({"NNODES=2", "MASTER_ADDR=a"}, 8), pytorch()),
              HasSubstr("set NODE_RANK, or"));
  EXPECT_THAT(refusal("env", with({"NODE_RANK=1", "MASTER_ADDR=a"}, 8), pytorch()),
              HasSubstr("set NNODES, or"));
  Request second = pytorch();
  second.node_rank = 1;
  ResolvedCluster resolved = locate("env", with({"NNODES=2", "MASTER_ADDR=a"}, 8), second);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.world_size, 16);
}

}  // namespace
}  // namespace envgen::jobs
