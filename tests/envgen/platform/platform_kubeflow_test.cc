#include "tests/envgen/platform/platform_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kKubernetes = "KUBERNETES_SERVICE_HOST=10.0.0.1";
constexpr const char* kHostfile = "/etc/mpi/hostfile";

// --- PyTorchJob ---

// As release 1.9 sets them for `nodes` replicas.
Container pytorch_pod(int rank, int nodes, const std::string& nproc) {
  int each = nproc.find_first_not_of("0123456789") == std::string::npos ? std::stoi(nproc) : 1;
  std::string name = rank == 0 ? "job-master-0" : "job-worker-" + std::to_string(rank - 1);
  return container(name,
                   {kKubernetes, "HOSTNAME=" + name, "MASTER_ADDR=job-master-0",
                    "MASTER_PORT=23456", "WORLD_SIZE=" + std::to_string(nodes * each),
                    "RANK=" + std::to_string(rank), "PET_MASTER_ADDR=job-master-0",
                    "PET_MASTER_PORT=23456", "PET_NODE_RANK=" + std::to_string(rank),
                    "PET_NNODES=" + std::to_string(nodes), "PET_NPROC_PER_NODE=" + nproc},
                   4);
}

TEST(KubeflowPyTorch, IsDetectedByWhatTheOperatorSets) {
  EXPECT_THAT(detected(pytorch_pod(0, 2, "4")), Pair("kubeflow", "PET_NNODES is set"));
}

TEST(KubeflowPyTorch, ATorchJobThatSomeoneStartsByHandIsNotGuessed) {
  EXPECT_EQ(
      detected(container("laptop", {"MASTER_ADDR=a", "MASTER_PORT=1", "WORLD_SIZE=2", "RANK=0"}))
          .first,
      "local");
  EXPECT_EQ(detected(container("pod-xyz", {kKubernetes, "HOSTNAME=pod-xyz", "MASTER_ADDR=10.0.0.7",
                                           "MASTER_PORT=1", "WORLD_SIZE=2", "RANK=0"}))
                .first,
            "local");
  EXPECT_EQ(detected(container("laptop", {"PET_NNODES=1", "PET_NPROC_PER_NODE=2"})).first, "local");
}

TEST(KubeflowPyTorch, AWorkerKnowsTheMastersNameOnly) {
  ResolvedCluster first = resolved_in(locate_kubeflow, pytorch_pod(0, 3, "4"));
  ResolvedCluster last = resolved_in(locate_kubeflow, pytorch_pod(2, 3, "4"));
  EXPECT_THAT(nodes_of(last), ElementsAre("job-master-0 x4", "? x4", "? x4"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(last.cluster.world_size, 12);
  EXPECT_EQ(last.cluster.master_addr, "job-master-0");
  EXPECT_EQ(last.cluster.master_port, 23456);
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 2);
  EXPECT_EQ(last.platform.framework, "pytorch");
  EXPECT_EQ(last.platform.min_nodes, 0);
}

TEST(KubeflowPyTorch, AutomaticNumbersOfProcessesAreCountedOnThisNode) {
  EXPECT_EQ(resolved_in(locate_kubeflow, pytorch_pod(1, 2, "auto")).cluster.world_size, 8);
  EXPECT_EQ(resolved_in(locate_kubeflow, pytorch_pod(1, 2, "gpu")).cluster.world_size, 8);
  EXPECT_EQ(resolved_in(locate_kubeflow, pytorch_pod(1, 2, "cpu")).cluster.world_size, 32);
  Container c = pytorch_pod(1, 2, "auto");
  c.snapshot.paths["/dev"] = directory_of({"null"});
  EXPECT_EQ(resolved_in(locate_kubeflow, c).cluster.world_size, 32);
  c.snapshot.env.set("PET_NPROC_PER_NODE", "gpu");
  EXPECT_THAT(error_in(locate_kubeflow, c),
              AllOf(HasSubstr("PET_NPROC_PER_NODE"), HasSubstr("gpu")));
  c.request.slots = 3;
  EXPECT_EQ(resolved_in(locate_kubeflow, c).cluster.world_size, 6);
}

TEST(KubeflowPyTorch, WorldSizeIsProcessesOrPods) {
  Container c = pytorch_pod(1, 2, "4");
  EXPECT_EQ(resolved_in(locate_kubeflow, c).cluster.world_size, 8);
  c.snapshot.env.set("WORLD_SIZE", "2");  // before 1.7
  EXPECT_EQ(resolved_in(locate_kubeflow, c).cluster.world_size, 8);
  c.snapshot.env.set("WORLD_SIZE", "5");
  EXPECT_THAT(error_in(locate_kubeflow, c),
              AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("PET_NNODES is 2")));
}

