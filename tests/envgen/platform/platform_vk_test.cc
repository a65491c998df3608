#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Words kTrain = {"python", "/workspace/algorithm/train.py"};

Container worker(int index, Words more = {}) {
  Container node;
  node.variables = {"VK_TASK_INDEX=" + std::to_string(index),
                    "WORKER_HOST=job-worker-0,job-worker-1,job-worker-2", "SLOTS=4"};
  node.variables.insert(node.variables.end(), more.begin(), more.end());
  node.host_name = "job-worker-" + std::to_string(index);
  return node;
}

Container with_ps(const std::string& role, int index) {
  Container node;
  node.variables = {"VK_TASK_INDEX=" + std::to_string(index),
                    "WORKER_HOST=job-worker-0:2222,job-worker-1:2222",
                    "PS_HOST=job-ps-0:2222,job-ps-1:2222"};
  node.host_name = "job-" + role + "-" + std::to_string(index);
  return node;
}

Request mode(const std::string& framework, Words command = kTrain) {
  Request request = request_of(std::move(command));
  request.framework = framework;
  return request;
}

// --- detection

TEST(Vk, IsRecognisedByItsIndexTogetherWithItsHostsOrSlots) {
  EXPECT_EQ(detected("vk", {"VK_TASK_INDEX=0", "WORKER_HOST=a,b"}),
            "VK_TASK_INDEX and WORKER_HOST are set");
  EXPECT_EQ(detected("vk", {"VK_TASK_INDEX=0", "PS_HOST=a"}), "VK_TASK_INDEX and PS_HOST are set");
  EXPECT_EQ(detected("vk", {"VK_TASK_INDEX=0", "SLOTS=8"}), "VK_TASK_INDEX and SLOTS are set");
  EXPECT_EQ(detected("vk", {"WORKER_HOST=a,b", "SLOTS=8"}), "WORKER_HOST and SLOTS are set");
}

TEST(Vk, LeavesAPlainVolcanoJobAlone) {
  EXPECT_EQ(detected("vk", {"VK_TASK_INDEX=0", "VC_TASK_INDEX=0", "VC_WORKER_HOSTS=a,b",
                            "VC_WORKER_NUM=2"}),
            "");
  EXPECT_EQ(detected("vk", {"SLOTS=8"}), "");
  EXPECT_EQ(detected("vk", {"WORKER_HOST=a"}), "");
}

TEST(Vk, IsTriedBeforeVolcanoAndKubeflow) {
  EXPECT_EQ(platform_of({"VK_TASK_INDEX=0", "VC_TASK_INDEX=0", "SLOTS=8", "VC_WORKER_HOSTS=a,b",
                         "MASTER_ADDR=a", "WORLD_SIZE=2", "RANK=0"}),
            "vk");
  EXPECT_EQ(platform_of({"MA_VJ_NAME=j", "VK_TASK_INDEX=0", "SLOTS=8"}), "modelarts");
}

// --- who is who

TEST(Vk, TheIndexIsThePlaceInTheList) {
  for (int index : {0, 2}) {
    ResolvedCluster resolved = locate("vk", worker(index), kTrain);
    EXPECT_EQ(resolved.local_node.node_rank, index);
    EXPECT_THAT(resolved.local_node.reason, HasSubstr("WORKER_HOST"));
    ASSERT_THAT(resolved.cluster.nodes, SizeIs(3));
    EXPECT_EQ(resolved.cluster.nodes[2].host, "job-worker-2");
    EXPECT_EQ(resolved.cluster.nodes[2].slots, 4);
    EXPECT_EQ(resolved.cluster.world_size, 12);
    EXPECT_EQ(resolved.cluster.master_addr, "job-worker-0");
    EXPECT_EQ(resolved.cluster.master_port, 2222);
    EXPECT_EQ(resolved.cluster, locate("vk", worker(0), kTrain).cluster);
  }
}

TEST(Vk, VolcanosVariablesAndFilesAreTheSecondAndThirdSource) {
  const Cluster expected = locate("vk", worker(1), kTrain).cluster;
  Container node = worker(1);
  node.variables[1] = "VC_WORKER_HOSTS=job-worker-0,job-worker-1,job-worker-2";
  EXPECT_EQ(locate("vk", node, kTrain).cluster, expected);
  node.variables[1] = "WORKER_HOST=";
  node.paths["/etc/volcano/worker.host"] = file("job-worker-0\njob-worker-1\njob-worker-2");
  ResolvedCluster resolved = locate("vk", node, kTrain);
  EXPECT_EQ(resolved.cluster, expected);
  EXPECT_THAT(resolved.local_node.reason, HasSubstr("/etc/volcano/worker.host"));
}

