// SageMaker, Azure ML, Vertex AI, SkyPilot, Volcengine, LeaderWorkerSet, OpenPAI, Determined: that
// all nodes of a job fit together is tests/sim's.

#include "envgen/plan/given_names.h"
#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const Words kTrain = {"python", "train.py"};

Request asks(const char* framework) {
  Request request = request_of(kTrain);
  request.framework = framework;
  return request;
}

Container with(Words variables, int gpus = 2) {
  Container one;
  one.variables = std::move(variables);
  Words devices = {"null"};
  for (int i = 0; i < gpus; ++i) devices.push_back("nvidia" + std::to_string(i));
  one.paths["/dev"] = directory(devices);
  return one;
}

Words hosts_of(const ResolvedCluster& resolved) {
  Words hosts;
  for (const Node& node : resolved.cluster.nodes) {
    hosts.push_back((node.role.empty() ? "" : node.role + " ") + node.host + " x" +
                    std::to_string(node.slots));
  }
  return hosts;
}

// --- SageMaker

constexpr const char* kResources = "/opt/ml/input/config/resourceconfig.json";

TEST(SageMaker, IsKnownByItsToolkitOrByItsJob) {
  EXPECT_NE(detected("sagemaker", {R"(SM_HOSTS=["algo-1"])", "SM_CURRENT_HOST=algo-1"}), "");
  EXPECT_NE(detected("sagemaker", {"TRAINING_JOB_ARN=arn:aws:sagemaker:x"}), "");
  EXPECT_EQ(detected("sagemaker", {"SM_MODEL_DIR=/opt/ml/model"}), "");
}

TEST(SageMaker, TheListIsTheOrderOfTheNodes) {
  ResolvedCluster resolved = locate("sagemaker",
                                    with({R"(SM_HOSTS=["algo-1","algo-10","algo-2"])",
                                          "SM_CURRENT_HOST=algo-2", "SM_NUM_GPUS=4"}),
                                    kTrain);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("algo-1 x4", "algo-10 x4", "algo-2 x4"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
  EXPECT_EQ(resolved.cluster.master_addr, "algo-1");
}

TEST(SageMaker, ReadsTheFileWhereTheToolkitIsNot) {
  Container one = with({"TRAINING_JOB_ARN=arn:aws:sagemaker:x", "TRAINING_JOB_NAME=tj"});
  one.paths[kResources] = file(R"({"current_host":"algo-1","hosts":["algo-1","algo-2"]})");
  ResolvedCluster resolved = locate("sagemaker", one, kTrain);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("algo-1 x2", "algo-2 x2"));
  EXPECT_EQ(resolved.platform.job_id, "tj");
  one.paths.erase(kResources);
  EXPECT_THAT(refusal("sagemaker", one, kTrain), HasSubstr(kResources));
  one.paths[kResources] = file(R"({"hosts":["algo-1"]})");
  EXPECT_THAT(refusal("sagemaker", one, kTrain), HasSubstr("no current_host"));
}

TEST(SageMaker, AHostWithoutGpusRunsOneRank) {
  Container one = with({R"(SM_HOSTS=["a","b"])", "SM_CURRENT_HOST=a", "SM_NUM_GPUS=0"});
  EXPECT_EQ(locate("sagemaker", one, kTrain).cluster.world_size, 2);
}

TEST(SageMaker, AHostThatIsNotListedIsRefused) {
  EXPECT_THAT(refusal("sagemaker", with({R"(SM_HOSTS=["a","b"])", "SM_CURRENT_HOST=c"}), kTrain),
              AllOf(HasSubstr("SM_HOSTS"), HasSubstr("\"c\"")));
  EXPECT_THAT(refusal("sagemaker", with({"SM_HOSTS=a,b", "SM_CURRENT_HOST=a"}), kTrain),
              HasSubstr("SM_HOSTS"));
  EXPECT_THAT(refusal("sagemaker", with({"SM_HOSTS={}", "SM_CURRENT_HOST=a"}), kTrain),
              HasSubstr("algo-1"));
}

