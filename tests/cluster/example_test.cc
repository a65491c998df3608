// The images of images/*/Dockerfile: what trainit makes of a platform's variables in each, and the
// jobs of two nodes whose frameworks are here.

#include <gmock/gmock.h>

#include "tests/cluster/cluster.h"

namespace cluster {
namespace {

using docker::Container;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class Example : public ClusterTest {
 protected:
  static std::string plan(Image image, Words flags) {
    flags.insert(flags.end(), {"--entrypoint=trainit", "-e", "TRAINIT_LOG_LEVEL=error"});
    const Container container(flags, {"plan", "--json", "--", "python3", "train.py"},
                              {.image = tag_of(image)});
    EXPECT_EQ(container.wait(), 0);
    return container.logs();
  }

  // As the task-training platform starts node `index` of two with two cards each.
  static Words platform_flags(int index) {
    return {"-e", "VK_TASK_INDEX=" + std::to_string(index),
            "-e", "WORKER_HOST=node-0,node-1",
            "-e", "SLOTS=2"};
  }
};

TEST_F(Example, PytorchGetsItsLauncher) {
  EXPECT_THAT(plan(Image::kPytorch, platform_flags(1)),
              AllOf(HasSubstr("--nproc_per_node=2"), HasSubstr("--node_rank=1"),
                    HasSubstr("--master_addr=node-0")));
}

TEST_F(Example, HorovodGetsMpirunAndAHostfile) {
  EXPECT_THAT(plan(Image::kHorovod, {"--hostname=a", "-e", "TRAINIT_HOSTS=a:2,b:2"}),
              AllOf(HasSubstr("mpirun"), HasSubstr(R"(a slots=2\nb slots=2\n)"),
                    HasSubstr(R"("/usr/local/bin/trainit",)")));
}

TEST_F(Example, DeepspeedGetsItsRunnerAndAHostfile) {
  EXPECT_THAT(plan(Image::kDeepspeed, {"--hostname=a", "-e", "TRAINIT_HOSTS=a:2,b:2"}),
              AllOf(HasSubstr(R"("deepspeed",)"), HasSubstr(R"("--hostfile",)"),
                    HasSubstr(R"(a slots=2\nb slots=2\n)")));
}

TEST_F(Example, TensorflowGetsItsRole) {
  const Words cluster = {"-e", "VK_TASK_INDEX=0",    "-e", "PS_HOST=ps-0",
                         "-e", "WORKER_HOST=w-0,w-1"};
  for (const std::string host : {"ps-0", "w-0"}) {
    Words flags = cluster;
    flags.push_back("--hostname=" + host);
    EXPECT_THAT(plan(Image::kTensorflow, flags),
                AllOf(HasSubstr("TF_CONFIG"), HasSubstr(R"(\"ps\":[\"ps-0:2222\"])"),
                      HasSubstr(host == "ps-0" ? R"(\"type\":\"ps\")" : R"(\"type\":\"worker\")")));
  }
}

TEST_F(Example, MindsporeGetsARankForEachDeviceOfTheTable) {
  scratch_.write("jobstart_hccl.json",
                 R"({"status": "completed", "group_count": "1", "group_list": [
    {"group_name": "worker", "device_count": "2", "instance_count": "1", "instance_list": [
      {"pod_name": "job-0", "server_id": "10.0.0.1", "devices": [
        {"device_id": "0", "device_ip": "10.0.1.1"},
        {"device_id": "1", "device_ip": "10.0.1.2"}]}]}]})");
  EXPECT_THAT(plan(Image::kMindspore, {"-e", "RANK_TABLE_FILE=/user/config", "-v",
                                       scratch_.path("") + ":/user/config:ro"}),
              AllOf(HasSubstr("/tmp/trainit-1000/rank_table/jobstart_hccl.json"),
                    HasSubstr(R"("RANK_ID": "1")"), HasSubstr(R"("RANK_SIZE": "2")")));
}

TEST_F(Example, MpiRunsOverTwoNodes) {
  const Words key = key_flags();
  // The worker first: a name that the engine does not know yet costs the launcher seconds.
  for (int index = kNodes; index-- > 0;) {
    Node node{.flags = platform_flags(index), .args = {}};
    node.flags.insert(node.flags.end(), {"-e", std::string("TRAINIT_SSH_KEY=") + kKeyFile});
    node.flags.insert(node.flags.end(), key.begin(), key.end());
    start(Image::kHorovod, index, node);
  }
  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
  EXPECT_THAT(logs(), HasSubstr("rank 3 of 4 on node-1 uid=1000"));
}

TEST_F(Example, TorchrunRunsOverTwoNodes) {
  for (int index = 0; index < kNodes; ++index) {
    Node node{.flags = platform_flags(index), .args = {}};
    node.flags.insert(node.flags.end(),
                      {"-e", "TRAINIT_TORCH_LAUNCHER=torchrun", "-e", "TRAINIT_OUTPUT=inherit"});
    start(Image::kPytorch, index, node);
  }
  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
  EXPECT_THAT(logs(), HasSubstr("rank 3 of 4 on node-1"));
}

}  // namespace
}  // namespace cluster
