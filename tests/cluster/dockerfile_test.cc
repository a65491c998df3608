// Dockerfile.gpu and Dockerfile.ascend, built on images of Debian with the real engines.

#include <gmock/gmock.h>

#include "tests/cluster/cluster.h"

namespace cluster {
namespace {

using docker::Container;
using ::testing::Each;
using ::testing::HasSubstr;

class Dockerfile : public ClusterTest, public testing::WithParamInterface<Image> {
 protected:
  static std::string run(const Words& flags, const std::string& script) {
    const Container container(flags, {"sh", "-c", script}, {.image = tag_of(GetParam())});
    EXPECT_EQ(container.wait(), 0) << container.logs();
    return container.logs();
  }
};

TEST_P(Dockerfile, StartsACommandAsTheUserOfModelArts) {
  EXPECT_THAT(run({}, "echo $(id -u):$(id -g):$(id -un):$HOME:$PWD; cd; touch mine"),
              HasSubstr("1000:100:ma-user:/home/ma-user:/home/ma-user"));
}

TEST_P(Dockerfile, RunsAsRootAndOnAReadOnlyRoot) {
  EXPECT_THAT(run({"--user=0"}, "id -u; ! touch /etc/x || rm /etc/x"), HasSubstr("0\n"));
  EXPECT_THAT(run({"--read-only"}, "touch /home/ma-user/x || echo refused"), HasSubstr("refused"));
  EXPECT_THAT(run({"--read-only", "--user=0", "--tmpfs=/run"}, "ls /run/trainit"),
              HasSubstr("state.json"));
}

TEST_P(Dockerfile, HoldsNoKeyAndNothingOfOursThatAllMayWrite) {
  EXPECT_EQ(
      run({"--user=0", "-e", "TRAINIT_LOG_LEVEL=error"},
          "find / -xdev -name 'ssh_host_*'; find /usr/local /etc /home ! -type l -perm -0002"),
      "");
}

TEST_P(Dockerfile, HasHooksAHealthCheckAndAHint) {
  EXPECT_THAT(run({}, "ls /etc/trainit/hooks"), HasSubstr("pre-start.d"));
  const Container container({}, {"sleep", "1000"}, {.image = tag_of(GetParam())});
  EXPECT_THAT(container.inspect("{{.Config.Healthcheck.Test}}"), HasSubstr("trainit status"));
  ASSERT_TRUE(container.await_log("starting main"));
  EXPECT_EQ(container.exec({"trainit", "status"}).code, 0);
  const Container without({}, {}, {.image = tag_of(GetParam())});
  EXPECT_EQ(without.wait(), 125);
  EXPECT_THAT(without.logs(), HasSubstr("give the training command"));
}

INSTANTIATE_TEST_SUITE_P(Both, Dockerfile, testing::Values(Image::kAscend, Image::kGpu),
                         [](const auto& of) {
                           return of.param == Image::kAscend ? "Ascend" : "Gpu";
                         });

class DockerfileJob : public ClusterTest {};

TEST_F(DockerfileJob, RunsMpiOverTwoNodes) {
  const Words key = key_flags();
  for (int index = kNodes; index-- > 0;) {
    Node node{.flags = {"-e", "VK_TASK_INDEX=" + std::to_string(index), "-e",
                        "WORKER_HOST=node-0,node-1", "-e", "SLOTS=2", "-e", "TRAINIT_FRAMEWORK=mpi",
                        "-e", std::string("TRAINIT_SSH_KEY=") + kKeyFile},
              .args = {"python3", "/tests/mpi_allreduce.py"}};
    node.flags.insert(node.flags.end(), key.begin(), key.end());
    start(Image::kAscend, index, node);
  }
  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
  EXPECT_THAT(logs(), HasSubstr("rank 3 of 4 on node-1 uid=1000"));
}

TEST_F(DockerfileJob, RunsTorchrunOverTwoNodes) {
  for (int index = 0; index < kNodes; ++index) {
    start(
        Image::kGpu, index,
        {.flags = {"-e", "VK_TASK_INDEX=" + std::to_string(index), "-e",
                   "WORKER_HOST=node-0,node-1", "-e", "SLOTS=2", "-e", "TRAINIT_FRAMEWORK=pytorch",
                   "-e", "TRAINIT_TORCH_LAUNCHER=torchrun", "-e", "TRAINIT_OUTPUT=inherit"},
         .args = {"python3", "/tests/torch_allreduce.py"}});
  }
  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
  EXPECT_THAT(logs(), HasSubstr("rank 3 of 4 on node-1"));
}

}  // namespace
}  // namespace cluster
