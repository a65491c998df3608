#include "tests/envgen/platform/platform_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kMountedTable = "/user/serverid/devindex/config/hccl.json";

void set(Container& c, const std::vector<std::pair<const char*, std::string>>& variables) {
  for (const auto& [name, value] : variables) c.snapshot.env.set(name, value);
}

// What the env and svc plugins give to a job of `workers` workers and `servers` parameter servers.
Container pod(const std::string& task, int index, int workers, int servers) {
  Container c = container(
      "job-" + task + "-" + std::to_string(index),
      {"VC_TASK_INDEX=" + std::to_string(index), "VK_TASK_INDEX=" + std::to_string(index)});
  for (auto [name, upper, count] :
       {std::tuple("worker", "WORKER", workers), std::tuple("ps", "PS", servers)}) {
    std::string hosts;
    for (int i = 0; i < count; ++i) {
      hosts += (i == 0 ? "job-" : ",job-") + std::string(name) + "-" + std::to_string(i) + ".job";
    }
    if (count == 0) continue;
    c.snapshot.env.set("VC_" + std::string(upper) + "_HOSTS", hosts);
    c.snapshot.env.set("VC_" + std::string(upper) + "_NUM", std::to_string(count));
  }
  return c;
}

TEST(Volcano, IsDetectedByItsPlugins) {
  EXPECT_THAT(detected(pod("worker", 0, 2, 0)), Pair("volcano", "VC_TASK_INDEX is set"));
  EXPECT_THAT(detected(container("x", {"VC_TRAINER_HOSTS=a,b"})),
              Pair("volcano", "VC_TRAINER_HOSTS is set"));
  EXPECT_THAT(detected(container("x", {"MPI_HOST=a,b"})), Pair("volcano", "MPI_HOST is set"));
  EXPECT_EQ(detected(container("x", {"VC_HOSTS=a", "VC__HOSTS=b"})).first, "local");
}

TEST(Volcano, WorkersAreNodesInTheirOrder) {
  ResolvedCluster first = resolved_in(locate_volcano, pod("worker", 0, 3, 0));
  ResolvedCluster last = resolved_in(locate_volcano, pod("worker", 2, 3, 0));
  EXPECT_THAT(nodes_of(first),
              ElementsAre("worker0 job-worker-0.job x2", "worker1 job-worker-1.job x2",
                          "worker2 job-worker-2.job x2"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.cluster.world_size, 6);
  EXPECT_EQ(first.cluster.master_addr, "job-worker-0.job");
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 2);
  EXPECT_EQ(first.platform.framework, "");
}

TEST(Volcano, ATaskOfAnyNameIsAJobWithoutRoles) {
  Container c = container("job-trainer-1", {"VC_TASK_INDEX=1",
                                            "VC_TRAINER_HOSTS=job-trainer-0.job,"
                                            "job-trainer-1.job"});
  EXPECT_THAT(nodes_of(resolved_in(locate_volcano, c)),
              ElementsAre("job-trainer-0.job x2", "job-trainer-1.job x2"));
}

TEST(Volcano, TheIndexCountsWithinATask) {
  ResolvedCluster worker = resolved_in(locate_volcano, pod("worker", 0, 2, 2));
  ResolvedCluster ps = resolved_in(locate_volcano, pod("ps", 0, 2, 2));
  EXPECT_THAT(nodes_of(ps),
              ElementsAre("worker0 job-worker-0.job x1", "worker1 job-worker-1.job x1",
                          "ps0 job-ps-0.job x0", "ps1 job-ps-1.job x0"));
  EXPECT_EQ(worker.cluster, ps.cluster);
  EXPECT_EQ(worker.local_node.node_rank, 0);
  EXPECT_EQ(ps.local_node.node_rank, 2);
  EXPECT_EQ(ps.platform.framework, "tensorflow");
  EXPECT_THAT(ps.platform.framework_reason, HasSubstr("task ps"));
}

