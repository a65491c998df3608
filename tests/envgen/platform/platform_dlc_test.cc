#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Words kTrain = {"python", "train.py"};

Container node(int rank, int count) {
  Container one;
  one.variables = {"MASTER_ADDR=dlc18is-master-0", "MASTER_PORT=23456",
                   "WORLD_SIZE=" + std::to_string(count), "RANK=" + std::to_string(rank),
                   "NPROC_PER_NODE=8"};
  return one;
}

constexpr const char* kTfConfig =
    R"({"cluster":{"ps":["dlc1y-ps-0.t1.svc:2222"],"worker":["dlc1y-worker-0.t1.svc:2222",)"
    R"("dlc1y-worker-1.t1.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"})";

// --- detection

TEST(Dlc, IsRecognisedByItsJobsNames) {
  EXPECT_EQ(detected("dlc", {"DLC_JOB_ID=dlc18is"}), "DLC_JOB_ID is set");
  EXPECT_EQ(detected("dlc", node(0, 2).variables), "MASTER_ADDR is a DLC job's");
  EXPECT_EQ(detected("dlc", {"TF_CONFIG=" + std::string(kTfConfig)}),
            "TF_CONFIG lists a DLC job's hosts");
}

TEST(Dlc, DoesNotTakeOtherPlatformsJobs) {
  EXPECT_EQ(detected("dlc", {"MASTER_ADDR=job-master-0", "MASTER_PORT=23456", "WORLD_SIZE=2",
                             "RANK=0", "PET_NNODES=2"}),
            "");
  EXPECT_EQ(detected("dlc", {R"(TF_CONFIG={"cluster":{"worker":["job-worker-0.ns.svc:2222"]}})"}),
            "");
  EXPECT_EQ(detected("dlc", {"MASTER_ADDR=10.0.0.1", "WORLD_SIZE=2", "RANK=0", "VK_TASK_INDEX=0"}),
            "");
}

TEST(Dlc, IsTriedBeforeKubeflowWhoseVariablesItAlsoSets) {
  EXPECT_EQ(platform_of(node(0, 2).variables), "dlc");
  EXPECT_EQ(platform_of({"TF_CONFIG=" + std::string(kTfConfig)}), "dlc");
}

// --- PyTorch

TEST(DlcPyTorch, WorldSizeCountsNodesAndRankIsTheNodes) {
  for (int rank : {0, 2}) {
    ResolvedCluster resolved = locate("dlc", node(rank, 3), kTrain);
    EXPECT_EQ(resolved.local_node.node_rank, rank);
    ASSERT_THAT(resolved.cluster.nodes, SizeIs(3));
    EXPECT_EQ(resolved.cluster.nodes[0].host, "dlc18is-master-0");
    EXPECT_EQ(resolved.cluster.nodes[1].host, "");
    EXPECT_EQ(resolved.cluster.world_size, 24);
    EXPECT_EQ(resolved.cluster.master_addr, "dlc18is-master-0");
    EXPECT_EQ(resolved.cluster.master_port, 23456);
    EXPECT_EQ(resolved.platform.framework, "pytorch");
    EXPECT_EQ(resolved.platform.framework_reason, "MASTER_ADDR is set");
  }
}

TEST(DlcPyTorch, WhatACommandMaySayIsPromised) {
  const PlatformFacts platform = locate("dlc", node(1, 2), {"torchrun", "train.py"}).platform;
  EXPECT_EQ(promised(platform, "WORLD_SIZE"), "2");
  EXPECT_EQ(promised(platform, "RANK"), "1");
  EXPECT_EQ(promised(platform, "NPROC_PER_NODE"), "8");
  EXPECT_EQ(promised(platform, "MASTER_ADDR"), "dlc18is-master-0");
  EXPECT_EQ(promised(platform, "MASTER_PORT"), "23456");
}