// Before 1.7 there were no PET_*, and the master called itself localhost.
Container older_pod(int rank) {
  std::string name = rank == 0 ? "job-master-0" : "job-worker-" + std::to_string(rank - 1);
  return container(name,
                   {kKubernetes, "HOSTNAME=" + name,
                    rank == 0 ? "MASTER_ADDR=localhost" : "MASTER_ADDR=job-master-0",
                    "MASTER_PORT=23456", "WORLD_SIZE=3", "RANK=" + std::to_string(rank)},
                   4);
}

TEST(KubeflowPyTorch, AnOlderOperatorCountsPodsAndItsMasterIsLocalhost) {
  EXPECT_EQ(detected(older_pod(0)).first, "kubeflow");
  ResolvedCluster first = resolved_in(locate_kubeflow, older_pod(0));
  ResolvedCluster last = resolved_in(locate_kubeflow, older_pod(2));
  EXPECT_THAT(nodes_of(last), ElementsAre("job-master-0 x4", "? x4", "? x4"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.cluster.master_addr, "job-master-0");
}

TEST(KubeflowPyTorch, ContradictionsAreErrors) {
  const struct {
    const char* variable;
    const char* value;
    const char* told;
  } faults[] = {{"RANK", "0", "PET_NODE_RANK and RANK"},
                {"PET_NODE_RANK", "3", "PET_NODE_RANK"},
                {"PET_NNODES", "0", "PET_NNODES"},
                {"PET_NNODES", "3:2", "MIN:MAX"},
                {"PET_NNODES", "two", "PET_NNODES"},
                {"PET_NNODES", "999999999", "from 1 to 262144"},
                {"PET_NPROC_PER_NODE", "0", "PET_NPROC_PER_NODE"},
                {"PET_NPROC_PER_NODE", "many", "PET_NPROC_PER_NODE"},
                {"WORLD_SIZE", "-3", "WORLD_SIZE"},
                {"MASTER_ADDR", "localhost", ""},
                {"PET_MASTER_PORT", "port", "PET_MASTER_PORT"},
                {"PET_MASTER_ADDR", "localhost", "localhost on node 2"}};
  for (const auto& fault : faults) {
    Container c = pytorch_pod(2, 3, "4");
    c.snapshot.env.set(fault.variable, fault.value);
    SCOPED_TRACE(fault.variable);
    // The variable that torchrun itself reads has the word.
    if (*fault.told == '\0') {
      EXPECT_EQ(resolved_in(locate_kubeflow, c).cluster.master_addr, "job-master-0");
    } else if (std::string(fault.variable) == "PET_NNODES" &&
               std::string(fault.value) == "999999999") {
      c.snapshot.env.unset("WORLD_SIZE");
      EXPECT_THAT(error_in(locate_kubeflow, c), HasSubstr(fault.told));
    } else {
      EXPECT_THAT(error_in(locate_kubeflow, c), HasSubstr(fault.told));
    }
  }
}

TEST(KubeflowPyTorch, AWorldSizeThatDoesNotDivideIsAnError) {
  Container c = older_pod(1);
  c.snapshot.env.set("PET_NPROC_PER_NODE", "2");
  EXPECT_THAT(error_in(locate_kubeflow, c), AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("3 and 2")));
}