TEST(Volcano, LeadersComeFirstAndEvaluatorsLast) {
  Container c = container("j-ps-0", {"VC_PS_HOSTS=j-ps-0.j", "VC_EVALUATOR_HOSTS=j-evaluator-0.j",
                                     "VC_WORKER_HOSTS=j-worker-0.j", "VC_CHIEF_HOSTS=j-chief-0.j"});
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("chief0 j-chief-0.j x1", "worker0 j-worker-0.j x1",
                                              "ps0 j-ps-0.j x0", "evaluator0 j-evaluator-0.j x0"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
}

void add_board(Container& c) {
  set(c, {{"VC_BOARD_HOSTS", "job-board-0.job"}, {"VC_BOARD_NUM", "1"}});
}

TEST(Volcano, ATaskBesideATensorFlowJobIsNoRole) {
  Container c = pod("ps", 1, 2, 2);
  add_board(c);
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_EQ(resolved.cluster, resolved_in(locate_volcano, pod("ps", 1, 2, 2)).cluster);
  EXPECT_EQ(resolved.local_node.node_rank, 3);

  c = pod("worker", 1, 2, 0);
  add_board(c);
  c.request.framework = "tensorflow";
  resolved = resolved_in(locate_volcano, c);
  EXPECT_THAT(nodes_of(resolved),
              ElementsAre("worker0 job-worker-0.job x1", "worker1 job-worker-1.job x1"));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

TEST(Volcano, ThePodOfATaskBesideTheJobIsNotItsFirstWorker) {
  Container c = pod("worker", 0, 2, 0);
  add_board(c);
  c.request.framework = "tensorflow";
  c.snapshot.facts.host_name = "job-board-0";
  EXPECT_THAT(error_in(locate_volcano, c),
              AllOf(HasSubstr("task board"), HasSubstr("VC_BOARD_HOSTS")));
  c.snapshot.facts.host_name = "machine-17";
  EXPECT_THAT(error_in(locate_volcano, c), HasSubstr("no task name"));
}

TEST(Volcano, TheMountedFilesSayTheSame) {
  Container c = pod("ps", 1, 0, 0);
  c.snapshot.paths["/etc/volcano"] =
      directory_of({"..data", "VC_PS_HOSTS", "ps.host", "worker.host"});
  Inputs inputs(c.snapshot, c.request);
  EXPECT_TRUE(std::holds_alternative<NeedsPaths>(locate_volcano(inputs)));
  EXPECT_THAT(inputs.wants(), Contains(Want{"/etc/volcano/ps.host", true}));
  EXPECT_THAT(inputs.wants(), Contains(Want{"/etc/volcano/worker.host", true}));

  c.snapshot.paths["/etc/volcano/ps.host"] = file_of("job-ps-0.job\njob-ps-1.job");
  c.snapshot.paths["/etc/volcano/worker.host"] = file_of("job-worker-0.job");
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("worker0 job-worker-0.job x1", "ps0 job-ps-0.job x0",
                                              "ps1 job-ps-1.job x0"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
}

TEST(Volcano, OnAHostNetworkTheTasksNameTells) {
  Container c = pod("ps", 1, 2, 2);
  c.snapshot.facts.host_name = "machine-17";
  EXPECT_THAT(error_in(locate_volcano, c),
              AllOf(HasSubstr("no task name"), HasSubstr("worker (2), ps (2)"),
                    HasSubstr("VC_TASK_NAME"), HasSubstr("--node-rank")));
  c.snapshot.env.set("VC_TASK_NAME", "ps");
  EXPECT_EQ(resolved_in(locate_volcano, c).local_node.node_rank, 3);
  c.snapshot.env.set("VC_TASK_NAME", "master");
  EXPECT_THAT(error_in(locate_volcano, c), HasSubstr("has the tasks worker (2), ps (2)"));
  c.request.node_rank = 1;
  EXPECT_EQ(resolved_in(locate_volcano, c).local_node.node_rank, 1);
  c.request.node_rank = 4;
  EXPECT_THAT(error_in(locate_volcano, c), AllOf(HasSubstr("--node-rank"), HasSubstr("0 to 3")));
}

TEST(Volcano, WithOneTaskTheIndexIsEnough) {
  Container c = pod("worker", 1, 2, 0);
  c.snapshot.facts.host_name = "machine-17";
  EXPECT_EQ(resolved_in(locate_volcano, c).local_node.node_rank, 1);
  c.snapshot.env.unset("VC_TASK_INDEX");
  c.snapshot.env.unset("VK_TASK_INDEX");
  EXPECT_THAT(error_in(locate_volcano, c),
              AllOf(HasSubstr("VC_TASK_INDEX"), HasSubstr("env plugin")));
}

TEST(Volcano, ContradictionsAreErrors) {
  const struct {
    std::vector<std::pair<const char*, std::string>> variables;
    std::string host_name;
    std::vector<const char*> told;
  } faults[] = {
      {{{"VC_WORKER_NUM", "3"}}, "job-worker-1", {"VC_WORKER_HOSTS", "2 hosts and 3"}},
      {{{"VC_WORKER_HOSTS", "a.job,a.job"}}, "a", {"VC_WORKER_HOSTS"}},
      {{{"VK_TASK_INDEX", "0"}}, "job-worker-1", {"VK_TASK_INDEX", "1 and 0"}},
      {{{"VC_TASK_INDEX", "0"}, {"VK_TASK_INDEX", "0"}}, "job-worker-1", {"is number 1"}},
      {{{"VC_TASK_INDEX", "5"}, {"VK_TASK_INDEX", "5"}}, "m", {"VC_TASK_INDEX", "has 2 hosts"}},
      {{{"VC_TASK_INDEX", "one"}}, "m", {"VC_TASK_INDEX", "whole number"}},
  };
  for (const auto& fault : faults) {
    Container c = pod("worker", 1, 2, 0);
    c.snapshot.facts.host_name = fault.host_name;
    set(c, fault.variables);
    std::string line = error_in(locate_volcano, c);
    for (const char* text : fault.told) EXPECT_THAT(line, HasSubstr(text));
  }
}

TEST(Volcano, OnlyAnIndexNeedsTheNumberOfNodes) {
  Container c = container("x", {"VC_TASK_INDEX=1"});
  const ResolvedCluster uncounted = resolved_in(locate_volcano, c);
  EXPECT_THAT(uncounted.cluster.nodes, IsEmpty());
  ASSERT_TRUE(uncounted.platform.uncounted);
  EXPECT_THAT(to_line(*uncounted.platform.uncounted),
              AllOf(HasSubstr("svc plugin"), HasSubstr("--nodes")));
  c.request.nodes = 2;
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("? x2", "? x2"));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  c.request.nodes = 1;
  EXPECT_THAT(error_in(locate_volcano, c), HasSubstr("1 in a job of 1 nodes"));
}

// The pytorch plugin: RANK and WORLD_SIZE count pods, worker i is i + 1.
Container torch_pod(const std::string& task, int index) {
  Container c = pod("worker", 0, 2, 0);
  c.snapshot.facts.host_name = "job-" + task + "-" + std::to_string(index);
  int rank = task == "master" ? 0 : index + 1;
  set(c, {{"VC_TASK_INDEX", std::to_string(index)},
          {"VK_TASK_INDEX", std::to_string(index)},
          {"VC_MASTER_HOSTS", "job-master-0.job"},
          {"VC_MASTER_NUM", "1"},
          {"MASTER_ADDR", "job-master-0.job"},
          {"MASTER_PORT", "23456"},
          {"WORLD_SIZE", "3"},
          {"RANK", std::to_string(rank)}});
  return c;
}

TEST(Volcano, ThePyTorchPluginCountsPods) {
  ResolvedCluster first = resolved_in(locate_volcano, torch_pod("master", 0));
  ResolvedCluster last = resolved_in(locate_volcano, torch_pod("worker", 1));
  EXPECT_THAT(nodes_of(first),
              ElementsAre("master0 job-master-0.job x2", "worker0 job-worker-0.job x2",
                          "worker1 job-worker-1.job x2"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.cluster.world_size, 6);
  EXPECT_EQ(first.cluster.master_addr, "job-master-0.job");
  EXPECT_EQ(first.cluster.master_port, 23456);
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 2);
  EXPECT_EQ(first.platform.framework, "pytorch");
}

TEST(Volcano, ThePyTorchMasterMayBeCalledAnything) {
  Container c = torch_pod("worker", 1);
  c.snapshot.env.unset("VC_MASTER_HOSTS");
  c.snapshot.env.unset("VC_MASTER_NUM");
  set(c, {{"VC_ZERO_HOSTS", "job-zero-0.job"}, {"MASTER_ADDR", "job-zero-0.job"}});
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_EQ(nodes_of(resolved)[0], "zero0 job-zero-0.job x2");
  EXPECT_EQ(resolved.local_node.node_rank, 2);
}

TEST(Volcano, ATaskBesideThePyTorchJobIsNoNode) {
  Container c = torch_pod("worker", 1);
  set(c, {{"VC_BOARD_HOSTS", "job-board-0.job"}, {"VC_BOARD_NUM", "1"}});
  EXPECT_EQ(resolved_in(locate_volcano, c).cluster,
            resolved_in(locate_volcano, torch_pod("worker", 1)).cluster);
}

// The plugin counted all pods of the job in WORLD_SIZE until 2025.
TEST(Volcano, AnOlderPyTorchPluginCountsTheTasksBesideTheJob) {
  for (const char* world : {"3", "5"}) {
    for (const auto& [task, index] : {std::pair("master", 0), std::pair("worker", 1)}) {
      Container c = torch_pod(task, index);
      set(c, {{"VC_BOARD_HOSTS", "job-board-0.job,job-board-1.job"}, {"WORLD_SIZE", world}});
      for (const bool host_network : {false, true}) {
        if (host_network) c.snapshot.facts.host_name = "machine-17";
        const ResolvedCluster resolved = resolved_in(locate_volcano, c);
        EXPECT_EQ(resolved.cluster, resolved_in(locate_volcano, torch_pod(task, index)).cluster);
        EXPECT_EQ(resolved.local_node.node_rank, task == std::string("master") ? 0 : 2);
        EXPECT_EQ(resolved.warnings.size(), *world == '5' ? 1U : 0U);
      }
    }
    Container board = torch_pod("board", 1);
    set(board, {{"VC_BOARD_HOSTS", "job-board-0.job,job-board-1.job"}, {"WORLD_SIZE", world}});
    board.snapshot.env.unset("RANK");
    EXPECT_THAT(error_in(locate_volcano, board), HasSubstr("task board, which is beside"));
  }
}

TEST(Volcano, ThePyTorchPluginsTasksAreKnownByWhatItNumbers) {
  auto trainer = [](const char* host, int index, int rank, const char* world) {
    Container c = container(host, {"VC_CHIEF_HOSTS=j-chief-0.j", "VC_BOARD_HOSTS=j-board-0.j",
                                   "VC_TRAINER_HOSTS=j-trainer-0.j,j-trainer-1.j",
                                   "MASTER_ADDR=j-chief-0.j", "MASTER_PORT=23456"});
    set(c, {{"VC_TASK_INDEX", std::to_string(index)},
            {"RANK", std::to_string(rank)},
            {"WORLD_SIZE", world}});
    return c;
  };
  for (const char* world : {"3", "4"}) {
    const ResolvedCluster last = resolved_in(locate_volcano, trainer("j-trainer-1", 1, 2, world));
    EXPECT_THAT(nodes_of(last), ElementsAre("chief0 j-chief-0.j x2", "trainer0 j-trainer-0.j x2",
                                            "trainer1 j-trainer-1.j x2"));
    EXPECT_EQ(last.local_node.node_rank, 2);
  }
  EXPECT_EQ(resolved_in(locate_volcano, trainer("j-chief-0", 0, 0, "3")).cluster.nodes.size(), 3U);
  EXPECT_THAT(error_in(locate_volcano, trainer("j-chief-0", 0, 0, "4")),
              AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("board (1), trainer (2)")))
      << "nothing tells the master which of them trains";
  EXPECT_THAT(error_in(locate_volcano, trainer("j-trainer-1", 1, 2, "7")), HasSubstr("WORLD_SIZE"));
}

TEST(Volcano, APyTorchMasterThatIsCalledWorkerIsNotItsOwnWorker) {
  Container c = container(
      "j-worker-0", {"VC_TASK_INDEX=0", "VC_WORKER_HOSTS=j-worker-0.j",
                     "VC_A_HOSTS=j-a-0.j,j-a-1.j", "VC_B_HOSTS=j-b-0.j,j-b-1.j",
                     "MASTER_ADDR=j-worker-0.j", "MASTER_PORT=23456", "WORLD_SIZE=5", "RANK=0"});
  EXPECT_THAT(error_in(locate_volcano, c), HasSubstr("no task worker"));
}

TEST(Volcano, APyTorchMasterMayBeAloneBesideOtherTasks) {
  Container c = container("j-master-0", {"VC_TASK_INDEX=0", "VC_MASTER_HOSTS=j-master-0.j",
                                         "VC_BOARD_HOSTS=j-board-0.j", "MASTER_ADDR=j-master-0.j",
                                         "MASTER_PORT=23456", "WORLD_SIZE=1", "RANK=0"});
  EXPECT_EQ(resolved_in(locate_volcano, c).cluster.nodes.size(), 1U);
}

// Both plugins know a master and a worker; MPI_HOST is the master's alone.
TEST(Volcano, ThePyTorchAndTheMpiPluginTogetherAreThePyTorchJob) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"python", "train.py"}, {"mpirun", "python", "train.py"}}) {
    Container master = torch_pod("master", 0);
    set(master, {{"MPI_HOST", "job-worker-0.job,job-worker-1.job"}});
    Container worker = torch_pod("worker", 1);
    master.request.command = worker.request.command = command;
    const ResolvedCluster first = resolved_in(locate_volcano, master);
    const ResolvedCluster last = resolved_in(locate_volcano, worker);
    EXPECT_EQ(first.cluster, last.cluster);
    EXPECT_EQ(first.platform.framework, command[0] == "mpirun" ? "mpi" : "pytorch");
    EXPECT_EQ(last.platform.framework, first.platform.framework);
    EXPECT_EQ(first.cluster.world_size, command[0] == "mpirun" ? 2 : 6);
  }
}