TEST(DlcPyTorch, UntoldCardsAreCounted) {
  Container one = node(0, 2);
  one.variables.pop_back();
  one.paths["/dev"] = directory({"nvidia0", "nvidia1", "nvidiactl"});
  EXPECT_EQ(locate("dlc", one, kTrain).cluster.world_size, 4);
}

TEST(DlcPyTorch, ANodeThatCannotBeIsRefused) {
  EXPECT_THAT(refusal("dlc", node(2, 2), kTrain), AllOf(HasSubstr("RANK"), HasSubstr("2 nodes")));
  Container one = node(0, 2);
  one.variables[2] = "WORLD_SIZE=two";
  EXPECT_THAT(refusal("dlc", one, kTrain), HasSubstr("\"two\""));
  one.variables[2] = "WORLD_SIZE=";
  EXPECT_THAT(refusal("dlc", one, kTrain), HasSubstr("WORLD_SIZE"));
  one = node(0, 2);
  one.variables[3] = "RANK=";
  EXPECT_THAT(refusal("dlc", one, kTrain), AllOf(HasSubstr("RANK"), HasSubstr("not set")));
}

TEST(DlcPyTorch, OneNodeAsksForNoLauncher) {
  ResolvedCluster resolved = locate("dlc", node(0, 1), kTrain);
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(1));
  EXPECT_EQ(resolved.platform.framework, "");
}

TEST(DlcPyTorch, ACommandWithAnotherLauncherIsLeftToThat) {
  EXPECT_EQ(locate("dlc", node(0, 2), {"mpirun", "x"}).platform.framework, "");
  EXPECT_EQ(locate("dlc", node(0, 2), {"torchrun", "x.py"}).platform.framework, "pytorch");
}

// --- TensorFlow

TEST(DlcTensorFlow, TheInjectedConfigIsKeptAndSaysWhoIsWho) {
  Container one;
  one.variables = {"TF_CONFIG=" + std::string(kTfConfig)};
  ResolvedCluster resolved = locate("dlc", one, kTrain);
  EXPECT_EQ(resolved.platform.tf_config, kTfConfig);
  EXPECT_EQ(resolved.platform.framework, "tensorflow");
  ASSERT_THAT(resolved.cluster.nodes, SizeIs(3));
  EXPECT_EQ(resolved.cluster.nodes[1].host, "dlc1y-worker-1.t1.svc");
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

TEST(DlcTensorFlow, AConfigThatTensorFlowCannotReadIsRefused) {
  Container one;
  one.variables = {"DLC_JOB_ID=dlc1y", "TF_CONFIG={'cluster': {}}"};
  EXPECT_THAT(refusal("dlc", one, kTrain), HasSubstr("TF_CONFIG"));
}

// --- where it starts

TEST(Dlc, TheClonedCodeIsTheStartOfAnImageWithoutADirectory) {
  Container one = node(0, 2);
  one.paths["/root/code"] = directory();
  one.cwd = "/";
  EXPECT_EQ(locate("dlc", one, kTrain).platform.cwd, "/root/code");
  one.cwd = "/root";
  EXPECT_EQ(locate("dlc", one, kTrain).platform.cwd, "/root/code");
  one.cwd = "/workspace";
  EXPECT_EQ(locate("dlc", one, kTrain).platform.cwd, "");
  one.paths.clear();
  one.cwd = "/";
  EXPECT_EQ(locate("dlc", one, kTrain).platform.cwd, "");
}

TEST(Dlc, NeitherMasterNorConfigIsOneNode) {
  Container one;
  one.variables = {"DLC_JOB_ID=dlc1y"};
  one.paths["/dev"] = directory({"nvidia0", "nvidia1"});
  ResolvedCluster resolved = locate("dlc", one, kTrain);
  EXPECT_EQ(resolved.cluster.world_size, 2);
  EXPECT_EQ(resolved.platform.framework, "");
  EXPECT_THAT(resolved.platform.env, IsEmpty());
}

}  // namespace
}  // namespace envgen::jobs