TEST(SageMaker, HostsOfSeveralInstanceGroupsMayDiffer) {
  const Container by_toolkit = with({R"(SM_HOSTS=["algo-1","algo-2"])", "SM_CURRENT_HOST=algo-2",
                                     "SM_NUM_GPUS=4", R"(SM_INSTANCE_GROUPS=["big","small"])"});
  Container by_file = with({"TRAINING_JOB_ARN=arn:aws:sagemaker:x"});
  by_file.paths[kResources] = file(
      R"({"current_host":"algo-1","hosts":["algo-1","algo-2"],"instance_groups":[)"
      R"({"instance_group_name":"big","instance_type":"ml.p4d.24xlarge","hosts":["algo-1"]},)"
      R"({"instance_group_name":"small","instance_type":"ml.g5.xlarge","hosts":["algo-2"]}]})");
  for (const Container& one : {by_toolkit, by_file}) {
    EXPECT_THAT(refusal("sagemaker", one, asks("pytorch")),
                AllOf(HasSubstr("2 instance groups"), HasSubstr("--hosts")));
    Request told = asks("pytorch");
    told.slots = 3;
    EXPECT_EQ(locate("sagemaker", one, told).cluster.world_size, 6);
    EXPECT_THAT(locate("sagemaker", one, kTrain).cluster.nodes, SizeIs(2)) << "no ranks of ours";
  }
}

TEST(SageMaker, OneInstanceGroupIsAlike) {
  const Container one = with({R"(SM_HOSTS=["algo-1","algo-2"])", "SM_CURRENT_HOST=algo-2",
                              "SM_NUM_GPUS=4", R"(SM_INSTANCE_GROUPS=["homogeneousCluster"])"});
  EXPECT_EQ(locate("sagemaker", one, asks("pytorch")).cluster.world_size, 8);
}

// --- Azure ML

TEST(AzureMl, OneProcessANodeIsANode) {
  ResolvedCluster resolved = locate("azureml",
                                    with({"AZUREML_NODE_COUNT=2", "NODE_RANK=1", "RANK=1",
                                          "LOCAL_RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=10.0.0.4"},
                                         8),
                                    kTrain);
  EXPECT_EQ(resolved.cluster.world_size, 16);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.master_port, 6105);
  EXPECT_FALSE(resolved.platform.own_rank);
}

TEST(AzureMl, OneProcessADeviceIsARank) {
  ResolvedCluster resolved = locate("azureml",
                                    with({"AZUREML_NODE_COUNT=2", "NODE_RANK=1", "RANK=5",
                                          "LOCAL_RANK=1", "WORLD_SIZE=8", "MASTER_ADDR=10.0.0.4"}),
                                    kTrain);
  EXPECT_EQ(resolved.cluster.world_size, 8);
  EXPECT_EQ(resolved.platform.own_rank, 5);
  EXPECT_EQ(resolved.platform.local_rank, 1);
}

TEST(AzureMl, ItsMpiJobsHaveOpenMpisNumbers) {
  ResolvedCluster resolved =
      locate("azureml",
             with({"AZ_BATCH_MASTER_NODE=10.0.0.4:6000", "OMPI_COMM_WORLD_SIZE=8",
                   "OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_LOCAL_RANK=1",
                   "OMPI_COMM_WORLD_LOCAL_SIZE=4"}),
             asks("pytorch"));
  EXPECT_EQ(resolved.platform.own_rank, 5);
  EXPECT_EQ(resolved.cluster.master_addr, "10.0.0.4");
  EXPECT_EQ(resolved.cluster.master_port, 6105) << "the other one is Azure Batch's own";
}

TEST(AzureMl, AJobWithoutADistributionIsNoCluster) {
  EXPECT_EQ(detected("azureml", {"AZUREML_NODE_COUNT=1", "AZ_BATCHAI_MPI_MASTER_NODE=localhost"}),
            "");
}

TEST(AzureMl, OnlyRanksNeedACountOfTheNodes) {
  const ResolvedCluster resolved = locate(
      "azureml", with({"AZ_BATCHAI_MPI_MASTER_NODE=10.0.0.4", "RANK=0", "WORLD_SIZE=8"}), kTrain);
  ASSERT_TRUE(resolved.platform.uncounted);
  EXPECT_THAT(to_line(*resolved.platform.uncounted), HasSubstr("--nodes"));
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(0));
}

TEST(AzureMl, ACommandThatMpirunOnlyStartsIsNoRank) {
  const ResolvedCluster resolved =
      locate("azureml",
             with({"AZ_BATCH_MASTER_NODE=10.0.0.4:6000", "OMPI_COMM_WORLD_SIZE=8",
                   "OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_LOCAL_SIZE=4"}),
             kTrain);
  EXPECT_FALSE(resolved.platform.own_rank);
  EXPECT_EQ(resolved.platform.framework, "single");
}