TEST(Volcano, ThePyTorchPluginAloneKnowsTheMasterOnly) {
  Container c = container(
      "x", {"VC_TASK_INDEX=1", "MASTER_ADDR=m", "MASTER_PORT=1", "WORLD_SIZE=3", "RANK=2"});
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("m x2", "? x2", "? x2"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
  c.snapshot.env.set("RANK", "3");
  EXPECT_THAT(error_in(locate_volcano, c), AllOf(HasSubstr("RANK"), HasSubstr("0 to 2")));
  c.snapshot.env.unset("RANK");
  EXPECT_THAT(error_in(locate_volcano, c), HasSubstr("RANK"));
}

TEST(Volcano, ThePyTorchPluginHasToAgreeWithTheLists) {
  Container c = torch_pod("worker", 1);
  c.snapshot.env.set("WORLD_SIZE", "6");
  EXPECT_THAT(error_in(locate_volcano, c), AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("3 pods")));
  c = torch_pod("worker", 1);
  c.snapshot.env.set("RANK", "1");
  EXPECT_THAT(error_in(locate_volcano, c), AllOf(HasSubstr("RANK"), HasSubstr("node 2")));
}

// RANK can be the only sign of the place if the pod uses the host's network.
TEST(Volcano, ARankThatNoListedPodHasIsNoPlace) {
  Container c = torch_pod("worker", 1);
  c.snapshot.facts.host_name = "machine-17";
  set(c, {{"WORLD_SIZE", "6"}, {"RANK", "5"}});
  EXPECT_THAT(error_in(locate_volcano, c), HasSubstr("VC_TASK_NAME"));
  set(c, {{"WORLD_SIZE", "2"}, {"RANK", "2"}});
  EXPECT_THAT(error_in(locate_volcano, c), HasSubstr("VC_TASK_NAME"));
}