TEST(Vk, ATaskOfAnotherNameHasItsOwnList) {
  Container node = worker(1, {"VC_TASK_NAME=task1", "VC_TASK1_HOSTS=a-0,a-1"});
  node.variables[1] = "WORKER_HOST=";
  node.host_name = "a-1";
  EXPECT_EQ(locate("vk", node, kTrain).cluster.nodes[1].host, "a-1");
}

TEST(Vk, SlotsAreCountedWhenUntold) {
  Container node = worker(0);
  node.variables[2] = "SLOTS=";
  EXPECT_EQ(locate("vk", node, kTrain).cluster.nodes[0].slots, 1) << "a CPU node";
  node.paths["/dev"] = directory({"nvidia0", "nvidia1", "nvidiactl"});
  EXPECT_EQ(locate("vk", node, kTrain).cluster.nodes[0].slots, 2);
  node.paths["/dev"] =
      directory({"cambricon_ctl", "cambricon_dev0", "cambricon_dev1", "cambricon_dev2"});
  EXPECT_EQ(locate("vk", node, kTrain).cluster.nodes[0].slots, 3);
}

TEST(Vk, WithoutHostsItIsOneNode) {
  Container node;
  node.variables = {"VK_TASK_INDEX=0", "SLOTS=4"};
  ResolvedCluster resolved = locate("vk", node, kTrain);
  ASSERT_THAT(resolved.cluster.nodes, SizeIs(1));
  EXPECT_EQ(resolved.cluster.nodes[0].slots, 4);
  EXPECT_EQ(resolved.platform.framework, "");
}

TEST(Vk, Ipv6HostsAreTaken) {
  Container node = worker(1);
  node.variables[1] = "WORKER_HOST=[fd00::1]:2222,[fd00::2]:2222";
  node.addresses = {"fd00::2"};
  ResolvedCluster resolved = locate("vk", node, kTrain);
  EXPECT_EQ(resolved.cluster.nodes[1].host, "fd00::2");
  EXPECT_EQ(resolved.cluster.nodes[1].port, 2222);
}

struct Refusal {
  const char* variable;  // replaces the one at `place`
  std::size_t place;
  const char* expected;
};

TEST(Vk, WhatCannotBeIsRefusedAndNotGuessed) {
  const std::vector<Refusal> cases = {
      {"VK_TASK_INDEX=3", 0, "3, and WORKER_HOST lists 3 hosts"},
      {"VK_TASK_INDEX=-1", 0, "\"-1\""},
      {"VK_TASK_INDEX=one", 0, "\"one\""},
      {"VK_TASK_INDEX=", 0, "not set"},
      {"VK_TASK_INDEX=0", 0, "job-worker-1 at place 1"},
      {"WORKER_HOST=job-worker-0,job-worker-2,job-worker-3", 1, "nowhere job-worker-1"},
      {"WORKER_HOST=a,b,a", 1, "a twice"},
      {"WORKER_HOST=a,,b", 1, "nothing at place 2"},
      {"WORKER_HOST=", 1, "no hosts, and VK_TASK_INDEX is 1"},
      {"SLOTS=0", 2, "SLOTS"},
      {"SLOTS=four", 2, "\"four\""},
  };
  for (const Refusal& refused : cases) {
    Container node = worker(1);
    node.variables[refused.place] = refused.variable;
    EXPECT_THAT(refusal("vk", node, kTrain), HasSubstr(refused.expected)) << refused.variable;
  }
  EXPECT_THAT(refusal("vk", worker(1, {"VC_WORKER_NUM=4"}), kTrain),
              AllOf(HasSubstr("VC_WORKER_NUM"), HasSubstr("4, and 3 hosts")));
  Container none;
  none.variables = {"VK_TASK_INDEX=0", "SLOTS=4", "VC_WORKER_NUM=2"};
  EXPECT_THAT(refusal("vk", none, kTrain), HasSubstr("2, and 0 hosts"));
}

TEST(Vk, TheNodeRankCanBeGiven) {
  Container node = worker(0);
  node.variables[0] = "VK_TASK_INDEX=";
  Request request = request_of(kTrain);
  request.node_rank = 2;
  EXPECT_EQ(locate("vk", node, request).local_node.node_rank, 2);
  request.node_rank = 3;
  EXPECT_THAT(refusal("vk", node, request), HasSubstr("3 in a job of 3 nodes"));
}