TEST(KubeflowPyTorch, AnElasticJobHasARangeOfNodes) {
  Container c =
      container("job-worker-2", {kKubernetes, "PET_NNODES=1:3", "PET_NPROC_PER_NODE=2",
                                 "PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=job-worker-0:29400"});
  EXPECT_EQ(detected(c).first, "kubeflow");
  ResolvedCluster resolved = resolved_in(locate_kubeflow, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("? x2", "? x2", "? x2"));
  EXPECT_EQ(resolved.platform.min_nodes, 1);
  EXPECT_EQ(resolved.local_node.node_rank, 2);
  EXPECT_EQ(resolved.cluster.master_addr, "job-worker-0");
  EXPECT_EQ(resolved.cluster.master_port, 29400);
}

// The agents' rendezvous numbers the nodes. Its endpoint is a node of the job only where the pods'
// names say so.
TEST(KubeflowPyTorch, ARendezvousNeedsNoRankAndIsNoMaster) {
  for (const char* nodes : {"1:2", "2:2", "2"}) {
    for (const char* backend : {"etcd", "etcd-v2", "c10d", ""}) {
      Container c = container("job-worker-1", {kKubernetes, "PET_NPROC_PER_NODE=2"});
      c.snapshot.env.set("PET_NNODES", nodes);
      c.snapshot.env.set("PET_RDZV_BACKEND", backend);
      c.snapshot.env.set("PET_RDZV_ENDPOINT", "etcd-service:2379");
      ResolvedCluster resolved = resolved_in(locate_kubeflow, c);
      EXPECT_THAT(nodes_of(resolved), ElementsAre("? x2", "? x2"));
      EXPECT_EQ(resolved.cluster.master_addr, "");
      EXPECT_EQ(resolved.platform.min_nodes, nodes[0] - '0');
      EXPECT_EQ(resolved.local_node.node_rank, 1);
      for (const char* name : {"pod", "job-worker-7"}) {
        c.snapshot.facts.host_name = name;
        EXPECT_THAT(resolved_in(locate_kubeflow, c).local_node.reason, HasSubstr("rendezvous"));
      }
      c.request.torch_launcher = TorchLauncher::kFanOut;
      EXPECT_THAT(error_in(locate_kubeflow, c), HasSubstr("node"));
    }
  }
}

TEST(KubeflowPyTorch, ARendezvousMayStandInTorchrunsFlags) {
  Container c = container("job-worker-1", {kKubernetes, "PET_NNODES=2", "PET_NPROC_PER_NODE=2"});
  c.request.command = {"torchrun", "--rdzv-backend=etcd-v2", "--rdzv_endpoint", "etcd:2379",
                       "x.py"};
  ResolvedCluster resolved = resolved_in(locate_kubeflow, c);
  EXPECT_EQ(resolved.cluster.master_addr, "");
  EXPECT_EQ(resolved.platform.min_nodes, 2);
  c.request.command = {"bash", "-c", "torchrun --rdzv_backend=etcd --rdzv_endpoint=$EP x.py"};
  EXPECT_EQ(resolved_in(locate_kubeflow, c).platform.min_nodes, 2) << "the shell says where";
  c.request.command = {"torchrun", "--rdzv-backend=static", "--rdzv_endpoint", "etcd:2379", "x.py"};
  c.snapshot.env.set("PET_NODE_RANK", "1");
  resolved = resolved_in(locate_kubeflow, c);
  EXPECT_EQ(resolved.cluster.master_addr, "etcd") << "node 0 opens a static one";
  EXPECT_EQ(resolved.platform.min_nodes, 0);
}

TEST(KubeflowPyTorch, ARendezvousOfOneNodeNeedsNoRank) {
  const ResolvedCluster resolved = resolved_in(
      locate_kubeflow, container("pod", {kKubernetes, "PET_NNODES=1", "PET_NPROC_PER_NODE=2",
                                         "PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=a:29400"}));
  EXPECT_EQ(resolved.cluster.nodes.size(), 1U);
}