TEST(Volcano, TheTensorFlowPluginsConfigIsTaken) {
  Container c = pod("ps", 0, 1, 1);
  c.snapshot.env.set(
      "TF_CONFIG", R"({"cluster":{"ps":["job-ps-0.job:2222"],"worker":["job-worker-0.job:2222"]},)"
                   R"("task":{"type":"ps","index":0}})");
  EXPECT_EQ(detected(c).first, "volcano");
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_THAT(nodes_of(resolved),
              ElementsAre("worker0 job-worker-0.job:2222 x1", "ps0 job-ps-0.job:2222 x0"));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.platform.framework, "tensorflow");
  EXPECT_THAT(resolved.platform.tf_config, HasSubstr("job-ps-0"));
}

TEST(Volcano, MpiTasksAreALauncherAndWorkers) {
  auto mpi_pod = [](const std::string& name, int gpus) {
    return container("job-" + name,
                     {"VC_TASK_INDEX=0", "VC_MPIMASTER_HOSTS=job-mpimaster-0.job",
                      "VC_MPIWORKER_HOSTS=job-mpiworker-0.job"},
                     gpus);
  };
  Container master = mpi_pod("mpimaster-0", 0);
  master.snapshot.env.set("MPI_HOST", "job-mpiworker-0.job");
  ResolvedCluster launcher = resolved_in(locate_volcano, master);
  ResolvedCluster worker = resolved_in(locate_volcano, mpi_pod("mpiworker-0", 8));
  EXPECT_THAT(nodes_of(launcher),
              ElementsAre("launcher0 job-mpimaster-0.job x0", "worker0 job-mpiworker-0.job x1"));
  EXPECT_EQ(launcher.cluster, worker.cluster);
  EXPECT_EQ(worker.local_node.node_rank, 1);
  EXPECT_EQ(worker.platform.framework, "mpi");
  EXPECT_THAT(launcher.warnings, Contains(HasSubstr("--slots")));

  master.request.slots = 8;
  launcher = resolved_in(locate_volcano, master);
  EXPECT_EQ(launcher.cluster.world_size, 8);
  EXPECT_THAT(launcher.warnings, IsEmpty());
  master.snapshot.env.set("MPI_HOST", "stranger");
  EXPECT_THAT(error_in(locate_volcano, master),
              AllOf(HasSubstr("MPI_HOST"), HasSubstr("stranger")));
}