// --- Horovod

TEST(VkHorovod, GetsTheHostfilesAndThePrefixOfThePage) {
  ResolvedCluster resolved = locate("vk", worker(0), mode("horovod"));
  EXPECT_EQ(resolved.platform.openmpi_hostfile, "/etc/mpi/hostfile");
  EXPECT_EQ(resolved.platform.mpich_hostfile, "/etc/mpi/mpich_hostfile");
  EXPECT_FALSE(resolved.platform.hostfiles_given);
  EXPECT_EQ(promised(resolved.platform, "HYDRA_IFACE"), "eth0");
  EXPECT_THAT(resolved.platform.mpirun_prefix,
              ElementsAre("--allow-run-as-root", "--bind-to", "none", "--map-by", "slot", "-x",
                          "NCCL_DEBUG=INFO", "-x", "LD_LIBRARY_PATH", "-x", "PATH", "-mca", "pml",
                          "ob1", "-mca", "btl", "^openib"));
}

TEST(VkHorovod, IsChosenByItsVariablesAndUsesTheFileThatIsThere) {
  Container node = worker(0, {"OMPI_MCA_orte_default_hostfile=/etc/mpi/own"});
  ResolvedCluster resolved = locate("vk", node, kTrain);
  EXPECT_EQ(resolved.platform.framework, "horovod");
  EXPECT_EQ(resolved.platform.framework_reason, "OMPI_MCA_orte_default_hostfile is set");
  EXPECT_FALSE(resolved.platform.hostfiles_given);
  node.paths["/etc/mpi/own"] = file("a slots=4\n");
  resolved = locate("vk", node, kTrain);
  EXPECT_TRUE(resolved.platform.hostfiles_given);
  EXPECT_EQ(resolved.platform.openmpi_hostfile, "/etc/mpi/own");
  EXPECT_EQ(locate("vk", worker(0, {"HYDRA_HOST_FILE=/f"}), kTrain).platform.framework, "horovod");
}

// --- TensorFlow

TEST(VkTensorFlow, WorkersComeFirstAndTheIndexCountsWithinTheRole) {
  struct Task {
    const char* role;
    int index;
    int rank;
  };
  for (const Task& task :
       {Task{"worker", 0, 0}, Task{"worker", 1, 1}, Task{"ps", 0, 2}, Task{"ps", 1, 3}}) {
    ResolvedCluster resolved = locate("vk", with_ps(task.role, task.index), kTrain);
    EXPECT_EQ(resolved.local_node.node_rank, task.rank) << task.role << task.index;
    ASSERT_THAT(resolved.cluster.nodes, SizeIs(4));
    EXPECT_EQ(resolved.cluster.nodes[3].role, "ps");
    EXPECT_EQ(resolved.cluster.nodes[3].role_index, 1);
    EXPECT_EQ(resolved.cluster.nodes[3].slots, 0);
    EXPECT_EQ(resolved.cluster.world_size, 2) << "one process a worker";
    EXPECT_EQ(resolved.platform.framework, "tensorflow");
    EXPECT_EQ(resolved.platform.framework_reason, "PS_HOST is set");
    EXPECT_TRUE(resolved.platform.tf_index_text);
    EXPECT_THAT(resolved.platform.env, IsEmpty());
  }
}

TEST(VkTensorFlow, TheTasksNameDecidesWhereHostNamesSayNothing) {
  Container node = with_ps("ps", 1);
  node.host_name = "gpu-17";
  EXPECT_THAT(refusal("vk", node, kTrain),
              AllOf(HasSubstr("gpu-17"), HasSubstr("VC_TASK_NAME"), HasSubstr("--node-rank")));
  node.variables.push_back("VC_TASK_NAME=ps");
  EXPECT_EQ(locate("vk", node, kTrain).local_node.node_rank, 3);
  node.variables.back() = "POD_NAME=x-worker-1";
  EXPECT_EQ(locate("vk", node, kTrain).local_node.node_rank, 1);
}

TEST(VkTensorFlow, ParameterServersWithoutWorkersAreRefused) {
  Container node = with_ps("ps", 0);
  node.variables[1] = "WORKER_HOST=";
  EXPECT_THAT(refusal("vk", node, kTrain), HasSubstr("WORKER_HOST"));
}