// --- Vertex AI

std::string spec(const std::string& pools, const std::string& type, int index) {
  return "CLUSTER_SPEC={\"cluster\":{" + pools + R"(},"environment":"cloud","task":{"type":")" +
         type + R"(","index":)" + std::to_string(index) + R"(,"trial":""}})";
}
const std::string kPools = R"("workerpool0":["p0:2222"],"workerpool1":["p1-0:2222","p1-1:2222"],)"
                           R"("workerpool2":["p2:2222"],"workerpool3":["p3:2222"])";

TEST(Vertex, RanksAreOfThePrimaryAndTheWorkers) {
  Request request = request_of(kTrain);
  request.framework = "pytorch";
  ResolvedCluster resolved = locate("vertex", with({spec(kPools, "workerpool1", 1)}, 8), request);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("p0 x8", "p1-0 x8", "p1-1 x8"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
  EXPECT_EQ(resolved.cluster.master_addr, "p0");
  EXPECT_EQ(resolved.cluster.master_port, 2222);
  EXPECT_THAT(refusal("vertex", with({spec(kPools, "workerpool2", 0)}), request),
              HasSubstr("runs no ranks"));
}

TEST(Vertex, TensorFlowHasAllPools) {
  Request request = request_of(kTrain);
  request.framework = "tensorflow";
  ResolvedCluster resolved = locate("vertex", with({spec(kPools, "workerpool2", 0)}, 1), request);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("chief p0 x1", "worker p1-0 x1", "worker p1-1 x1",
                                              "ps p2 x0", "evaluator p3 x0"));
  EXPECT_EQ(resolved.local_node.node_rank, 3);
}

TEST(Vertex, IsTriedBeforeKubeflowWhoseTfConfigItAlsoSets) {
  EXPECT_EQ(platform_of({spec(kPools, "workerpool0", 0), "KUBERNETES_SERVICE_HOST=10.0.0.1",
                         R"(TF_CONFIG={"cluster":{},"environment":"cloud"})"}),
            "vertex");
}

TEST(Vertex, RefusesASpecThatIsTornOrWithoutThisTask) {
  EXPECT_THAT(refusal("vertex", with({spec(kPools, "workerpool1", 2)}), kTrain),
              HasSubstr("workerpool1 2"));
  for (const char* text : {"{", "[]", R"({"cluster":{}})",
                           R"({"cluster":{"workerpool0":"a"},"task":{"type":"a","index":0}})",
                           R"({"cluster":{"workerpool0":[7]},"task":{"type":"a","index":0}})",
                           R"({"cluster":{"workerpool0":["a"]},"task":{"index":"x"}})"}) {
    EXPECT_THAT(refusal("vertex", with({std::string("CLUSTER_SPEC=") + text}), kTrain),
                HasSubstr("CLUSTER_SPEC"))
        << text;
  }
}

// --- SkyPilot

TEST(SkyPilot, HasALineForEachNode) {
  ResolvedCluster resolved =
      locate("skypilot",
             with({"SKYPILOT_NODE_RANK=1", "SKYPILOT_NODE_IPS=10.0.0.1\n10.0.0.2",
                   "SKYPILOT_NUM_GPUS_PER_NODE=4", "SKYPILOT_TASK_ID=sky-1"}),
             kTrain);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("10.0.0.1 x4", "10.0.0.2 x4"));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.platform.job_id, "sky-1");
}

TEST(SkyPilot, RefusesACountThatIsNotOfTheList) {
  EXPECT_THAT(
      refusal("skypilot",
              with({"SKYPILOT_NODE_RANK=0", "SKYPILOT_NODE_IPS=10.0.0.1", "SKYPILOT_NUM_NODES=2"}),
              kTrain),
      HasSubstr("SKYPILOT_NUM_NODES"));
}

// --- Volcengine