TEST(Volcano, OfMasterAndWorkerTheCommandSaysMpi) {
  auto mpi_pod = [](const char* host) {
    Container c = container(host, {"VC_MASTER_HOSTS=j-master-0.j", "VC_WORKER_HOSTS=j-worker-0.j"});
    c.request.command = {"mpirun", "python", "train.py"};
    return c;
  };
  Container master = mpi_pod("j-master-0");
  master.snapshot.env.set("MPI_HOST", "j-worker-0.j");
  ResolvedCluster launcher = resolved_in(locate_volcano, master);
  EXPECT_THAT(nodes_of(launcher),
              ElementsAre("launcher0 j-master-0.j x0", "worker0 j-worker-0.j x1"));
  EXPECT_EQ(resolved_in(locate_volcano, mpi_pod("j-worker-0")).cluster, launcher.cluster);
}

TEST(Volcano, ATaskBesideAnMpiJobRunsNoRanks) {
  auto mpi_pod = [] {
    return container("j-mpiworker-0",
                     {"VC_MPIMASTER_HOSTS=j-mpimaster-0.j", "VC_MPIWORKER_HOSTS=j-mpiworker-0.j"});
  };
  Container c = mpi_pod();
  add_board(c);
  EXPECT_EQ(resolved_in(locate_volcano, c).cluster, resolved_in(locate_volcano, mpi_pod()).cluster);
  c.snapshot.env.unset("VC_MPIWORKER_HOSTS");
  c.snapshot.facts.host_name = "job-board-0";
  EXPECT_THAT(nodes_of(resolved_in(locate_volcano, c)), Contains("board0 job-board-0.job x1"))
      << "workers may be called anything";
}