// As torchrun --standalone says it.
TEST(KubeflowPyTorch, ASingleNodeMayMeetAtAnyPort) {
  const auto port_of = [](std::vector<std::string> told) {
    std::vector<std::string> variables = {kKubernetes, "PET_NNODES=1", "PET_NPROC_PER_NODE=2"};
    variables.insert(variables.end(), told.begin(), told.end());
    return resolved_in(locate_kubeflow, container("pod", variables)).cluster.master_port;
  };
  EXPECT_EQ(port_of({"PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=localhost:0"}), 0);
  EXPECT_EQ(port_of({"PET_NODE_RANK=0", "PET_MASTER_ADDR=localhost", "PET_MASTER_PORT=0"}), 0);
}

// --- Trainer v2 ---

Container trainer_pod(int rank) {
  return container("llm-node-0-" + std::to_string(rank),
                   {kKubernetes, "JOB_COMPLETION_INDEX=" + std::to_string(rank), "PET_NNODES=2",
                    "PET_NPROC_PER_NODE=auto", "PET_NODE_RANK=" + std::to_string(rank),
                    "PET_MASTER_ADDR=llm-node-0-0.llm", "PET_MASTER_PORT=29500"},
                   4);
}

TEST(KubeflowTrainer, NamesItsNodesByTheirRank) {
  EXPECT_EQ(detected(trainer_pod(0)).first, "kubeflow");
  ResolvedCluster first = resolved_in(locate_kubeflow, trainer_pod(0));
  ResolvedCluster last = resolved_in(locate_kubeflow, trainer_pod(1));
  EXPECT_THAT(nodes_of(first), ElementsAre("llm-node-0-0.llm x4", "llm-node-0-1.llm x4"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(last.local_node.node_rank, 1);
  EXPECT_EQ(last.cluster.master_port, 29500);
}

TEST(KubeflowTrainer, AMissingMasterOrRankIsAnError) {
  Container c = trainer_pod(1);
  c.snapshot.env.unset("PET_MASTER_ADDR");
  EXPECT_THAT(error_in(locate_kubeflow, c),
              AllOf(HasSubstr("PET_MASTER_ADDR"), HasSubstr("--master-addr")));
  c.request.master_addr = "a";
  EXPECT_EQ(resolved_in(locate_kubeflow, c).cluster.master_addr, "a");
  c = trainer_pod(1);
  c.snapshot.env.unset("PET_NODE_RANK");
  EXPECT_THAT(error_in(locate_kubeflow, c),
              AllOf(HasSubstr("PET_NODE_RANK"), HasSubstr("--node-rank")));
}

// Its torchtune plugin tells the master by the command alone.
TEST(KubeflowTrainer, TorchtuneIsToldWhereItsRanksMeetByItsFlag) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"tune", "run", "--rdzv_endpoint=llm-node-0-0.llm:29500", "full_finetune_distributed"},
           {"tune", "run", "--rdzv-endpoint", "llm-node-0-0.llm:29500",
            "full_finetune_distributed"},
           {"bash", "-c", "tune run --rdzv_endpoint=llm-node-0-0.llm:29500 recipe"}}) {
    Container c = trainer_pod(1);
    c.snapshot.env.unset("PET_MASTER_ADDR");
    c.snapshot.env.unset("PET_MASTER_PORT");
    c.request.command = command;
    ResolvedCluster resolved = resolved_in(locate_kubeflow, c);
    EXPECT_EQ(resolved.cluster.master_addr, "llm-node-0-0.llm");
    EXPECT_EQ(resolved.cluster.master_port, 29500);
    EXPECT_THAT(nodes_of(resolved), ElementsAre("llm-node-0-0.llm x4", "llm-node-0-1.llm x4"));
    EXPECT_EQ(resolved.local_node.node_rank, 1);
  }
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"python", "train.py", "--rdzv_endpoint=a:1"},
           {"bash", "-c", "torchrun --rdzv_endpoint $LEADER:29500 x.py"}}) {
    Container c = trainer_pod(1);
    c.snapshot.env.unset("PET_MASTER_ADDR");
    c.request.command = command;
    EXPECT_THAT(error_in(locate_kubeflow, c), HasSubstr("--master-addr")) << command.back();
  }
}

