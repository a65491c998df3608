// Open MPI and MPICH over two nodes: the launcher's mpirun reaches the other node through the
// hostfile and the sshd that trainit provides, and all containers end with one exit code.

#include <gmock/gmock.h>

#include "tests/cluster/cluster.h"

namespace cluster {
namespace {

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;

struct Engine {
  const char* name;
  const char* path;  // of the container
  const char* said;  // by a rank, about itself
  Words prefix;      // typed in front of the script
};
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const Engine kOpenMpi{"OpenMpi", "", "mpi4py on Open MPI", {}};
// The platform's own prefix is for Open MPI only: users of MPICH write theirs.
const Engine kMpich{"Mpich", "/opt/mpich/bin:", "MPICH", {"mpirun", "-np", "4"}};

struct Job {
  Engine engine;
  User user;
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.engine.name << job.user.name; }

class Mpi : public ClusterTest, public testing::WithParamInterface<Job> {
 protected:
  // As the task-training platform starts a Horovod-mode job of two nodes with two cards.
  [[nodiscard]] Node node(int index, const Words& script_args, const Words& options = {}) const {
    const auto& [engine, user] = GetParam();
    Node node{.flags = {"--user", user.name, "-e", std::string("PATH=") + engine.path + kPath, "-e",
                        "VK_TASK_INDEX=" + std::to_string(index), "-e", "WORKER_HOST=node-0,node-1",
                        "-e", "SLOTS=2", "-e", "TEST_MARK=node" + std::to_string(index)},
              .args = {"--framework=mpi", std::string("--ssh-key=") + kKeyFile}};
    const Words key = key_flags();
    node.flags.insert(node.flags.end(), key.begin(), key.end());
    node.args.insert(node.args.end(), options.begin(), options.end());
    node.args.emplace_back("--");
    node.args.insert(node.args.end(), engine.prefix.begin(), engine.prefix.end());
    node.args.insert(node.args.end(), {"python3", "/tests/mpi_allreduce.py"});
    node.args.insert(node.args.end(), script_args.begin(), script_args.end());
    return node;
  }

  void start_all(const Words& script_args) {
    // The workers first: a name that the engine does not know yet costs the launcher seconds.
    for (int index = kNodes; index-- > 0;) start(Image::kMpi, index, node(index, script_args));
  }

  // Until every rank has seen the sum of all.
  void await_ranks() const {
    for (int rank = 0; rank < 4; ++rank) {
      const std::string said = "rank " + std::to_string(rank) + " of 4 on ";
      ASSERT_TRUE(ClusterTest::node(0).await_log(said)) << logs();
    }
  }
};

TEST_P(Mpi, AllreducesOverAllSlotsAndEndsEverywhereWith0) {
  start_all({});

  EXPECT_THAT(wait_for_all(), Each(0));
  const std::string said = ClusterTest::node(0).logs();
  for (int rank = 0; rank < 4; ++rank) {
    const std::string host = std::to_string(rank / 2);
    EXPECT_THAT(said, ContainsRegex("rank " + std::to_string(rank) + " of 4 on node-" + host +
                                    " uid=" + std::to_string(GetParam().user.uid) +
                                    " mark=node[01]: sum 10 by " + GetParam().engine.said));
  }
}

// A rank that reports its failure; Hydra 4.0 leaves the other nodes waiting for one that just ends.
TEST_P(Mpi, EndsEverywhereWithTheCodeOfAFailedRank) {
  start_all({"--fail-on-rank=3", "--code=3", "--abort"});

  EXPECT_THAT(wait_for_all(), Each(3));
}

TEST_P(Mpi, EndsEverywhereWith143WhenAllAreStopped) {
  start_all({"--until-stopped"});
  await_ranks();

  stop_all(10);

  EXPECT_THAT(wait_for_all(), Each(143));
}

TEST_P(Mpi, EndsEverywhereWith143WhenTheLauncherIsStopped) {
  start_all({"--until-stopped"});
  await_ranks();

  ClusterTest::node(0).stop(10);

  EXPECT_THAT(wait_for_all(), Each(143));
}

TEST_P(Mpi, WaitsForAWorkerThatStartsLater) {
  start(Image::kMpi, 0, node(0, {}));
  ASSERT_TRUE(ClusterTest::node(0).await_log("node-1"));

  start(Image::kMpi, 1, node(1, {}));

  EXPECT_THAT(wait_for_all(), Each(0));
}

INSTANTIATE_TEST_SUITE_P(Cluster, Mpi,
                         testing::Values(Job{kOpenMpi, kRoot}, Job{kOpenMpi, kTrainer},
                                         Job{kMpich, kRoot}, Job{kMpich, kTrainer}),
                         [](const auto& tested) {
                           return std::string(tested.param.engine.name) + "As" +
                                  (tested.param.user.uid == 0 ? "Root" : "User");
                         });

class MpiAlone : public Mpi {};

TEST_P(MpiAlone, AWorkerWithoutALauncherEndsWith124) {
  start(Image::kMpi, 0, node(0, {}, {"--node-rank=1", "--launcher-timeout=2s"}));

  EXPECT_THAT(wait_for_all(), Each(124));
}

TEST_P(MpiAlone, ALauncherWithoutAWorkerEndsWith124AndSaysWhichIsMissing) {
  start(Image::kMpi, 0, node(0, {}, {"--peer-timeout=2s"}));

  EXPECT_THAT(wait_for_all(), Each(124));
  EXPECT_THAT(logs(), HasSubstr("node-1"));
}

INSTANTIATE_TEST_SUITE_P(Cluster, MpiAlone, testing::Values(Job{kOpenMpi, kTrainer}),
                         [](const auto& tested) { return tested.param.engine.name; });

}  // namespace
}  // namespace cluster