TEST(Volcano, AnMpiJobWithoutALauncherOfItsOwnCountsDevices) {
  Container c = pod("worker", 1, 2, 0);
  c.request.command = {"mpirun", "python", "train.py"};
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_THAT(nodes_of(resolved),
              ElementsAre("worker0 job-worker-0.job x2", "worker1 job-worker-1.job x2"));
  EXPECT_THAT(resolved.warnings, IsEmpty());
}

TEST(Volcano, TheMpiPluginAloneNamesTheWorkers) {
  ResolvedCluster resolved = resolved_in(locate_volcano, container("me", {"MPI_HOST=a,b"}, 0));
  EXPECT_THAT(nodes_of(resolved), ElementsAre("launcher0 me x0", "worker0 a x1", "worker1 b x1"));
  EXPECT_EQ(resolved.local_node.node_rank, 0);
}

// --- Ascend ---

Container operator_pod(int rank) {
  return container("job-worker-0",
                   {"KUBERNETES_SERVICE_HOST=10.0.0.1", "NPU_POD=true", "MASTER_ADDR=172.16.0.4",
                    "MASTER_PORT=2222", "WORLD_SIZE=16", "RANK=" + std::to_string(rank),
                    "LOCAL_WORLD_SIZE=8", "LOCAL_RANK=0,1,2,3,4,5,6,7"},
                   0);
}