// --- TFJob ---

Container tf_pod(const std::string& config) {
  return container("job-worker-1", {kKubernetes, "TF_CONFIG=" + config});
}

TEST(KubeflowTensorFlow, TheInjectedConfigNamesAllTasks) {
  auto config = [](const std::string& type, int index) {
    return R"({"cluster":{"ps":["j-ps-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222",)"
           R"("j-worker-1.n.svc:2222"],"chief":["j-chief-0.n.svc:2222"]},"task":{"type":")" +
           type + R"(","index":)" + std::to_string(index) + R"(},"environment":"cloud"})";
  };
  EXPECT_THAT(detected(tf_pod(config("worker", 1))), Pair("kubeflow", "TF_CONFIG is set"));
  ResolvedCluster first = resolved_in(locate_kubeflow, tf_pod(config("chief", 0)));
  ResolvedCluster last = resolved_in(locate_kubeflow, tf_pod(config("ps", 0)));
  EXPECT_THAT(nodes_of(first),
              ElementsAre("chief0 j-chief-0.n.svc:2222 x1", "worker0 j-worker-0.n.svc:2222 x1",
                          "worker1 j-worker-1.n.svc:2222 x1", "ps0 j-ps-0.n.svc:2222 x0"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 3);
  EXPECT_EQ(first.platform.framework, "tensorflow");
  EXPECT_FALSE(first.platform.tf_index_text);
  EXPECT_EQ(resolved_in(locate_kubeflow, tf_pod(config("evaluator", 0))).cluster.nodes.back().role,
            "evaluator");
  EXPECT_THAT(error_in(locate_kubeflow, tf_pod(config("worker", 2))), HasSubstr("TF_CONFIG"));
  EXPECT_THAT(error_in(locate_kubeflow, tf_pod(config("learner", 0))), HasSubstr("learner"));
}

TEST(KubeflowTensorFlow, ADynamicWorkerSeesItselfAndTheServers) {
  ResolvedCluster worker = resolved_in(
      locate_kubeflow, tf_pod(R"({"cluster":{"ps":["p0:2222","p1:2222"],"worker":{"1":"w1:2222"}},)"
                              R"("task":{"type":"worker","index":1}})"));
  EXPECT_THAT(nodes_of(worker),
              ElementsAre("worker1 w1:2222 x1", "ps0 p0:2222 x0", "ps1 p1:2222 x0"));
  EXPECT_EQ(worker.local_node.node_rank, 0);
}

TEST(KubeflowTensorFlow, AHandSetConfigOutsideOfKubernetesStaysTheUsers) {
  EXPECT_EQ(detected(container("laptop", {R"(TF_CONFIG={"cluster":{}})"})).first, "local");
}

// --- MPIJob ---

Container launcher_pod(const std::string& hostfile) {
  Container c = container(
      "job-launcher",
      {kKubernetes, "K_MPI_JOB_ROLE=launcher", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
       "OMPI_MCA_orte_set_default_slots=2"},
      0);
  c.snapshot.paths[kHostfile] = file_of(hostfile);
  return c;
}

TEST(KubeflowMpi, TheLauncherReadsTheMountedHostfile) {
  Container c = launcher_pod("job-worker-0.job.ns.svc slots=2\njob-worker-1.job.ns.svc slots=2\n");
  EXPECT_THAT(detected(c), Pair("kubeflow", "K_MPI_JOB_ROLE is set"));
  ResolvedCluster resolved = resolved_in(locate_kubeflow, c);
  EXPECT_THAT(nodes_of(resolved),
              ElementsAre("launcher0 job-launcher x0", "worker0 job-worker-0.job.ns.svc x2",
                          "worker1 job-worker-1.job.ns.svc x2"));
  EXPECT_EQ(resolved.local_node.node_rank, 0);
  EXPECT_EQ(resolved.cluster.world_size, 4);
  EXPECT_EQ(resolved.platform.framework, "mpi");
  EXPECT_TRUE(resolved.platform.hostfiles_given);
  EXPECT_EQ(resolved.platform.openmpi_hostfile, kHostfile);
  EXPECT_EQ(resolved.platform.mpich_hostfile, "");
}

