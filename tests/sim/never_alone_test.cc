// A sign of several nodes, and a plan of one: an error, never several jobs that all end with 0.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "envgen/platform/cluster_signs.h"
#include "envgen/resolve/resolve.h"
#include "init/cli/options.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Words = std::vector<std::string>;

struct Case {
  Words variables;
  Words argv;
  std::map<std::string, PathState> paths = {};
  std::string host_name = "pod-1";
};

const Words kPyTorch = {"--framework", "pytorch", "--slots", "1", "--", "python", "train.py"};
const Words kPlain = {"--", "python", "train.py"};

Outcome outcome_of(const Case& one) {
  Snapshot snapshot;
  snapshot.argv = one.argv;
  snapshot.env = base::Environ(one.variables);
  snapshot.facts.cwd = "/srv";
  snapshot.facts.host_name = one.host_name;
  snapshot.facts.run_dir = "/run/trainit";
  auto options = cli::parse_options(one.argv, snapshot.env);
  if (!options) return options.error();
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    Answer answer = resolve(snapshot, options->request);
    if (answer.wants.empty()) return std::move(answer.outcome);
    for (const Want& want : answer.wants) {
      auto known = one.paths.find(want.path);
      snapshot.paths[want.path] = known == one.paths.end() ? PathState() : known->second;
    }
  }
  return base::Error{"resolving", "", "no answer after many rounds", ""};
}

// "env 1 of 2, world size 2", or the error's line.
std::string said(const Case& one) {
  Outcome outcome = outcome_of(one);
  if (auto* error = std::get_if<base::Error>(&outcome)) return to_line(*error);
  const auto* planned = std::get_if<Planned>(&outcome);
  if (planned == nullptr) return "pending";
  const Plan& plan = planned->plan;
  std::string text = plan.platform + " " + plan.framework;
  if (plan.local_node && plan.node_count > 1) {
    text +=
        " " + std::to_string(plan.local_node->node_rank) + " of " + std::to_string(plan.node_count);
  }
  return text + ", world size " + std::to_string(plan.world_size);
}

// A sign, and what its error has to name.
class Signs : public testing::TestWithParam<Words> {};

TEST_P(Signs, AreAnErrorThatSaysFoundWhereAndWhatToDo) {
  const Words& variables = GetParam();
  const std::string name = variables[0].substr(0, variables[0].find('='));
  EXPECT_THAT(said({variables, kPyTorch}),
              AllOf(HasSubstr(name), HasSubstr("a sign of several"), HasSubstr("--nodes 1")));
}

TEST_P(Signs, AreNoneForACommandThatIsOnlyStarted) {
  Case one{GetParam(), kPlain};
  Outcome outcome = outcome_of(one);
  const auto* planned = std::get_if<Planned>(&outcome);
  ASSERT_NE(planned, nullptr) << said(one);
  EXPECT_EQ(planned->plan.framework, "single");
  EXPECT_TRUE(planned->plan.env.empty());
  EXPECT_TRUE(planned->plan.processes[0].env.empty());
}

// How many processes a launcher has started on the node, --nodes 1 does not say.
TEST_P(Signs, AreNoneWhereTheUserSaysThatTheNodeIsAlone) {
  const std::string& first = GetParam()[0];
  const bool counts_processes =
      first.starts_with("OMPI_") || first.starts_with("PMI") || first.starts_with("FLUX_TASK_RANK");
  if (counts_processes) {
    Words argv = {"--nodes", "1"};
    argv.insert(argv.end(), kPyTorch.begin(), kPyTorch.end());
    EXPECT_THAT(said({GetParam(), argv}), HasSubstr("a launcher has started trainit"));
  }
  for (const Words& alone : {Words{"--nodes", "1"}, Words{"--platform", "local"}}) {
    if (counts_processes && alone[0] == "--nodes") continue;
    Words argv = alone;
    argv.insert(argv.end(), kPyTorch.begin(), kPyTorch.end());
    EXPECT_THAT(said({GetParam(), argv}), HasSubstr("pytorch, world size 1")) << alone[0];
  }
}

INSTANTIATE_TEST_SUITE_P(
    NeverAlone, Signs,
    testing::Values(Words{"WORLD_SIZE=2"}, Words{"WORLD_SIZE=2", "RANK=1"}, Words{"RANK=1"},
                    Words{"MASTER_ADDR=pod-0"}, Words{"NNODES=2"}, Words{"NNODES=1:4"},
                    Words{"NODE_RANK=1"}, Words{"PET_NNODES=2"}, Words{"SLURM_NNODES=4"},
                    Words{"SLURM_JOB_NUM_NODES=4", "SLURM_JOB_ID=7"}, Words{"SLURM_PROCID=3"},
                    Words{"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_RANK=0"},
                    Words{"PMI_SIZE=2", "PMI_RANK=1"}, Words{"DLC_JOB_ID=dlc1"},
                    Words{"AZUREML_NODE_COUNT=2"}, Words{"SKYPILOT_NUM_NODES=2"},
                    Words{"MLP_WORKER_NUM=2"}, Words{"LWS_GROUP_SIZE=2"}, Words{"PBS_NUM_NODES=2"},
                    Words{"SM_HOSTS=[\"a\",\"b\"]"}, Words{"PAI_CURRENT_TASK_ROLE_NAME=worker"},
                    Words{"SKYPILOT_NODE_IPS=10.0.0.1\n10.0.0.2"},
                    Words{"AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.5"},
                    Words{"AZ_BATCH_NODE_LIST=10.0.0.4;10.0.0.5"},
                    Words{"PAI_TASK_ROLE_LIST=worker"}, Words{"CLUSTER_SPEC={}"}));