TEST(VolcanoAscend, TheOperatorCountsNpusInWorldSizeAndNodesInRank) {
  EXPECT_THAT(detected(operator_pod(0)), Pair("volcano", "NPU_POD is set"));
  ResolvedCluster first = resolved_in(locate_volcano, operator_pod(0));
  ResolvedCluster last = resolved_in(locate_volcano, operator_pod(1));
  EXPECT_THAT(nodes_of(first), ElementsAre("172.16.0.4 x8", "? x8"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.cluster.world_size, 16);
  EXPECT_EQ(first.cluster.master_port, 2222);
  EXPECT_EQ(last.local_node.node_rank, 1);
  EXPECT_EQ(last.platform.framework, "pytorch");
}

TEST(VolcanoAscend, AnOlderOperatorIsKnownByItsListOfLocalRanks) {
  Container c = operator_pod(1);
  c.snapshot.env.unset("NPU_POD");
  EXPECT_THAT(detected(c), Pair("volcano", "LOCAL_RANK is a list"));
  EXPECT_EQ(resolved_in(locate_volcano, c).cluster.world_size, 16);
}

TEST(VolcanoAscend, NumbersThatDisagreeAreErrors) {
  const struct {
    const char* variable;
    const char* value;
    const char* told;
  } faults[] = {{"WORLD_SIZE", "15", "15 and 8"},
                {"WORLD_SIZE", "0", "0 and 8"},
                {"LOCAL_WORLD_SIZE", "4", "8 ranks and 4"},
                {"RANK", "2", "0 to 1"},
                {"RANK", "", "RANK"},
                {"MASTER_PORT", "x", "MASTER_PORT"},
                {"WORLD_SIZE", "2147483640", "from 1 to 262144"}};
  for (const auto& fault : faults) {
    Container c = operator_pod(1);
    c.snapshot.env.set(fault.variable, fault.value);
    EXPECT_THAT(error_in(locate_volcano, c), HasSubstr(fault.told)) << fault.variable;
  }
}

Container mindspore_pod(const char* role, const char* npu_pod, int rank) {
  return container("x",
                   {std::string("MS_ROLE=") + role, std::string("NPU_POD=") + npu_pod,
                    "MS_SCHED_HOST=172.16.0.9", "MS_SCHED_PORT=2222", "MS_WORKER_NUM=16",
                    "MS_LOCAL_WORKER=8", "MS_SERVER_NUM=0", "MS_NODE_RANK=" + std::to_string(rank)},
                   0);
}

TEST(VolcanoAscend, MindSporeJobsUseTheDynamicCluster) {
  ResolvedCluster scheduler = resolved_in(locate_volcano, mindspore_pod("MS_SCHED", "true", 0));
  ResolvedCluster worker = resolved_in(locate_volcano, mindspore_pod("MS_WORKER", "true", 1));
  EXPECT_THAT(nodes_of(worker), ElementsAre("? x8", "? x8"));
  EXPECT_EQ(scheduler.cluster, worker.cluster);
  EXPECT_EQ(worker.cluster.master_addr, "172.16.0.9");
  EXPECT_EQ(worker.local_node.node_rank, 1);
  EXPECT_EQ(worker.platform.framework, "ascend");
  EXPECT_EQ(worker.platform.ascend_launcher, AscendLauncher::kDynamic);
  EXPECT_EQ(worker.platform.mindspore_scheduler, false);
  EXPECT_EQ(scheduler.platform.mindspore_scheduler, true);
}

TEST(VolcanoAscend, ASchedulerWithoutChipsIsNoneOfTheNodes) {
  ResolvedCluster scheduler = resolved_in(locate_volcano, mindspore_pod("MS_SCHED", "false", 0));
  EXPECT_THAT(nodes_of(scheduler), ElementsAre("? x8", "? x8", "scheduler0 172.16.0.9 x0"));
  EXPECT_EQ(scheduler.local_node.node_rank, 2);
  EXPECT_EQ(scheduler.cluster.world_size, 16);
}

std::string table(const std::string& status) {
  return R"({"status":")" + status +
         R"(","version":"1.0","server_count":"2","server_list":[)"
         R"({"server_id":"uid-1","host_ip":"10.0.0.1","container_ip":"172.16.0.1","device":[)"
         R"({"device_id":"0","device_ip":"192.0.0.1","rank_id":"0"}]},)"
         R"({"server_id":"uid-2","host_ip":"10.0.0.2","container_ip":"172.16.0.2","device":[)"
         R"({"device_id":"0","device_ip":"192.0.0.2","rank_id":"1"}]}]})";
}

