// Open MPI and MPICH over two nodes: the launcher's mpirun reaches the other node through the
// hostfile and the sshd that trainit provides, and all containers end with it.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/cluster/cluster.h"

namespace cluster {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
TEST_P(Mpi, EndsEverywhereWhenARankFails) {
  start_all({"--fail-on-rank=3", "--code=3", "--abort"});

  // The job is short: the link may have been made by then, or not.
  EXPECT_THAT(wait_for_all(), ElementsAre(3, AnyOf(76, 3)));
}

INSTANTIATE_TEST_SUITE_P(Cluster, Mpi,
                         testing::Values(Job{kOpenMpi, kRoot}, Job{kOpenMpi, kTrainer},
                                         Job{kMpich, kRoot}, Job{kMpich, kTrainer}),
                         [](const auto& tested) {
                           return std::string(tested.param.engine.name) + "As" +
                                  (tested.param.user.uid == 0 ? "Root" : "User");
                         });

// Each engine stops in its own way, whoever it runs as.
class MpiStop : public Mpi {};

TEST_P(MpiStop, EndsEverywhereWith143WhenAllAreStopped) {
  start_all({"--until-stopped"});
  await_ranks();

  stop_all();

  EXPECT_THAT(wait_for_all(), Each(143));
}

TEST_P(MpiStop, EndsEverywhereWhenTheLauncherIsStopped) {
  start_all({"--until-stopped"});
  await_ranks();
  ASSERT_TRUE(ClusterTest::node(1).await_log("connected to node 0")) << logs();

  ClusterTest::node(0).stop();

  EXPECT_THAT(wait_for_all(), ElementsAre(143, 76));
}

INSTANTIATE_TEST_SUITE_P(Cluster, MpiStop,
                         testing::Values(Job{kOpenMpi, kTrainer}, Job{kMpich, kRoot}),
                         [](const auto& tested) { return tested.param.engine.name; });

// What waits is ours, whatever is launched.
class MpiAlone : public Mpi {};

TEST_P(MpiAlone, WaitsForAWorkerThatStartsLater) {
  start(Image::kMpi, 0, node(0, {}));
  ASSERT_TRUE(ClusterTest::node(0).await_log("node-1"));

  start(Image::kMpi, 1, node(1, {}));

  EXPECT_THAT(wait_for_all(), Each(0));
}

TEST_P(MpiAlone, AWorkerWithoutALauncherEndsWith69) {
  start(Image::kMpi, 1, node(1, {}, {"--launcher-timeout=2s"}));

  EXPECT_THAT(wait_for_all(), Each(69));
}

TEST_P(MpiAlone, ALauncherWithoutAWorkerEndsWith69AndSaysWhichIsMissing) {
  start(Image::kMpi, 0, node(0, {}, {"--peer-timeout=2s"}));

  EXPECT_THAT(wait_for_all(), Each(69));
  EXPECT_THAT(logs(), HasSubstr("node-1"));
}

constexpr const char* kToldByLauncher = "the launcher says that the job ended with 0";
constexpr const char* kNotTold = "could not be told";

// When the job ends there is no ssh any more.
TEST_P(MpiAlone, AWorkerHearsTheEndByTheLink) {
  for (int index = kNodes; index-- > 0;) {
    Node node = MpiAlone::node(index, {});
    node.flags.insert(node.flags.end(), {"--user", "root"});
    const auto command = std::ranges::find(node.args, "--") + 1;
    node.args.erase(command, node.args.end());
    node.args.insert(node.args.end(), {"bash", "-c",
                                       "mpirun -np 4 python3 /tests/mpi_allreduce.py && "
                                       "ln -sf /bin/false /usr/bin/ssh"});
    start(Image::kMpi, index, node);
  }

  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
  EXPECT_THAT(ClusterTest::node(1).logs(), HasSubstr(kToldByLauncher));
  EXPECT_THAT(ClusterTest::node(0).logs(), Not(HasSubstr(kNotTold)));
}

TEST_P(MpiAlone, AWorkerWithoutALinkHearsTheEndBySsh) {
  for (int index = kNodes; index-- > 0;) {
    start(Image::kMpi, index, node(index, {}, {"--link-port=" + std::to_string(4000 + index)}));
  }

  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
  EXPECT_THAT(ClusterTest::node(1).logs(), HasSubstr(kToldByLauncher));
}

INSTANTIATE_TEST_SUITE_P(Cluster, MpiAlone, testing::Values(Job{kOpenMpi, kTrainer}),
                         [](const auto& tested) { return tested.param.engine.name; });

}  // namespace
}  // namespace cluster