TEST(VkTensorFlow, AllReduceHasWorkersAlone) {
  ResolvedCluster resolved = locate("vk", worker(2), mode("tensorflow"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
  EXPECT_EQ(resolved.cluster.world_size, 3);
  EXPECT_TRUE(resolved.platform.tf_index_text);
}

TEST(VkTensorFlow, AnInjectedConfigIsKept) {
  const std::string text =
      R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":"1"}})";
  ResolvedCluster resolved = locate("vk", worker(1, {"TF_CONFIG=" + text}), kTrain);
  EXPECT_EQ(resolved.platform.tf_config, text);
  EXPECT_EQ(resolved.platform.framework, "tensorflow");
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(locate("vk", worker(1, {"TF_CONFIG=" + text}), mode("pytorch")).platform.tf_config, "");
}

// --- PyTorch and DeepSpeed

TEST(VkPyTorch, PromisesItsVariablesWithNodesAsTheWorld) {
  for (const char* framework : {"pytorch", "deepspeed"}) {
    ResolvedCluster resolved =
        locate("vk", worker(2, {"WORLD_SIZE=99", "RANK=98"}), mode(framework));
    EXPECT_EQ(promised(resolved.platform, "MASTER_ADDR"), "job-worker-0");
    EXPECT_EQ(promised(resolved.platform, "MASTER_PORT"), "2222");
    EXPECT_EQ(promised(resolved.platform, "WORLD_SIZE"), "3");
    EXPECT_EQ(promised(resolved.platform, "RANK"), "2");
    EXPECT_EQ(promised(resolved.platform, "SLOTS"), "4");
    EXPECT_EQ(promised(resolved.platform, "HYDRA_IFACE"), "");
  }
}

TEST(VkPyTorch, UsesTheOldLauncherAndCallsTheMasterLocalhost) {
  const PlatformFacts platform = locate("vk", worker(0), mode("pytorch")).platform;
  EXPECT_EQ(platform.torch_launcher, TorchLauncher::kLaunch);
  EXPECT_TRUE(platform.master_is_localhost);
  EXPECT_TRUE(platform.prefix_bare_python_only);
}

TEST(VkPyTorch, IsChosenByTheMastersAddress) {
  const Words master = {"MASTER_ADDR=job-worker-0", "MASTER_PORT=2300"};
  ResolvedCluster resolved = locate("vk", worker(1, master), kTrain);
  EXPECT_EQ(resolved.platform.framework, "pytorch");
  EXPECT_EQ(resolved.cluster.master_port, 2300);
  EXPECT_EQ(locate("vk", worker(1, master), {"deepspeed", "t.py"}).platform.framework, "deepspeed");
}

TEST(VkPyTorch, ItsOwnVariablesAreEnoughWithoutHosts) {
  Container node;
  node.variables = {"VK_TASK_INDEX=0", "SLOTS=4", "MASTER_ADDR=job-master-0", "WORLD_SIZE=2",
                    "RANK=1"};
  ResolvedCluster resolved = locate("vk", node, kTrain);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.world_size, 8);
  EXPECT_EQ(resolved.cluster.master_addr, "job-master-0");
  node.variables[4] = "RANK=2";
  EXPECT_THAT(refusal("vk", node, kTrain), HasSubstr("RANK"));
}

TEST(VkPyTorch, AFirstNodeThatIsCalledLocalhostIsItsHost) {
  Container node;
  node.host_name = "job-master-0";
  node.variables = {"VK_TASK_INDEX=0", "SLOTS=4", "MASTER_ADDR=localhost", "WORLD_SIZE=2",
                    "RANK=0"};
  const ResolvedCluster resolved = locate("vk", node, {"torchrun", "--master_addr=${MASTER_ADDR}"});
  EXPECT_EQ(resolved.cluster.master_addr, "job-master-0");
  EXPECT_EQ(resolved.cluster.nodes[0].host, "job-master-0");
  EXPECT_EQ(resolved.platform.command[1], "--master_addr=job-master-0");
  node.host_name = "localhost";
  node.addresses = {"10.0.0.7"};
  EXPECT_EQ(locate("vk", node, kTrain).cluster.master_addr, "10.0.0.7");
  node.variables[3] = "WORLD_SIZE=1";
  EXPECT_EQ(locate("vk", node, kTrain).cluster.master_addr, "localhost");
}

// --- the command

TEST(Vk, ACommandForAShellIsRefusedWithTheFormToUse) {
  EXPECT_THAT(
      refusal("vk", worker(0), {"KEY=VALUE", "python3", "train.py"}),
      AllOf(HasSubstr("platform vk"), HasSubstr("use: bash -c \"KEY=VALUE python3 train.py\"")));
  EXPECT_THAT(refusal("vk", worker(0), {"python3", "train.py", "&&", "python3", "evaluate.py"}),
              HasSubstr("use: bash -c \"python3 train.py && python3 evaluate.py\""));
  EXPECT_EQ(locate("vk", worker(0), kTrain).platform.command.words(), kTrain);
}

// The page's own example; nothing before trainit knows these variables.
const Words kTorchrun = {"torchrun",       "--nnodes",      "${WORLD_SIZE}",  "--nproc_per_node",
                         "${SLOTS}",       "--node_rank",   "${RANK}",        "--master_addr",
                         "${MASTER_ADDR}", "--master_port", "${MASTER_PORT}", "train.py"};

TEST(Vk, ThePromisedVariablesAreFilledIntoTheCommand) {
  ResolvedCluster resolved = locate("vk", worker(2), kTorchrun);
  EXPECT_THAT(resolved.platform.command.words(),
              ElementsAre("torchrun", "--nnodes", "3", "--nproc_per_node", "4", "--node_rank", "2",
                          "--master_addr", "job-worker-0", "--master_port", "2222", "train.py"));
  EXPECT_THAT(resolved.warnings, IsEmpty());
  EXPECT_EQ(locate("vk", worker(2),
                   {"torchrun --nnodes ${WORLD_SIZE} --nproc_per_node ${SLOTS} --node_rank ${RANK} "
                    "--master_addr ${MASTER_ADDR} --master_port ${MASTER_PORT} train.py"})
                .platform.command.words(),
            resolved.platform.command.words())
      << "the platform's text field, unsplit";
  EXPECT_THAT(locate("vk", worker(1),
                     mode("pytorch", {"run", "--to=$MASTER_ADDR:$MASTER_PORT/x",
                                      "${RANK}of$WORLD_SIZE", "$VK_TASK_INDEX"}))
                  .platform.command.words(),
              ElementsAre("run", "--to=job-worker-0:2222/x", "1of3", "1"));
}

TEST(Vk, WhatItDoesNotPromiseIsLeftInTheCommandWithAWarning) {
  const Words command = {"python", "t.py", "$HOME/${DATA}", "${RANK:-0}", "$RANKS",
                         "$",      "${}",  "a$1",           "$HOME"};
  ResolvedCluster resolved = locate("vk", worker(0, {"HOME=/root"}), mode("pytorch", command));
  EXPECT_EQ(resolved.platform.command.words(), command);
  EXPECT_THAT(resolved.warnings, ElementsAre(HasSubstr("$HOME"), HasSubstr("$DATA"),
                                             HasSubstr("$RANK "), HasSubstr("$RANKS")));
  resolved = locate("vk", worker(0), {"python", "train.py", "${WORLD_SIZE}", "${SLOTS}"});
  EXPECT_THAT(resolved.platform.command.words(),
              ElementsAre("python", "train.py", "${WORLD_SIZE}", "4"))
      << "no mode promises the number of nodes";
  EXPECT_THAT(resolved.warnings, ElementsAre(HasSubstr("$WORLD_SIZE")));
}

TEST(Vk, WhatAShellWillReadIsLeftToIt) {
  for (const Words& command :
       {Words{"bash", "-c", "torchrun --node_rank ${RANK} $X", "$RANK"},
        Words{"/bin/sh", "-eo", "pipefail", "-c", "echo $RANK"}, Words{"bash", "-lc", "echo $RANK"},
        Words{"torchrun", "--no-python", "bash", "-c", "echo $RANK"}}) {
    ResolvedCluster resolved = locate("vk", worker(1), mode("pytorch", command));
    EXPECT_EQ(resolved.platform.command.words(), command);
    EXPECT_THAT(resolved.warnings, IsEmpty());
  }
  EXPECT_THAT(locate("vk", worker(1), mode("pytorch", {"bash", "-e", "run.sh", "$RANK"}))
                  .platform.command.words(),
              ElementsAre("bash", "-e", "run.sh", "1"))
      << "a script's arguments are read by no shell";
}

}  // namespace
}  // namespace envgen::jobs