TEST(KubeflowMpi, ALauncherThatWorksIsInItsHostfile) {
  ResolvedCluster resolved =
      resolved_in(locate_kubeflow, launcher_pod("job-launcher.job.ns.svc slots=2\n"
                                                "job-worker-0.job.ns.svc slots=2\n"));
  EXPECT_THAT(nodes_of(resolved), ElementsAre("launcher0 job-launcher.job.ns.svc x2",
                                              "worker0 job-worker-0.job.ns.svc x2"));
  EXPECT_EQ(resolved.cluster.world_size, 4);
}

TEST(KubeflowMpi, HydrasHostfileHasColons) {
  Container c = launcher_pod("job-worker-0.job.ns.svc:3\n");
  c.snapshot.env.unset("OMPI_MCA_orte_default_hostfile");
  c.snapshot.env.unset("K_MPI_JOB_ROLE");
  for (const char* variable : {"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"}) {
    Container mine = c;
    mine.snapshot.env.set(variable, kHostfile);
    EXPECT_THAT(detected(mine).second, HasSubstr(variable));
    ResolvedCluster resolved = resolved_in(locate_kubeflow, mine);
    EXPECT_EQ(resolved.cluster.world_size, 3);
    EXPECT_EQ(resolved.platform.mpich_hostfile, kHostfile);
    EXPECT_EQ(resolved.platform.openmpi_hostfile, "");
  }
}

TEST(KubeflowMpi, AnotherHostfileIsTheUsersOwn) {
  EXPECT_EQ(detected(container("x", {"HYDRA_HOST_FILE=/home/me/hosts"})).first, "local");
}

TEST(KubeflowMpi, AWorkerIsToldItsRoleAndNoMore) {
  Container c = container("job-worker-3", {kKubernetes, "K_MPI_JOB_ROLE=worker"});
  ResolvedCluster resolved = resolved_in(locate_kubeflow, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("launcher0 ? x0", "worker3 job-worker-3 x0"));
  EXPECT_EQ(resolved.cluster.world_size, 0) << "not 1, which would be a guess";
  EXPECT_TRUE(resolved.platform.hostfiles_given) << "to the launcher";
  EXPECT_EQ(resolved.platform.openmpi_hostfile, "");
  EXPECT_EQ(resolved.platform.mpich_hostfile, "");
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.platform.framework, "mpi");
}

TEST(KubeflowMpi, AHostfileThatMpirunWouldMisreadIsAnError) {
  EXPECT_THAT(error_in(locate_kubeflow, launcher_pod("")), HasSubstr(kHostfile));
  EXPECT_THAT(error_in(locate_kubeflow, launcher_pod("a slots=2 b slots=2\n")),
              HasSubstr("line 1"));
  EXPECT_THAT(error_in(locate_kubeflow, launcher_pod("a slots=2\na slots=2\n")),
              HasSubstr(kHostfile));
  Container c = launcher_pod("");
  c.snapshot.paths[kHostfile] = {};
  EXPECT_THAT(error_in(locate_kubeflow, c), AllOf(HasSubstr(kHostfile), HasSubstr("no file")));
  c.snapshot.env.set("K_MPI_JOB_ROLE", "boss");
  EXPECT_THAT(error_in(locate_kubeflow, c), HasSubstr("\"boss\""));
}

// --- JAX, XGBoost, Paddle ---