TEST(Mlp, WorkersAreTheNodes) {
  ResolvedCluster resolved = locate(
      "mlp",
      with({"MLP_ROLE=WORKER", "MLP_ROLE_INDEX=1", "MLP_WORKER_NUM=2", "MLP_WORKER_GPU=8",
            "MLP_WORKER_0_HOST=10.0.0.1", "MLP_WORKER_1_HOST=10.0.0.2", "MLP_WORKER_0_PORT=2222"}),
      kTrain);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("10.0.0.1 x8", "10.0.0.2 x8"));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.master_port, 2222);
}

TEST(Mlp, ARolesNameMayBeInEitherCase) {
  const Words variables = {"MLP_ROLE=worker", "MLP_ROLE_INDEX=1", "MLP_WORKER_NUM=2"};
  EXPECT_NE(detected("mlp", variables), "");
  EXPECT_EQ(locate("mlp", with(variables), kTrain).local_node.node_rank, 1);
}

TEST(Mlp, RolesStandInTheirOrder) {
  ResolvedCluster resolved = locate(
      "mlp",
      with({"MLP_ROLE=PS", "MLP_ROLE_INDEX=0", "MLP_WORKER_NUM=1", "MLP_PS_NUM=1",
            "MLP_CHIEF_NUM=1", "MLP_WORKER_0_HOST=w", "MLP_PS_0_HOST=p", "MLP_CHIEF_0_HOST=c"},
           1),
      kTrain);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("chief c x1", "worker w x1", "ps p x0"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
}

TEST(Mlp, ARoleWithoutRanksIsLeftAlone) {
  EXPECT_EQ(detected("mlp", {"MLP_ROLE=SCHEDULER", "MLP_ROLE_INDEX=0", "MLP_WORKER_NUM=2"}), "");
}

// --- LeaderWorkerSet

TEST(Lws, WorkersAreCalledLikeTheirLeader) {
  ResolvedCluster resolved = locate(
      "lws",
      with({"LWS_LEADER_ADDRESS=train-0.train.ns", "LWS_GROUP_SIZE=3", "LWS_WORKER_INDEX=2"}),
      kTrain);
  EXPECT_THAT(hosts_of(resolved),
              ElementsAre("train-0.train.ns x2", "train-0-1.train.ns x2", "train-0-2.train.ns x2"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
  EXPECT_EQ(resolved.cluster.master_addr, "train-0.train.ns");
}

TEST(Lws, AnAddressGivesNoNames) {
  ResolvedCluster resolved =
      locate("lws", with({"LWS_LEADER_ADDRESS=10.0.0.7", "LWS_GROUP_SIZE=2", "LWS_WORKER_INDEX=1"}),
             kTrain);
  EXPECT_THAT(hosts_of(resolved), ElementsAre("10.0.0.7 x2", " x2"));
}

// --- Those of given_names.h

TEST(Counted, EachTellsItsNodesTheSame) {
  for (std::size_t row = 0; row < envgen::kGivenNames; ++row) {
    const envgen::GivenNames names = envgen::given_names(row);
    const auto given = [](std::string_view name, const char* value) {
      return std::string(name) + "=" + value;
    };
    Words variables = {given(names.count, "2"), given(names.own, "1")};
    if (!names.leader.empty()) variables.push_back(given(names.leader, "10.0.0.1"));
    if (!names.hosts.empty()) variables.push_back(given(names.hosts, "10.0.0.1\n10.0.0.2"));
    if (!names.slots.empty()) variables.push_back(given(names.slots, "4"));
    const std::string platform(names.platform);
    EXPECT_EQ(detected(platform, variables).empty(), !names.always) << platform << ": nobody asks";
    const ResolvedCluster resolved = locate(platform, with(variables), kTrain);
    const std::string slots = names.slots.empty() ? " x2" : " x4";
    EXPECT_THAT(hosts_of(resolved),
                ElementsAre("10.0.0.1" + slots, (names.hosts.empty() ? "" : "10.0.0.2") + slots))
        << platform;
    EXPECT_EQ(resolved.local_node.node_rank, 1) << platform;
    EXPECT_EQ(resolved.cluster.master_addr, "10.0.0.1") << platform;
    variables[1] = given(names.own, "2");
    EXPECT_THAT(refusal(platform, with(variables), kTrain), HasSubstr(std::string(names.own)));
    variables[1] = given(names.own, "x");
    EXPECT_THAT(refusal(platform, with(variables), kTrain), HasSubstr(std::string(names.own)));
  }
}

// --- OpenPAI

TEST(OpenPai, RolesAreTheUsersAndStandInTheirOrder) {
  Words variables = {
      "PAI_TASK_ROLE_LIST=worker,master",  "PAI_TASK_ROLE_TASK_COUNT_worker=2",
      "PAI_TASK_ROLE_TASK_COUNT_master=1", "PAI_RESOURCE_worker=4,8,1024,64",
      "PAI_RESOURCE_master=4,8,1024,64",   "PAI_HOST_IP_worker_0=10.0.0.2",
      "PAI_HOST_IP_worker_1=10.0.0.3",     "PAI_HOST_IP_master_0=10.0.0.1",
      "PAI_CURRENT_TASK_ROLE_NAME=worker", "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=1"};
  ResolvedCluster resolved = locate("openpai", with(variables), kTrain);
  EXPECT_THAT(hosts_of(resolved),
              ElementsAre("master 10.0.0.1 x4", "worker 10.0.0.2 x4", "worker 10.0.0.3 x4"));
  EXPECT_EQ(resolved.local_node.node_rank, 2);
  variables.pop_back();
  variables.push_back("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=2");
  EXPECT_THAT(refusal("openpai", with(variables), kTrain), HasSubstr("PAI_TASK_ROLE_LIST"));
}

// --- Determined

Container trial(const std::string& content) {
  Container one = with({"DET_ALLOCATION_ID=17.0.1", "DET_TASK_TYPE=TRIAL"});
  if (!content.empty()) one.paths["/run/determined/info/rendezvous.json"] = file(content);
  return one;
}

TEST(Determined, IsKnownByATrial) {
  EXPECT_EQ(detected("determined", {"DET_ALLOCATION_ID=1", "DET_TASK_TYPE=TRIAL"}), "")
      << "nobody asks for ranks";
  EXPECT_EQ(detected("determined", {"DET_ALLOCATION_ID=1", "DET_TASK_TYPE=NOTEBOOK"}), "");
  EXPECT_EQ(detected("determined", {"DET_MASTER=http://a:8080"}), "");
}

TEST(Determined, TheFileIsTheClusterAndCountsTheSlots) {
  const Container one =
      trial(R"({"container_addrs": ["10.0.0.1", "10.0.0.2"], "container_rank": 1,)"
            R"( "container_slot_counts": [8, 4]})");
  ResolvedCluster resolved = locate("determined", one, asks("pytorch"));
  EXPECT_THAT(hosts_of(resolved), ElementsAre("10.0.0.1 x8", "10.0.0.2 x4"));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.master_addr, "10.0.0.1");
  EXPECT_EQ(resolved.cluster.world_size, 12);
  EXPECT_EQ(resolved.platform.job_id, "17.0.1");
  Request fewer = asks("pytorch");
  fewer.slots = 2;
  EXPECT_THAT(hosts_of(locate("determined", one, fewer)),
              ElementsAre("10.0.0.1 x2", "10.0.0.2 x2"));
}

TEST(Determined, AContainerWithoutSlotsHasThoseOfItsDevices) {
  ResolvedCluster resolved = locate(
      "determined",
      trial(R"({"container_addrs": ["a"], "container_rank": 0, "container_slot_counts": [0]})"),
      asks("pytorch"));
  EXPECT_THAT(hosts_of(resolved), ElementsAre("a x2"));
}

TEST(Determined, RefusesAFileThatSaysLess) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no file"},
      {"[]", "an array"},
      {"{", "line 1"},
      {R"({"container_addrs": ["a"], "container_rank": 0})", "not all three"},
      {R"({"container_addrs": [], "container_rank": 0, "container_slot_counts": []})", "0 addr"},
      {R"({"container_addrs": ["a", "b"], "container_rank": 0, "container_slot_counts": [8]})",
       "2 addresses and 1"},
      {R"({"container_addrs": ["a"], "container_rank": 0, "container_slot_counts": [8, 8]})",
       "container 1"},
      {R"({"container_addrs": ["a"], "container_rank": 1, "container_slot_counts": [8]})",
       "container_rank 1 of 1"},
      {R"({"container_addrs": "a", "container_rank": 0, "container_slot_counts": [8]})", "slots"},
  };
  for (const auto& [content, found] : cases) {
    EXPECT_THAT(refusal("determined", trial(content), asks("pytorch")), HasSubstr(found))
        << content;
  }
}

}  // namespace
}  // namespace envgen::jobs