Container table_pod(const std::string& status, std::vector<std::string> more) {
  more.emplace_back("VC_TASK_INDEX=0");
  Container c = container("x", std::move(more), 0);
  c.snapshot.paths[kMountedTable] = file_of(table(status));
  return c;
}

TEST(VolcanoAscend, TheMountedRankTableKnowsThePodByItsAddressOrItsUid) {
  for (const char* own :
       {"POD_IP=172.16.0.2", "HOST_IP=10.0.0.2", "XDL_IP=10.0.0.2", "POD_UID=uid-2"}) {
    ResolvedCluster resolved = resolved_in(locate_volcano, table_pod("completed", {own}));
    EXPECT_EQ(resolved.local_node.node_rank, 1) << own;
    EXPECT_EQ(resolved.cluster.world_size, 2);
    EXPECT_EQ(resolved.cluster.nodes[1].slots, 1);
    EXPECT_EQ(resolved.cluster.nodes[1].devices.size(), 1u);
  }
  EXPECT_THAT(error_in(locate_volcano, table_pod("completed", {"POD_IP=172.16.0.3"})),
              AllOf(HasSubstr(kMountedTable), HasSubstr("172.16.0.3"), HasSubstr("--node-rank")));
}

TEST(VolcanoAscend, ATableThatIsNotCompletedIsWaitedFor) {
  Container c = table_pod("initializing", {"POD_IP=172.16.0.2"});
  Inputs inputs(c.snapshot, c.request);
  Location location = locate_volcano(inputs);
  auto* not_yet = std::get_if<NotYet>(&location);
  ASSERT_NE(not_yet, nullptr);
  EXPECT_EQ(not_yet->wait.path, kMountedTable);
  EXPECT_THAT(not_yet->wait.why, HasSubstr("initializing"));
}

TEST(VolcanoAscend, ANamedTableGoesWithPyTorchsVariables) {
  Container c =
      table_pod("completed", {"POD_IP=172.16.0.2", "RANK_TABLE_FILE=/t/hccl.json", "NPU_POD=true",
                              "MASTER_ADDR=172.16.0.1", "MASTER_PORT=2222", "WORLD_SIZE=2",
                              "RANK=1", "LOCAL_WORLD_SIZE=1", "LOCAL_RANK=0"});
  c.snapshot.paths["/t/hccl.json"] = file_of(table("completed"));
  ResolvedCluster resolved = resolved_in(locate_volcano, c);
  EXPECT_EQ(resolved.platform.framework, "pytorch");
  EXPECT_EQ(resolved.cluster.master_addr, "172.16.0.1");
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  c.snapshot.env.set("WORLD_SIZE", "4");
  EXPECT_THAT(error_in(locate_volcano, c),
              AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("2 devices and 4")));
}

}  // namespace
}  // namespace envgen