TEST(KubeflowJax, TrainersPodsAreOneProcessEach) {
  auto pod = [](int index) {
    const std::string id = std::to_string(index);
    return container(
        "job-node-0-" + id,
        {kKubernetes, "JOB_COMPLETION_INDEX=" + id, "JAX_NUM_PROCESSES=3", "JAX_PROCESS_ID=" + id,
         "JAX_COORDINATOR_ADDRESS=job-node-0-0.job:6666", "JAX_COORDINATOR_PORT=6666"},
        4);
  };
  EXPECT_EQ(detected(pod(0)).first, "kubeflow");
  const ResolvedCluster first = resolved_in(locate_kubeflow, pod(0));
  const ResolvedCluster last = resolved_in(locate_kubeflow, pod(2));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(last.platform.framework, "jax");
  EXPECT_EQ(last.local_node.node_rank, 2);
  EXPECT_EQ(last.cluster.master_addr, "job-node-0-0.job");
  EXPECT_EQ(last.cluster.master_port, 6666);
  EXPECT_EQ(last.cluster.nodes[2].host, "job-node-0-2.job");
}

TEST(KubeflowJax, AJaxJobHasOtherNames) {
  const Container pod =
      container("job-worker-1", {kKubernetes, "COORDINATOR_ADDRESS=job-worker-0",
                                 "COORDINATOR_PORT=6666", "NUM_PROCESSES=2", "PROCESS_ID=1"});
  EXPECT_EQ(detected(pod).first, "kubeflow");
  const ResolvedCluster resolved = resolved_in(locate_kubeflow, pod);
  EXPECT_EQ(resolved.platform.framework, "jax");
  EXPECT_EQ(resolved.cluster.nodes.size(), 2U);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.master_port, 6666);
  Container itself = pod;
  itself.snapshot.env.set("COORDINATOR_ADDRESS", "localhost");
  EXPECT_THAT(error_in(locate_kubeflow, itself), HasSubstr("localhost on node 1 of 2"));
}

TEST(KubeflowJax, ByHandTheyAreNobodys) {
  EXPECT_EQ(detected(container("laptop", {"JAX_NUM_PROCESSES=2", "JAX_PROCESS_ID=0",
                                          "JAX_COORDINATOR_ADDRESS=a:1"}))
                .first,
            "local");
}

TEST(KubeflowXgboost, IsToldFromAPyTorchJobByItsWorkersAddresses) {
  const Container pod =
      container("job-worker-0", {kKubernetes, "HOSTNAME=job-worker-0", "MASTER_ADDR=job-master-0",
                                 "MASTER_PORT=9999", "WORLD_SIZE=2", "RANK=1", "WORKER_PORT=9999",
                                 "WORKER_ADDRS=job-worker-0"});
  EXPECT_EQ(detected(pod).second, "WORLD_SIZE is set as XGBoostJob does");
  const ResolvedCluster resolved = resolved_in(locate_kubeflow, pod);
  EXPECT_EQ(resolved.platform.framework, "single");
  EXPECT_EQ(resolved.cluster.nodes.size(), 2U);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

TEST(KubeflowXgboost, TrainersCountsAWorkerForEachGpu) {
  const Container pod =
      container("job-node-0-1",
                {kKubernetes, "JOB_COMPLETION_INDEX=1", "DMLC_TRACKER_URI=job-node-0-0.job",
                 "DMLC_TRACKER_PORT=29500", "DMLC_TASK_ID=1", "DMLC_NUM_WORKER=8"},
                4);
  const ResolvedCluster resolved = resolved_in(locate_kubeflow, pod);
  EXPECT_EQ(resolved.platform.framework, "single");
  EXPECT_EQ(resolved.cluster.nodes.size(), 2U);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

TEST(KubeflowPaddle, APaddleJobIsToldItsPodsAndItsMaster) {
  const Container pod = container(
      "job-worker-1",
      {kKubernetes, "PADDLE_JOB_ID=job", "PADDLE_NNODES=2", "PADDLE_MASTER=job-worker-0:36543"});
  const ResolvedCluster resolved = resolved_in(locate_kubeflow, pod);
  EXPECT_EQ(resolved.platform.framework, "paddle");
  EXPECT_EQ(resolved.cluster.nodes.size(), 2U);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.master_port, 36543);
}

}  // namespace
}  // namespace envgen