// What other platforms and launchers tell their jobs, of whose nodes no profile is made.
INSTANTIATE_TEST_SUITE_P(
    OfOtherPlatforms, Signs,
    testing::Values(Words{"AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_NODE_INDEX=0"},
                    Words{"LEPTON_JOB_TOTAL_WORKERS=2", "LEPTON_JOB_WORKER_INDEX=0"},
                    Words{"DSTACK_NODES_NUM=2", "DSTACK_NODE_RANK=0"},
                    Words{"NGC_ARRAY_SIZE=2", "NGC_ARRAY_INDEX=0"},
                    Words{"BEAKER_REPLICA_COUNT=2", "BEAKER_LEADER_REPLICA_HOSTNAME=a"},
                    Words{"MF_PARALLEL_NUM_NODES=2"}, Words{"NUM_NODES=2", "NODE_RANK=0"},
                    Words{"MA_NUM_HOSTS=2"}, Words{"PADDLE_TRAINERS_NUM=2"},
                    Words{"PADDLE_NNODES=2"}, Words{"PADDLE_TRAINER_ID=1"},
                    Words{"PADDLE_TRAINER_ENDPOINTS=a:1,b:1"}, Words{"TF_WORKER_HOSTS=a:1,b:1"},
                    Words{"TPU_WORKER_HOSTNAMES=t-0.t,t-1.t", "TPU_WORKER_ID=0"},
                    Words{"MEGASCALE_NUM_SLICES=2"},
                    Words{"NUM_PROCESSES=2", "COORDINATOR_ADDRESS=a"},
                    Words{"FLUX_JOB_SIZE=2", "FLUX_TASK_RANK=0"}, Words{"FLUX_TASK_RANK=1"},
                    Words{"PMIX_RANK=1"}, Words{"JSM_NAMESPACE_SIZE=2"}, Words{"_CONDOR_NPROCS=2"},
                    Words{"NHOSTS=2"}, Words{"SLURM_STEP_NUM_TASKS=8"},
                    Words{"LWS_LEADER_ADDRESS=g-0.g"}));

