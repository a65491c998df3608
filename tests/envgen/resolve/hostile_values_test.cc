// Values that a platform, an image or a hand set wrongly: they end in an error that names them, and
// never in a plan that two nodes would understand differently.

#include "envgen/plan/parsed_command.h"
#include "tests/envgen/resolve/resolved.h"

namespace envgen::jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const Words kTrain = {"python", "train.py"};

Container with(Words variables) {
  Container container;
  container.variables = std::move(variables);
  return container;
}

Words operator+(Words left, Words right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Outcome outcome(const Container& container, const Request& request) {
  return outcome_in(snapshot_of(container), container, request);
}

std::string error_of(const Container& container, const Request& request) {
  Outcome result = outcome(container, request);
  const auto* error = std::get_if<base::Error>(&result);
  return error == nullptr ? "a plan" : to_line(*error);
}

Plan plan_of(const Container& container, const Request& request) {
  Outcome result = outcome(container, request);
  auto* planned = std::get_if<Planned>(&result);
  if (planned == nullptr) ADD_FAILURE() << error_of(container, request);
  return planned == nullptr ? Plan() : std::move(planned->plan);
}

// One node of two, by the variables of each platform that tells a master.
struct Told {
  const char* platform;
  Words variables;
};
const Told kTold[] = {
    {"dlc", {"DLC_JOB_ID=dlc1", "WORLD_SIZE=2", "RANK=1", "NPROC_PER_NODE=8"}},
    {"vk", {"VK_TASK_INDEX=1", "SLOTS=4", "WORLD_SIZE=2", "RANK=1"}},
    {"volcano", {"VC_TASK_INDEX=1", "VC_WORKER_HOSTS=a,b", "WORLD_SIZE=2", "RANK=1"}},
    {"volcano", {"VC_TASK_INDEX=1", "WORLD_SIZE=2", "RANK=1"}},
    {"kubeflow", {"PET_NNODES=2", "PET_NPROC_PER_NODE=8", "PET_NODE_RANK=1"}},
};

// --- the master

TEST(GivenMaster, IsOneNameOrAddressWithoutAPort) {
  for (const Told& told : kTold) {
    for (const char* value : {"a b", "a\nb", " a", "-x", "\xff\xfe", "a:29500", "tcp://a", "a,b",
                              "[fd00::1]:80", ".", "[a]"}) {
      EXPECT_THAT(
          refusal(told.platform, with(told.variables + Words{"MASTER_ADDR=" + std::string(value)}),
                  kTrain),
          HasSubstr("MASTER_ADDR"))
          << told.platform << " " << value;
    }
    for (const char* value : {"a", "a-0.svc", "10.0.0.1", "fd00::1", "[fd00::1]"}) {
      locate(told.platform, with(told.variables + Words{"MASTER_ADDR=" + std::string(value)}),
             kTrain);
    }
  }
}

TEST(GivenMaster, IsNotTheNodeItselfOnAnyButTheFirst) {
  for (const Told& told : kTold) {
    for (const char* value : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
      EXPECT_THAT(
          refusal(told.platform, with(told.variables + Words{"MASTER_ADDR=" + std::string(value)}),
                  kTrain),
          AllOf(HasSubstr("MASTER_ADDR"), HasSubstr(value), HasSubstr("--master-addr")))
          << told.platform;
    }
  }
}

TEST(GivenMaster, OfTheFirstNodeIsItsHostWhereItIsToldItself) {
  for (Told told : kTold) {
    for (std::string& variable : told.variables) {
      for (const char* name : {"RANK=1", "PET_NODE_RANK=1", "VC_TASK_INDEX=1", "VK_TASK_INDEX=1"}) {
        if (variable == name) variable.back() = '0';
      }
    }
    for (const char* value : {"localhost", "127.0.1.1", "0.0.0.0", "::1"}) {
      Container first = with(told.variables + Words{"MASTER_ADDR=" + std::string(value)});
      first.host_name = "a";
      ResolvedCluster resolved = locate(told.platform, first, kTrain);
      EXPECT_EQ(resolved.cluster.master_addr, "a") << told.platform << " " << value;
      EXPECT_EQ(resolved.cluster.nodes[0].host, "a") << told.platform << " " << value;
    }
  }
}

TEST(GivenMaster, GivesWayToTheOption) {
  Request request = request_of(kTrain);
  request.master_addr = "real";
  for (const Told& told : kTold) {
    ResolvedCluster resolved =
        locate(told.platform, with(told.variables + Words{"MASTER_ADDR=localhost"}), request);
    EXPECT_EQ(resolved.cluster.master_addr, "real") << told.platform;
  }
}

TEST(GivenMaster, OfVolcanoIsNoOtherNodeThanTheFirst) {
  EXPECT_THAT(refusal("volcano", with(kTold[2].variables + Words{"MASTER_ADDR=b"}), kTrain),
              AllOf(HasSubstr("b, which is node 1"), HasSubstr("node 0, which is a")));
}

TEST(MasterOption, IsOneNameOrAddressWithoutAPort) {
  for (const char* value : {"a b", "a:1", "a\nb", "-x"}) {
    Request request = request_of(kTrain);
    request.framework = "pytorch";
    request.nodes = 2;
    request.master_addr = value;
    EXPECT_THAT(error_of(with({"JOB_COMPLETION_INDEX=1"}), request), HasSubstr("--master-addr"));
  }
}

TEST(ToldPort, IsFrom1To65535) {
  for (const Told& told : kTold) {
    for (const char* value :
         {"0", "65536", "2147483647", "99999999999", "-1", " 1", "1.0", "0x10"}) {
      EXPECT_THAT(refusal(told.platform,
                          with(told.variables +
                               Words{"MASTER_ADDR=a", "MASTER_PORT=" + std::string(value)}),
                          kTrain),
                  AllOf(HasSubstr("MASTER_PORT"), HasSubstr("from 1 to 65535")))
          << told.platform << " " << value;
    }
  }
}

// --- how many

TEST(RanksOfANode, AreNotMoreThanAnyMachineHas) {
  const std::pair<const char*, Container> cases[] = {
      {"dlc", with({"MASTER_ADDR=a", "WORLD_SIZE=2", "RANK=1", "NPROC_PER_NODE=2147483647"})},
      {"vk", with({"VK_TASK_INDEX=1", "WORKER_HOST=a,b", "SLOTS=2147483647"})},
      {"slurm", with({"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_NODEID=1",
                      "SLURM_GPUS_ON_NODE=2147483647"})},
      {"kubeflow", with({"PET_NNODES=2", "PET_NPROC_PER_NODE=999999999", "PET_NODE_RANK=1",
                         "PET_MASTER_ADDR=a"})},
      {"modelarts",
       with({"MA_VJ_NAME=j", "VC_TASK_INDEX=1", "MA_NUM_HOSTS=2", "MA_NUM_GPUS=2147483647"})},
  };
  for (const auto& [platform, container] : cases) {
    EXPECT_THAT(refusal(platform, container, kTrain), HasSubstr("found \"")) << platform;
  }
}

TEST(RanksOfAJob, DoNotOverflow) {
  Request request = request_of(kTrain);
  request.framework = "pytorch";
  EXPECT_THAT(error_of(with({"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-65536]", "SLURM_NODEID=1",
                             "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_LOCALID=0",
                             "SLURM_STEP_TASKS_PER_NODE=65536(x65536)"}),
                       request),
              HasSubstr("4294967296 ranks"));
}

TEST(NodesAndHostsOptions, AreNotLeftOutSilently) {
  Request request = request_of(kTrain);
  request.nodes = 5;
  request.hosts = "x:2,y:2";
  const Words job = {"DLC_JOB_ID=dlc1", "MASTER_ADDR=a", "WORLD_SIZE=2", "RANK=1"};
  Plan plan = plan_of(with(job), request);
  for (const char* option : {"--nodes", "--hosts"}) {
    EXPECT_THAT(plan.warnings, testing::Contains(HasSubstr(std::string(option) + " is not used")));
  }
  request.nodes = 2;
  request.hosts.clear();
  EXPECT_THAT(plan_of(with(job), request).warnings, Not(testing::Contains(HasSubstr("not used"))));
}

TEST(HostsOption, TellsThatItsNumbersAreSlots) {
  Request request = request_of(kTrain);
  request.hosts = "a:0,node:8";
  EXPECT_THAT(refusal("bare", Container(), request), HasSubstr("host:slots"));
}

// --- who

TEST(VkWithoutLists, NeedsTheRankOfANodeOfSeveral) {
  EXPECT_THAT(
      refusal("vk", with({"VK_TASK_INDEX=0", "SLOTS=2", "WORLD_SIZE=2", "MASTER_ADDR=m"}), kTrain),
      AllOf(HasSubstr("RANK"), HasSubstr("2 nodes")));
  Request request = request_of(kTrain);
  request.node_rank = 1;
  EXPECT_EQ(
      locate("vk", with({"VK_TASK_INDEX=0", "SLOTS=2", "WORLD_SIZE=2", "MASTER_ADDR=m"}), request)
          .local_node.node_rank,
      1);
}

TEST(IndexedWithHosts, DoesNotCountAnIndexIntoTheNextJob) {
  Request request = request_of(kTrain);
  request.hosts = "a:1,b:1,c:1,d:1";
  for (const char* index : {"2", "3", "2147483647"}) {
    EXPECT_THAT(refusal("indexed",
                        with({"JOB_COMPLETION_INDEX=" + std::string(index), "JOB_INDEX=1",
                              "REPLICATED_JOB_REPLICAS=2"}),
                        request),
                AllOf(HasSubstr("JOB_COMPLETION_INDEX"), HasSubstr("a job of 2 pods")));
  }
}

Words srun_task(const char* node, const char* rank, const char* local) {
  return {"SLURM_JOB_ID=7",
          "SLURM_JOB_NODELIST=a,b",
          "SLURM_STEP_ID=0",
          "SLURM_STEP_TASKS_PER_NODE=2(x2)",
          "SLURM_NODEID=" + std::string(node),
          "SLURM_PROCID=" + std::string(rank),
          "SLURM_LOCALID=" + std::string(local)};
}

TEST(SlurmTask, HasNumbersThatFitTogether) {
  // Block, cyclic.
  for (const auto& [node, rank, local] : {std::tuple{"0", "1", "1"},
                                          {"0", "2", "1"},
                                          {"1", "2", "0"},
                                          {"1", "1", "0"},
                                          {"1", "3", "1"}}) {
    locate("slurm", with(srun_task(node, rank, local)), kTrain);
  }
  for (const auto& [rank, local] : {std::pair{"3", "0"}, {"0", "1"}}) {
    EXPECT_THAT(refusal("slurm", with(srun_task("1", rank, local)), kTrain),
                HasSubstr("SLURM_PROCID and SLURM_LOCALID"));
  }
}

TEST(SlurmTask, IsNoOtherNodesThanItsOwn) {
  Request request = request_of(kTrain);
  request.node_rank = 0;
  EXPECT_THAT(refusal("slurm", with(srun_task("1", "3", "1")), request),
              HasSubstr("--node-rank and SLURM_NODEID"));
}

TEST(SlurmNodeList, HasNoHostThatLooksLikeAnOption) {
  for (const char* list : {"-oProxyCommand,b", "-[1-2],b", "a,-b"}) {
    EXPECT_THAT(refusal("slurm",
                        with({"SLURM_JOB_ID=7", "SLURM_NODEID=1",
                              "SLURM_JOB_NODELIST=" + std::string(list)}),
                        kTrain),
                HasSubstr("begins with \"-\""));
  }
}

// --- ModelArts

TEST(ModelArtsJob, IsNotOneNodeForANodeThatIsNotTheFirst) {
  for (const Words& more : {Words{}, {"MA_NUM_HOSTS=1"}, {"MA_NUM_HOSTS=0"}}) {
    refusal("modelarts", with(Words{"MA_VJ_NAME=j", "VC_TASK_INDEX=1"} + more), kTrain);
  }
  EXPECT_THAT(
      refusal("modelarts", with({"MA_VJ_NAME=j", "VC_TASK_INDEX=0", "MA_NUM_HOSTS=0"}), kTrain),
      HasSubstr("MA_NUM_HOSTS"));
}

TEST(ModelArtsJob, HasOneIndexForEachNode) {
  EXPECT_THAT(
      refusal("modelarts",
              with({"MA_VJ_NAME=j", "VC_TASK_INDEX=0", "DLS_TASK_INDEX=1", "MA_NUM_HOSTS=2"}),
              kTrain),
      HasSubstr("VC_TASK_INDEX and DLS_TASK_INDEX"));
}

TEST(ModelArtsJob, HasNodesOfDifferentNames) {
  EXPECT_THAT(refusal("modelarts",
                      with({"DLS_TASK_INDEX=1", "DLS_TASK_NUMBER=2", "BATCH_CUSTOM0_HOSTS=a:1",
                            "BATCH_CUSTOM1_HOSTS=a:1"}),
                      kTrain),
              HasSubstr("BATCH_CUSTOM1_HOSTS"));
  for (const char* name : {"j b", "j\nb", "-j", "j/b", "j:1"}) {
    EXPECT_THAT(
        refusal("modelarts",
                with({"MA_VJ_NAME=" + std::string(name), "VC_TASK_INDEX=1", "MA_NUM_HOSTS=2"}),
                kTrain),
        HasSubstr("MA_VJ_NAME"));
  }
}

TEST(ModelArtsJob, OfParameterServersHasWorkers) {
  for (const char* workers : {"", "[]"}) {
    EXPECT_THAT(refusal("modelarts",
                        with({"MA_VJ_NAME=j", "MA_TASK_NAME=ps", "VC_TASK_INDEX=0",
                              "TF_PS_HOSTS=a:1,b:1", "TF_WORKER_HOSTS=" + std::string(workers)}),
                        kTrain),
                HasSubstr("TF_WORKER_HOSTS"));
  }
}

// --- Kubeflow

TEST(KubeflowRendezvous, CountsBeforeTheImagesMaster) {
  ResolvedCluster resolved =
      locate("kubeflow",
             with({"PET_NNODES=1:2", "PET_NPROC_PER_NODE=8", "PET_NODE_RANK=1",
                   "PET_RDZV_ENDPOINT=w-0:29400", "MASTER_ADDR=localhost", "MASTER_PORT=5"}),
             kTrain);
  EXPECT_EQ(resolved.cluster.master_addr, "w-0");
  EXPECT_EQ(resolved.cluster.master_port, 29400);
}

TEST(KubeflowRendezvous, ThatIsNoneIsNamed) {
  for (const char* value : {"w-0:99999", "w 0", "http://w:1"}) {
    EXPECT_THAT(refusal("kubeflow",
                        with({"PET_NNODES=1:2", "PET_NPROC_PER_NODE=8",
                              "PET_RDZV_ENDPOINT=" + std::string(value)}),
                        kTrain),
                AllOf(HasSubstr("PET_RDZV_ENDPOINT"), HasSubstr(value)));
  }
}

// --- TF_CONFIG

constexpr const char* kTfConfig = R"(TF_CONFIG={"cluster":{"worker":["a:1","b:2"],"ps":["p:1"]},)"
                                  R"("task":{"type":"worker","index":1}})";

TEST(InjectedTfConfig, FollowsTheNodeRankThatIsAskedFor) {
  const std::pair<int, const char*> tasks[] = {
      {0, R"("task":{"type":"worker","index":0})"},
      {2, R"("task":{"type":"ps","index":0})"},
  };
  for (const auto& [rank, task] : tasks) {
    Request request = request_of(kTrain);
    request.node_rank = rank;
    ResolvedCluster resolved = locate("kubeflow", with({kTfConfig}), request);
    EXPECT_EQ(resolved.local_node.node_rank, rank);
    EXPECT_THAT(resolved.platform.tf_config, HasSubstr(task));
  }
  Request request = request_of(kTrain);
  request.node_rank = 1;
  EXPECT_EQ("TF_CONFIG=" + locate("kubeflow", with({kTfConfig}), request).platform.tf_config,
            kTfConfig);
  request.node_rank = 9;
  EXPECT_THAT(refusal("kubeflow", with({kTfConfig}), request), HasSubstr("--node-rank"));
}

TEST(InjectedTfConfig, WithoutAClusterIsOneNode) {
  EXPECT_THAT(locate("kubeflow", with({"TF_CONFIG={}"}), kTrain).cluster.nodes, SizeIs(1));
}

TEST(InjectedTfConfig, IsWhatTensorFlowAndPythonCanRead) {
  EXPECT_THAT(refusal("kubeflow", with({"TF_CONFIG=\xEF\xBB\xBF{}"}), kTrain),
              HasSubstr("byte order mark"));
  EXPECT_THAT(refusal("kubeflow",
                      with({R"(TF_CONFIG={"cluster":{"worker":["fd00::1:1","b:1"]},)"
                            R"("task":{"type":"worker","index":1}})"}),
                      kTrain),
              HasSubstr("[brackets]"));
}

// --- commands

Request two_nodes(Words command) {
  Request request = request_of(std::move(command));
  request.framework = "pytorch";
  request.hosts = "a:2,node:2";
  return request;
}

TEST(AttachedModule, IsSeenAsWhatItIs) {
  EXPECT_THAT(ParsedCommand(Words{"python", "-u", "-mpdb", "x"}).words(),
              ElementsAre("python", "-u", "-m", "pdb", "x"));
  EXPECT_THAT(ParsedCommand(Words{"python", "-ucprint()"}).words(),
              ElementsAre("python", "-uc", "print()"));
  for (const Words& as_it_is : {Words{"python", "-Wm", "x"},
                                {"python", "-uXm", "x"},
                                {"bash", "-mx"},
                                {"python", "--mx"}}) {
    EXPECT_EQ(ParsedCommand(as_it_is).words(), as_it_is);
  }
  // Each rank runs the module.
  const Plan ranks = plan_of(Container(), two_nodes({"python", "-mtrain"}));
  ASSERT_THAT(ranks.processes, SizeIs(2));
  EXPECT_THAT(ranks.processes[0].argv, ElementsAre("python", "-u", "-m", "train"));
  // A launcher is not started by another one.
  Plan plan = plan_of(Container(), two_nodes({"python", "-mtorch.distributed.run", "x.py"}));
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(plan.processes[0].argv[0], "python");
}

TEST(WrappedPython, ThatNoLauncherStartsIsWarnedOf) {
  auto warned = testing::Contains(HasSubstr("is started once on this node"));
  for (const Words& command : {Words{"env", "A=1", "python", "t.py"},
                               {"./train.py"},
                               {"numactl", "-N0", "python3", "t.py"},
                               {"uv", "run", "t.py"},
                               {"uv", "run", "-m", "pkg.train"},
                               {"nohup", "python", "t.py"}}) {
    EXPECT_THAT(plan_of(Container(), two_nodes(command)).warnings, warned);
  }
  for (const Words& command : {Words{"bash", "run.sh"},
                               {"env", "A=1", "torchrun", "t.py"},
                               {"bash", "-c", "python t.py"},
                               {"nice", "python", "-m", "torch.distributed.run", "t.py"}}) {
    EXPECT_THAT(plan_of(Container(), two_nodes(command)).warnings, Not(warned));
  }
}

TEST(InnerCommand, IsNotStartedForEachRankByTrainitOrByALauncher) {
  // A user who names a framework asks for ranks, and the program may be a wrapper of one.
  const Request request = two_nodes({"python", "run.py", "python", "t.py"});
  for (const Words& variables : {Words{}, Words{"PET_TEE=3"}}) {
    EXPECT_THAT(plan_of(with(variables), request).warnings,
                testing::Contains(HasSubstr(
                    "run.py, which starts \"python t.py\", is started 2 times, once for each")));
  }
  // The same of a program that may start ranks, without certainty: a warning.
  const Request doubted = two_nodes({"python", "run.py", "--nproc_per_node=2"});
  for (const Words& variables : {Words{}, Words{"PET_TEE=3"}}) {
    EXPECT_THAT(plan_of(with(variables), doubted).warnings,
                testing::Contains(HasSubstr("python (with run.py) is started 2 times")));
  }
}

// --- conda

TEST(CondaPrefix, IsOneThatPathCanHold) {
  for (const char* name : {"a:b", "/opt/conda/envs/a:b"}) {
    Request request = request_of(kTrain);
    request.conda_dir = "/opt/conda";
    request.conda_env = name;
    Container container;
    for (const char* path : {"/opt/conda/conda-meta", "/opt/conda/envs/a:b/conda-meta"}) {
      container.paths[path] = directory();
    }
    EXPECT_THAT(error_of(container, request), HasSubstr("a directory with a colon")) << name;
  }
}

TEST(CondaPrefix, IsNotTheDirectoryThatHoldsThemAll) {
  for (const char* name : {".", ".."}) {
    Request request = request_of(kTrain);
    request.conda_dir = "/opt/conda";
    request.conda_env = name;
    Container container;
    for (const char* path : {"/opt/conda/conda-meta", "/opt/conda/envs/../conda-meta",
                             "/opt/conda/envs/./conda-meta"}) {
      container.paths[path] = directory();
    }
    EXPECT_THAT(error_of(container, request), HasSubstr("no environment of that name")) << name;
  }
}

// --- errors

TEST(ErrorLine, IsOneLine) {
  EXPECT_EQ(base::to_line({"a", "b", "x\ny\x1b[2Jz\x7f", "d\tü"}),
            "a: b: found x\\ny\\x1b[2Jz\\x7f; d\\tü");
}

TEST(ErrorLine, IsCutBetweenCharactersWhereItWouldBeHuge) {
  std::string umlauts = "x";
  while (umlauts.size() < 20'000) umlauts += "ü";
  const std::string line = base::to_line({"a", "b", umlauts, "c"});
  EXPECT_LT(line.size(), 8300U);
  EXPECT_THAT(line, testing::EndsWith("ü...; c"));
}

}  // namespace
}  // namespace envgen::jobs