TEST(NeverAlone, WhatSaysOneIsNoSign) {
  for (const Words& variables : {Words{"WORLD_SIZE=1", "RANK=0", "MASTER_ADDR=elsewhere"},
                                 Words{"MASTER_ADDR=localhost"},
                                 Words{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500"},
                                 Words{"MASTER_ADDR=pod-1"},
                                 Words{"NNODES=1", "NODE_RANK=0"},
                                 Words{"NUM_NODES=1", "NODE_RANK=0", "MASTER_ADDR=10.9.0.1"},
                                 Words{"NNODES=1", "WORLD_SIZE=8"},
                                 Words{"NUM_NODES=1", "NODE_RANK=0", "WORLD_SIZE=8"},
                                 Words{"X_NNODES=1", "X_NODELIST=pod-[0-2]"},
                                 Words{"SLURM_NNODES=1", "SLURM_NODELIST=pod-[0-2]"},
                                 Words{"SLURM_NNODES=1"},
                                 Words{"RANK="},
                                 Words{"WORLD_SIZE=auto"},
                                 Words{"OMPI_COMM_WORLD_SIZE=1"},
                                 Words{"MASTER_ADDR=0.0.0.0"},
                                 Words{"SKYPILOT_NODE_IPS=10.0.0.1\n"},
                                 Words{"AZ_BATCH_HOST_LIST=10.0.0.4"},
                                 Words{"MS_WORKER_NUM=8", "MS_SCHED_HOST=127.0.0.1"},
                                 Words{"SLURM_JOB_NUM_NODES=2", "SLURM_STEP_NUM_NODES=1"},
                                 Words{"NUM_NODES=2"},
                                 Words{"NUM_PROCESSES=8"},
                                 Words{"BEAKER_REPLICA_COUNT=8", "BEAKER_REPLICA_RANK=7"},
                                 Words{"TPU_WORKER_HOSTNAMES=localhost", "TPU_WORKER_ID=0"},
                                 Words{"MA_NUM_HOSTS=1"},
                                 Words{"LWS_LEADER_ADDRESS=g-0.g", "LWS_GROUP_SIZE=1"},
                                 Words{"AWS_BATCH_JOB_NUM_NODES=1"},
                                 Words{"AWS_BATCH_JOB_ARRAY_INDEX=3", "AWS_BATCH_JOB_ARRAY_SIZE=8"},
                                 Words{"CLOUD_RUN_TASK_INDEX=3", "CLOUD_RUN_TASK_COUNT=8"},
                                 Words{"NOMAD_ALLOC_INDEX=3"},
                                 Words{"PMIX_RANK=0"}}) {
    EXPECT_EQ(said({variables, kPyTorch}), "local pytorch, world size 1") << variables[0];
  }
}

// Variables that no row names: by what they look like, on the first node and on the second.
INSTANTIATE_TEST_SUITE_P(
    ByShape, Signs,
    testing::Values(
        Words{"NODE_NUM=2", "INDEX=0", "CHIEF_IP=10.0.0.9"},  // TI-ONE
        Words{"NODE_LIST=10.0.0.9:8,pod-1:8"}, Words{"ARNOLD_WORKER_NUM=2", "ARNOLD_ID=0"},
        Words{"ARNOLD_WORKER_HOSTS=[pod-0]:9000,pod-1:9001"},
        Words{"SENSECORE_PYTORCH_NNODES=2", "SENSECORE_PYTORCH_NODE_RANK=0"},
        Words{"SENSECORE_PYTORCH_NODE_RANK=1"},
        Words{"BATCH_NODE_COUNT=2", "BATCH_MAIN_NODE_HOSTNAME=a"},
        Words{"NODE_COUNT=2", "NODE_RANK=0"}, Words{"X_HOST_NUM=4", "X_HOST_INDEX=0"},
        Words{"SITE_NUM_MACHINES=2", "SITE_MACHINE_ID=0"},
        Words{"SITE_REPLICAS_COUNT=2", "SITE_LEADER_ADDRESS=pod-1"},
        Words{"SITE_REPLICAS_COUNT=2", "SITE_REPLICA_INDEX=1", "SITE_LEADER_ADDRESS=a"},
        Words{"X_NODELIST=pod-[0-2]"}, Words{"X_NODE_IP_LIST=pod-0,pod-1"}, Words{"PALS_NODEID=1"},
        Words{"X_NODE_NAME_LIST=pod-0,pod-1"}, Words{"IPS_LIST=pod-0,pod-1"},
        Words{"TJ_REPLICA_COUNT=2", "TJ_MASTER_ADDR=svc", "TJ_REPLICA_IDX=1"},
        Words{"TJ_REPLICA_COUNT=2", "TJ_MASTER_ADDR=pod-master-0"},
        Words{"NUM_REPLICAS=2", "LEADER_ADDRESS=n1"},
        Words{"NNODES=1", "WORLD_SIZE=2", "MASTER_ADDR=train-0.train"},
        Words{"X_WORLD_SIZE=2", "X_RANK=0"}, Words{"PEERS=pod-0 pod-1"},
        Words{"NODES=2", "NODE_RANK=0"}, Words{"HOST_NUM=2", "HOST_ID=0"},
        Words{"WORKER_NUM=2", "WORKER_INDEX=0"},
        Words{"XT_GROUP_SIZE=2", "XT_NODE_RANK=0", "XT_LEADER_ADDR=10.0.0.1"},
        Words{"PEERS=[\"pod-0.svc\", \"pod-1.svc\"]"},
        Words{"X_WORKER_0_HOST=pod-0", "X_WORKER_1_HOST=pod-1"},
        Words{"X_WORKER_0_IP=pod-1", "X_WORKER_1_IP=pod-2"},
        Words{"ARNOLD_NUM=2", "ARNOLD_ID=0", "ARNOLD_WORKER_0_HOST=a"},
        Words{"CCP_NODES=2 pod-0 8 pod-1 8"}, Words{"WORKER_NUM=2", "WORKER_ID=0"},
        Words{"X_NUM_PODS=2", "X_POD_INDEX=0"}, Words{"X_NODE_INDEX=1", "X_MAIN_NODE_IP=10.0.0.9"},
        Words{"X_ID=1", "X_WORKER_0_HOST=pod-0:9000"}, Words{"X_RANK=8", "X_LOCAL_RANK=0"},
        Words{"X_SIZE=16", "X_RANK=0", "X_LOCAL_SIZE=8"}, Words{"X_NNODES=2"},
        Words{"MACHINE_RANK=1"},
        Words{R"(X_SPEC={"role":"w","w":["pod-0:1,2","pod-1:1"],"index":1})"},
        Words{R"(X_SPEC={"index":1,"c":{"chief":["pod-0:1"],"w":["pod-1:1"]}})"},
        Words{"X_NNODES=4096", "X_NODE_RANK=0"}, Words{"X_ROLE_ID=1", "X_MASTER_HOST=pod-0"},
        Words{"X_RANK=1", "X_MASTER_HOST=pod-0"}));

// A host in a JSON text beside others may be a service, and a file of nodes a graph's.
TEST(NeverAlone, WhatMayBeASignIsWarnedOf) {
  const auto warnings = [](const char* variable, const PathState& file) {
    const Outcome outcome = outcome_of({{variable}, kPyTorch, {{"/data/nodes", file}}});
    const auto* planned = std::get_if<Planned>(&outcome);
    return planned == nullptr ? Words{"refused"} : planned->plan.warnings;
  };
  EXPECT_THAT(warnings(R"(X={"metrics":"pod-1:9090","db":"db-1:5432"})", {}),
              testing::Contains(HasSubstr("X names this host and others; trainit plans")));
  EXPECT_THAT(warnings("CORS_ORIGIN_LIST=pod-0,pod-1", {}),
              testing::Contains(HasSubstr("CORS_ORIGIN_LIST names this host and others")));
  PathState file{.kind = PathState::Kind::kError, .error = EACCES};
  EXPECT_THAT(warnings("NODES_FILE=/data/nodes", file),
              testing::Contains(HasSubstr("cannot be read (Permission denied)")));
  EXPECT_THAT(warnings("NODES_FILE=/data/nodes", {}), testing::Contains(HasSubstr("does not see")));
  file = {.kind = PathState::Kind::kError, .error = EFBIG, .size_bytes = 1U << 30};
  EXPECT_THAT(warnings("NODES_FILE=/data/nodes", file), testing::IsEmpty());
}

// Every node would find itself alone there, whoever says so.
TEST(NeverAlone, ARendezvousAtLocalhostOfSeveralNodesIsAnError) {
  const Words typed = {"--framework", "pytorch", "--slots", "1", "--", "torchrun"};
  const Words flags = {"--nnodes",    "2",   "--rdzv_backend", "c10d", "--rdzv_endpoint",
                       "localhost:0", "t.py"};
  const auto with = [](Words some, const Words& more) {
    some.insert(some.end(), more.begin(), more.end());
    return some;
  };
  const Words bare = {"--nodes", "2", "--node-rank", "1", "--master-addr", "a"};
  const Words slurm = {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=pod-[0-1]",
                       "SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1"};
  const Words c10d = {"PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=localhost:29400"};
  const Words kubeflow = with({"KUBERNETES_SERVICE_HOST=1", "PET_NNODES=1:2",
                               "PET_NPROC_PER_NODE=1", "PET_NODE_RANK=1", "PET_MASTER_ADDR=a"},
                              c10d);
  for (const auto& [variables, argv] :
       {std::pair(slurm, with(typed, flags)),
        std::pair(with({}, c10d), with(bare, with(typed, {"t.py"}))),
        std::pair(with(slurm, c10d), with(typed, {"t.py"})), std::pair(kubeflow, kPyTorch),
        std::pair(Words{"KUBERNETES_SERVICE_HOST=1", "PET_NNODES=2", "PET_NPROC_PER_NODE=1",
                        c10d[0], c10d[1]},
                  kPyTorch)}) {
    const Outcome outcome = outcome_of({variables, argv});
    const auto* error = std::get_if<base::Error>(&outcome);
    ASSERT_NE(error, nullptr) << variables[0];
    EXPECT_THAT(to_line(*error), HasSubstr("localhost:")) << variables[0];
  }
}

TEST(NeverAlone, APyTorchJobOfOnePodIsAlone) {
  const Words pod = {"KUBERNETES_SERVICE_HOST=1",
                     "PET_NNODES=1",
                     "PET_NPROC_PER_NODE=8",
                     "WORLD_SIZE=8",
                     "RANK=0",
                     "PET_NODE_RANK=0",
                     "MASTER_ADDR=pod-1"};
  EXPECT_EQ(said({pod, {"--", "python", "train.py"}}), "kubeflow pytorch, world size 8");
}

// An image has it.
TEST(NeverAlone, APetNnodesOfOneHidesNoOtherPlatform) {
  const Words image = {"PET_NNODES=1", "PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=localhost:0"};
  const auto with = [&image](Words more) {
    more.insert(more.end(), image.begin(), image.end());
    return more;
  };
  EXPECT_EQ(said({image, kPyTorch}), "local pytorch, world size 1");
  for (const Words& variables : {Words{"NNODES=2", "NODE_RANK=1", "MASTER_ADDR=n1"},
                                 Words{"X_NNODES=2", "X_NODE_RANK=1"}, Words{"PBS_NUM_NODES=2"}}) {
    for (const bool kubernetes : {false, true}) {
      Words all = with(variables);
      if (kubernetes) all.insert(all.end(), {"KUBERNETES_SERVICE_HOST=1", "PET_NPROC_PER_NODE=1"});
      EXPECT_THAT(said({all, kPyTorch}), testing::Not(HasSubstr("world size 1"))) << variables[0];
    }
  }
}

TEST(NeverAlone, AServicesReplicasAreWarnedOf) {
  const Outcome outcome = outcome_of({{"DB_INSTANCE_COUNT=3", "DB_MASTER_HOST=db-0.db"}, kPyTorch});
  const auto* planned = std::get_if<Planned>(&outcome);
  ASSERT_NE(planned, nullptr);
  EXPECT_THAT(planned->plan.warnings, testing::Contains(HasSubstr("DB_INSTANCE_COUNT counts")));
}

TEST(NeverAlone, ALargeFileOfNodesIsNotRead) {
  Snapshot snapshot;
  snapshot.env = base::Environ(Words{"NODES_FILE=/data/nodes.csv"});
  snapshot.facts.cwd = "/srv";
  auto options = cli::parse_options(kPyTorch, snapshot.env);
  ASSERT_TRUE(options);
  for (int round = 0; round < 20; ++round) {
    Answer answer = resolve(snapshot, options->request);
    if (answer.wants.empty()) return;
    for (const Want& want : answer.wants) {
      EXPECT_FALSE(want.content && want.path == "/data/nodes.csv");
      PathState state;
      if (want.path == "/data/nodes.csv") {
        state = {.kind = PathState::Kind::kFile, .size_bytes = 2U << 20};
      }
      snapshot.paths[want.path] = state;
    }
  }
  FAIL() << "no answer after many rounds";
}

TEST(NeverAlone, AShapeThatNothingConfirmsIsNoSign) {
  for (const Words& variables :
       {Words{"NUM_WORKERS=8"},
        Words{"NUM_WORKERS=8", "RANK=0", "INDEX=0"},
        Words{"NUM_NODES=20000", "RANK=0", "WORLD_SIZE=1"},
        Words{"X_REPLICA_COUNT=3"},
        Words{"X_REPLICA_COUNT=3", "X_REPLICA_INDEX=2"},
        Words{"NODE_COUNT=2"},
        Words{"NO_PROXY=localhost,127.0.0.1,pod-1,.svc"},
        Words{"TAGS=train,eval"},
        Words{"HOSTS=pod-1,pod-1.svc"},
        Words{"PATHS=/a/pod-1,/b"},
        Words{"NODE_ID=7"},
        Words{"WORKER_ID=3"},
        Words{"JOB_ID=12", "POOL_SIZE=4"},
        Words{"CF_INSTANCE_INDEX=1"},
        Words{"NODE_VERSION=18", "NODE_ENV=production"},
        Words{"X_NODE_NAME=n-1"},
        Words{"SSH_CONNECTION=10.0.0.9 51234 pod-1 22"},
        Words{"no_proxy=192.0.2.2,pod-1,s3-1.corp"},
        Words{"NUM_NODES=64", "LORA_RANK=16"},
        Words{"TP_WORLD_SIZE=2", "CUDA_DEVICE_INDEX=0"},
        Words{"NUM_NODES=4", "X_LOCAL_RANK=0"},
        Words{"NUM_NODES=500", "REDIS_MASTER_SERVICE_HOST=10.96.0.4"},
        Words{"NUM_NODES=1000", "SPARK_MASTER_HOST=a"},
        Words{"GNN_NUM_NODES=34", "DOMAIN_HOST=corp.example"},
        Words{"PROMPT_HOST_SIZE=80", "FOO_INDEX=3"},
        Words{"CIRCLE_NODE_INDEX=1", "CIRCLE_NODE_TOTAL=2"},
        Words{"ALLOWED_HOSTS=pod-1,pod-1.local,10.0.0.1"},
        Words{"OPTUNA_NUM_WORKERS=4", "OPTUNA_WORKER_ID=2"},
        Words{"DATALOADER_NUM_WORKERS=8", "DATALOADER_RANK=0"},
        Words{"GROUP_SIZE=2"},
        Words{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=4"},
        Words{"MY_CORP_NODEID=17"},
        Words{"KNOWN_HOSTS_FILE=/root/.ssh/known_hosts", "NODE_CONFIG_FILE=/etc/node.yaml"},
        Words{"WINDOW_SIZE=64", "WINDOW_LOCAL_SIZE=8"},
        Words{R"(X_CONFIG={"kafka":["kafka-0:9092","kafka-1:9092"],"url":"http://pod-1:80/"})"},
        Words{R"(X_CONFIG={"me":"pod-1:80"})", "Y_CONFIG={\"a"},
        Words{R"(X_CONFIG={"a":{"metrics":"pod-1:9090","db":"db-1:5432"}})"},
        Words{R"(X_CONFIG={"a":["pod-1:9090"],"b":["db-1:5432"]})"},
        Words{"TRAIN_ID=17", "TRAIN_MASTER_PORT_23456_TCP_ADDR=10.96.0.7"},
        Words{"TRAIN_RANK=17", "TRAIN_MASTER_PORT_53_UDP_ADDR=10.96.0.7"},
        Words{"REDIS_INDEX=1", "REDIS_MASTER_HOST=redis-0"},
        Words{"NUM_NODES=500", "REDIS_MASTER_PORT_6379_TCP_ADDR=10.96.0.4"},
        Words{"GRAPH_NNODES=4096"},
        Words{"REDIS_DB_INDEX=1", "REDIS_MASTER_HOST=redis-0"},
        Words{"SPARK_EXECUTOR_ID=3", "SPARK_MASTER_HOST=10.0.0.3"},
        Words{"X_NODE_INDEX=0", "X_LEADER_ADDR=10.0.0.9"},
        Words{"X_NODE_INDEX=1", "X_LEADER_ADDR=pod-1"},
        Words{"X_RANK=0", "X_LOCAL_RANK=0", "X_SIZE=1", "X_LOCAL_SIZE=1"},
        Words{"SHARD_0_HOST=db-0", "SHARD_1_HOST=db-1"},
        Words{"SHARD_0_SERVICE_HOST=10.0.0.7", "SHARD_1_SERVICE_HOST=10.0.0.8"},
        Words{"WORKER_0_HOST=pod-1"},
        Words{"REDIS_NUM=3", "REDIS_MASTER_HOST=a"},
        Words{"WORKER_NUM=1", "WORKER_ID=0"},
        Words{"NODE_PATH=/usr/lib/node_modules", "NODE_EXTRA_CA_CERTS=/etc/ssl/ca.pem"},
        Words{"HOSTFILE=hosts.txt"},
        Words{"POD_ID=3", "POD_IP=10.0.0.3"},
        Words{"MS_WORKER_NUM=8", "MS_SCHED_HOST=127.0.0.1", "MS_NODE_ID=0"}}) {
    EXPECT_EQ(said({variables, kPyTorch}), "local pytorch, world size 1") << variables[0];
  }
}

// A replica that is told nothing but its name.
TEST(NeverAlone, TheNameOfAReplicaIsASign) {
  const Words kubernetes = {"KUBERNETES_SERVICE_HOST=10.0.0.1", "PYTHONUNBUFFERED=1"};
  for (const char* name : {"train-poc-worker-1", "train-1", "a-b-replica-12"}) {
    PathState hosts;
    hosts.kind = PathState::Kind::kFile;
    hosts.content =
        "10.1.2.3\t" + std::string(name) + ".train.ml.svc.cluster.local\t" + name + "\n";
    EXPECT_THAT(said({kubernetes, kPyTorch, {{"/etc/hosts", hosts}}, name}),
                AllOf(HasSubstr(name), HasSubstr("a sign of several"), HasSubstr("--nodes 1")));
    EXPECT_EQ(said({{}, kPyTorch, {}, name}), "local pytorch, world size 1") << name;
    EXPECT_EQ(said({kubernetes, kPlain, {}, name}), "local single, world size 1") << name;
    Words alone = {"--nodes", "1"};
    alone.insert(alone.end(), kPyTorch.begin(), kPyTorch.end());
    EXPECT_EQ(said({kubernetes, alone, {}, name}), "local pytorch, world size 1") << name;
  }
  for (const char* name : {"train-7d9f8b6c5-x2k4z", "wf-3456789012", "train", "jupyter-ann", "-1",
                           "train-2024", "train-2024-11-27-12000"}) {
    EXPECT_EQ(said({kubernetes, kPyTorch, {}, name}), "local pytorch, world size 1") << name;
  }
  for (const char* one : {"NNODES=1", "WORLD_SIZE=1"}) {
    EXPECT_EQ(said({{kubernetes[0], one}, kPyTorch, {}, "train-1"}), "local pytorch, world size 1");
  }
  EXPECT_THAT(said({kubernetes, kPyTorch, {}, "train-poc-worker-1"}), HasSubstr("a sign of"));
  for (const char* name : {"train-0", "job-worker-0", "train-1", "llama-2", "gpt-4"}) {
    const Outcome first = outcome_of({kubernetes, kPyTorch, {}, name});
    ASSERT_TRUE(std::holds_alternative<Planned>(first));
    EXPECT_THAT(std::get<Planned>(first).plan.warnings,
                testing::Contains(HasSubstr(std::string("the pod's name ") + name)));
  }
}

// Who a node is, held against what it is called.
TEST(WhoIsWho, ANodesNumberAndItsNameThatExcludeEachOtherAreAnError) {
  const Words sagemaker = {R"(SM_HOSTS=["algo-1","algo-2"])", "SM_CURRENT_HOST=algo-1"};
  EXPECT_THAT(
      said({sagemaker, kPyTorch, {}, "algo-2"}),
      AllOf(HasSubstr("this machine is called algo-2, which is node 1"), HasSubstr("algo-1")));
  EXPECT_EQ(said({sagemaker, kPyTorch, {}, "algo-1"}), "sagemaker pytorch 0 of 2, world size 2");
  EXPECT_EQ(said({sagemaker, kPyTorch, {}, "ip-10-0-0-7"}),
            "sagemaker pytorch 0 of 2, world size 2");
  const auto node = [](const char* rank, const char* master, const char* host_name) {
    return said({{},
                 {"--framework", "pytorch", "--slots", "1", "--nodes", "2", "--node-rank", rank,
                  "--master-addr", master, "--", "python", "train.py"},
                 {},
                 host_name});
  };
  // One machine may have several such names.
  const Outcome first =
      outcome_of({{},
                  {"--framework", "pytorch", "--slots", "1", "--nodes", "2", "--node-rank", "0",
                   "--master-addr", "gpu-3.cluster", "--", "python", "train.py"},
                  {},
                  "gpu-12.cluster"});
  ASSERT_TRUE(std::holds_alternative<Planned>(first));
  EXPECT_THAT(
      std::get<Planned>(first).plan.warnings,
      testing::Contains(HasSubstr("this machine is called gpu-12, and the master is gpu-3")));
  for (const auto& [rank, master, host_name] :
       {std::tuple{"0", "n0", "n0"}, std::tuple{"1", "n0", "n1"}, std::tuple{"0", "10.0.0.1", "n1"},
        std::tuple{"0", "n1-ib", "n1"}, std::tuple{"0", "train-master", "n1"},
        std::tuple{"1", "n0", "n0"}, std::tuple{"0", "train-svc-0", "train-worker-0"}}) {
    EXPECT_EQ(node(rank, master, host_name),
              std::string("bare pytorch ") + rank + " of 2, world size 2")
        << master << " " << host_name;
  }
}

TEST(NeverAlone, OptionsThatSpeakOfOtherNodesAreSigns) {
  auto with = [](Words options) {
    options.insert(options.end(), kPyTorch.begin(), kPyTorch.end());
    return said({{}, options});
  };
  EXPECT_THAT(with({"--nodes", "2"}), AllOf(HasSubstr("--nodes"), HasSubstr("--node-rank")));
  EXPECT_THAT(with({"--node-rank", "1"}), HasSubstr("--node-rank"));
}

TEST(NeverAlone, TheOptionsMakeAClusterOfAnyNode) {
  const Words argv = {"--fan-out", "--slots",       "1",     "--nodes", "2",      "--node-rank",
                      "1",         "--master-addr", "pod-0", "--",      "python", "train.py"};
  EXPECT_EQ(said({{}, argv}), "bare pytorch 1 of 2, world size 2");
  Outcome outcome = outcome_of({{}, argv});
  base::Environ env;
  for (const base::EnvEdit& edit : std::get<Planned>(outcome).plan.processes[0].env)
    env.apply(edit);
  EXPECT_EQ(env.get_or("RANK", ""), "1");
  EXPECT_EQ(env.get_or("WORLD_SIZE", ""), "2");
  EXPECT_EQ(env.get_or("MASTER_ADDR", ""), "pod-0");
}

TEST(NeverAlone, TheOptionsNeedAMaster) {
  EXPECT_THAT(said({{},
                    {"--fan-out", "--slots", "1", "--nodes", "2", "--node-rank", "1", "--",
                     "python", "train.py"}}),
              HasSubstr("--master-addr"));
}

TEST(NeverAlone, TheOptionsMakeAClusterForATypedLauncherToo) {
  EXPECT_EQ(said({{},
                  {"--nodes", "2", "--node-rank", "1", "--master-addr", "a", "--slots", "8", "--",
                   "torchrun", "train.py"}}),
            "bare pytorch 1 of 2, world size 16");
}

TEST(NeverAlone, DevicesThatAreNamedDoNotCountTheNodes) {
  const auto answer = AllOf(
      HasSubstr("--devices: found \"0-7\", which names the devices of one host"),
      HasSubstr("for 2 nodes give a rank table, or --ascend-launcher msrun or dynamic with --slots "
                "8 instead of --devices"));
  const Words options = {"--framework", "ascend", "--devices",   "0-7",
                         "--nodes",     "2",      "--node-rank", "1"};
  for (const Words& more : {Words{}, Words{"--master-addr", "a"},
                            Words{"--master-addr", "a", "--ascend-launcher", "msrun"}}) {
    Words words = options;
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "python", "train.py"});
    EXPECT_THAT(said({{}, words}), answer);
  }
}

// The answer to complete options is not to complete them.
TEST(NeverAlone, APlatformThatFindsNoOtherNodeNamesTheOneThatTakesTheOptions) {
  for (const Words& platform : {Words{"DLC_JOB_ID=j"}, Words{"MA_VJ_NAME=j"}}) {
    EXPECT_THAT(said({platform,
                      {"--framework", "pytorch", "--nodes", "2", "--node-rank", "1",
                       "--master-addr", "a", "--", "python", "train.py"}}),
                AllOf(HasSubstr("a sign of several"), HasSubstr("give --platform bare with")))
        << platform[0];
  }
}

// Its own flags win over what an environment says.
TEST(NeverAlone, ALauncherThatKnowsItsNodesIsNotAlone) {
  const Words known = {"--framework", "pytorch",     "--",
                       "torchrun",    "--nnodes=2",  "--rdzv-endpoint=a:29400",
                       "train.py",    "--num_nodes", "2"};
  EXPECT_THAT(said({{"NNODES=2"}, known}), HasSubstr("local pytorch"));
}

TEST(NeverAlone, OnlyALaunchersOwnFlagsCountThePodsOfAnIndexedJob) {
  auto pod = [](Words command) {
    command.insert(command.begin(), "--");
    return said({{"JOB_COMPLETION_INDEX=1"}, std::move(command)});
  };
  EXPECT_THAT(pod({"torchrun", "--nnodes=2", "train.py"}), HasSubstr("indexed single"));
  EXPECT_THAT(pod({"bash", "-c", "torchrun --nnodes 2 train.py"}), HasSubstr("indexed single"));
  EXPECT_THAT(pod({"mpirun", "-H", "a,b", "./a"}), HasSubstr("indexed single"));
  for (const Words& command :
       {Words{"torchrun", "--nproc_per_node=16", "train.py"}, Words{"mpirun", "-np", "8", "./a"},
        Words{"torchrun", "train.py", "--num_nodes", "2"}}) {
    EXPECT_THAT(pod(command), HasSubstr("counting the nodes")) << command[1];
  }
}

TEST(NeverAlone, TasksWithoutPmiAreNoMpiJob) {
  EXPECT_THAT(said({{"WORLD_SIZE=2", "RANK=1", "LOCAL_RANK=0", "MASTER_ADDR=pod-0"},
                    {"--framework", "mpi", "--slots", "1", "--", "./a.out"}}),
              AllOf(HasSubstr("PMI"), HasSubstr("--rank-means node")));
}

// A platform that is named is not asked whether it is the one.
TEST(NeverAlone, ARankThatIsMissingIsNotTheFirst) {
  const Words command = {"--framework", "pytorch", "--slots", "1", "--", "python", "train.py"};
  auto on = [&command](const char* platform, Words variables) {
    Words argv = {"--platform", platform};
    argv.insert(argv.end(), command.begin(), command.end());
    return said({std::move(variables), argv});
  };
  EXPECT_THAT(on("skypilot", {"SKYPILOT_NODE_IPS=a\nb"}),
              AllOf(HasSubstr("SKYPILOT_NODE_RANK"), HasSubstr("nothing")));
  EXPECT_THAT(on("azureml", {"AZUREML_NODE_COUNT=2", "MASTER_ADDR=a"}),
              AllOf(HasSubstr("NODE_RANK"), HasSubstr("nothing")));
}

// The table of the platforms: what was a job of one node is the cluster that the variables tell.
TEST(NeverAlone, EachPlatformsVariablesAreItsCluster) {
  const Words pytorch = {"--framework", "pytorch", "--slots", "8", "--", "python", "train.py"};
  auto plan = [&pytorch](Words variables) { return said({std::move(variables), pytorch}); };
  EXPECT_EQ(plan({"AZUREML_NODE_COUNT=2", "NODE_RANK=1", "MASTER_ADDR=10.0.0.4"}),
            "azureml pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({R"(CLUSTER_SPEC={"cluster":{"workerpool0":["a:1"],"workerpool1":["b:1"]},)"
                  R"("task":{"type":"workerpool1","index":0}})"}),
            "vertex pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({R"(SM_HOSTS=["algo-1","algo-2"])", "SM_CURRENT_HOST=algo-2"}),
            "sagemaker pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({"SKYPILOT_NODE_RANK=1", "SKYPILOT_NODE_IPS=10.0.0.1\n10.0.0.2"}),
            "skypilot pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({"MLP_ROLE_INDEX=1", "MLP_WORKER_NUM=2", "MLP_WORKER_0_HOST=a",
                  "MLP_WORKER_1_HOST=b", "MLP_WORKER_GPU=8"}),
            "mlp pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({"LWS_LEADER_ADDRESS=t-0.t.ns", "LWS_GROUP_SIZE=2", "LWS_WORKER_INDEX=1"}),
            "lws pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({"LSB_MCPU_HOSTS=pod-0 8 pod-1 8"}), "lsf pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({"NNODES=2", "NODE_RANK=1", "MASTER_ADDR=pod-0"}),
            "env pytorch 1 of 2, world size 16");
  EXPECT_EQ(plan({"KUBERNETES_SERVICE_HOST=10.0.0.1", "MASTER_ADDR=10.1.0.1", "MASTER_PORT=2",
                  "WORLD_SIZE=16", "RANK=8", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=8"}),
            "env pytorch 1 of 2, world size 16");
  EXPECT_THAT(plan({"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=pod-0"}), HasSubstr("--rank-means"));
}

TEST(NeverAlone, AMeaningThatIsOpenCanBeSaid) {
  const Words variables = {"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=pod-0"};
  auto meant = [&variables](const char* what) {
    return said({variables,
                 {"--rank-means", what, "--fan-out", "--slots", "2", "--", "python", "train.py"}});
  };
  EXPECT_EQ(meant("node"), "env pytorch 1 of 2, world size 4");
  EXPECT_EQ(meant("process"), "env pytorch, world size 2");
  Outcome outcome = outcome_of(
      {variables,
       {"--rank-means", "process", "--fan-out", "--slots", "2", "--", "python", "train.py"}});
  base::Environ env(variables);
  for (const base::EnvEdit& edit : std::get<Planned>(outcome).plan.processes[0].env)
    env.apply(edit);
  EXPECT_EQ(env.get_or("MASTER_ADDR", ""), "pod-0");
}

TEST(NeverAlone, TheUsersOwnTfConfigIsKept) {
  const std::string six =
      R"(TF_CONFIG={"cluster":{"worker":["a:1","b:1","c:1","d:1","e:1","f:1"]},)"
      R"("task":{"type":"worker","index":4}})";
  const Words tensorflow = {"--framework", "tensorflow", "--", "python", "train.py"};
  EXPECT_EQ(said({{six}, tensorflow}), "tfconfig tensorflow 4 of 6, world size 6");
  EXPECT_THAT(said({{"TF_CONFIG={'cluster': {}}"}, tensorflow}), HasSubstr("TF_CONFIG"));
  EXPECT_EQ(said({{six}, kPlain}), "local single, world size 1");
}

TEST(NeverAlone, ModelArtsIsKnownByTheVariablesOfItsTensorFlowPage) {
  EXPECT_EQ(said({{"VC_TASK_INDEX=1", "MA_TASK_NAME=worker", "TF_PS_HOSTS=[xx-ps-0.xx:5001]",
                   "TF_WORKER_HOSTS=[xx-worker-0.xx:5002,xx-worker-1.xx:5003]"},
                  kPlain}),
            "modelarts tensorflow 1 of 3, world size 2");
}

TEST(NeverAlone, AMountedRankTableIsMindClustersWithoutAnyVariable) {
  PathState table;
  table.kind = PathState::Kind::kFile;
  table.content =
      R"({"status":"completed","version":"1.0","server_count":"2","server_list":[)"
      R"({"server_id":"10.0.0.1","device":[{"device_id":"0","device_ip":"29.0.0.1","rank_id":"0"}]},)"
      R"({"server_id":"10.0.0.2","device":[{"device_id":"0","device_ip":"29.0.0.2","rank_id":"1"}]})"
      R"(]})";
  table.size_bytes = table.content.size();
  Case one{{}, {"--framework", "ascend", "--node-rank", "1", "--", "python", "train.py"}};
  one.paths["/user/serverid/devindex/config/hccl.json"] = table;
  EXPECT_EQ(said(one), "volcano ascend 1 of 2, world size 2");
  one.paths = {{"/etc/t.json", table}};
  one.variables = {"RANK_TABLE_FILE_V_1_0=/etc/t.json"};
  EXPECT_EQ(said(one), "bare ascend 1 of 2, world size 2");
}

TEST(NeverAlone, VolcanoOnTheHostsNetworkIsKnownByThePluginsRank) {
  Case one{{"VC_TASK_INDEX=0", "VC_MASTER_HOSTS=j-master-0.j",
            "VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j", "MASTER_ADDR=j-master-0.j",
            "MASTER_PORT=2", "WORLD_SIZE=3", "RANK=1"},
           {"--slots", "2", "--", "python", "train.py"}};
  one.host_name = "node-17";
  EXPECT_EQ(said(one), "volcano pytorch 1 of 3, world size 6");
  one.variables[0] = "VC_TASK_INDEX=1";
  EXPECT_THAT(said(one), HasSubstr("VC_TASK_NAME")) << "rank 1 is number 0 of its task";
}

TEST(NeverAlone, ASlurmListMayBeLong) {
  Case one{
      {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_JOB_NODELIST=n[1-100000]", "SLURM_NODEID=99999"},
      kPyTorch};
  EXPECT_EQ(said(one), "slurm pytorch 99999 of 100000, world size 100000");
  one.variables[2] = "SLURM_JOB_NODELIST=n[1-2000000]";
  EXPECT_THAT(said(one), HasSubstr("262144 hosts"));
}

}  // namespace
}  // namespace envgen
