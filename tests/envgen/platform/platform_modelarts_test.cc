#include "tests/envgen/job_builder.h"
#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Words kTrain = {"python", "train.py"};

Container worker(int index, int count, Words more = {}) {
  Container node;
  node.variables = {"MA_VJ_NAME=ma-job-7",
                    "MA_CURRENT_INSTANCE_NAME=ma-job-7-worker-" + std::to_string(index),
                    "MA_TASK_NAME=worker",
                    "MA_NUM_GPUS=8",
                    "MA_NUM_HOSTS=" + std::to_string(count),
                    "VC_TASK_INDEX=" + std::to_string(index)};
  node.variables.insert(node.variables.end(), more.begin(), more.end());
  node.host_name = "ma-job-7-worker-" + std::to_string(index);
  return node;
}

Container tf_task(const std::string& task, int index, Words more = {}) {
  Container node;
  node.variables = {"MA_VJ_NAME=j", "MA_TASK_NAME=" + task,
                    "VC_TASK_INDEX=" + std::to_string(index), "TF_PS_HOSTS=[j-ps-0.j:5001]",
                    "TF_WORKER_HOSTS=[j-worker-0.j:5002,j-worker-1.j:5003]"};
  node.variables.insert(node.variables.end(), more.begin(), more.end());
  node.host_name = "j-" + task + "-" + std::to_string(index);
  return node;
}

Container alone(Words variables, const Words& directories = {}) {
  Container node;
  node.variables = std::move(variables);
  for (const std::string& path : directories) node.paths[path] = directory();
  return node;
}

// --- detection

TEST(ModelArts, IsRecognisedByItsOwnVariables) {
  for (const char* name : {"MA_CURRENT_INSTANCE_NAME", "MA_VJ_NAME", "MA_JOB_DIR",
                           "BATCH_TASK_CURRENT_INSTANCE", "DLS_TASK_NUMBER"}) {
    EXPECT_EQ(detected("modelarts", {std::string(name) + "=1"}), std::string(name) + " is set");
  }
  EXPECT_EQ(detected("modelarts", {"VC_TASK_INDEX=0", "VC_WORKER_HOSTS=a,b"}), "");
}

TEST(ModelArts, IsTriedBeforeThePlatformsWhoseVariablesItAlsoSets) {
  EXPECT_EQ(platform_of({"MA_VJ_NAME=j", "VC_TASK_INDEX=0", "VK_TASK_INDEX=0", "SLOTS=8"}),
            "modelarts");
}

// --- TensorFlow

TEST(ModelArtsTensorFlow, WorkersComeFirstAndEachTaskFindsItsPlace) {
  struct Task {
    const char* name;
    int index;
    int rank;
  };
  for (const Task& task : {Task{"worker", 0, 0}, Task{"worker", 1, 1}, Task{"ps", 0, 2}}) {
    ResolvedCluster resolved = locate("modelarts", tf_task(task.name, task.index), kTrain);
    EXPECT_EQ(resolved.local_node.node_rank, task.rank);
    ASSERT_THAT(resolved.cluster.nodes, SizeIs(3));
    EXPECT_EQ(resolved.cluster.nodes[1].host, "j-worker-1.j");
    EXPECT_EQ(resolved.cluster.nodes[1].port, 5003);
    EXPECT_EQ(resolved.cluster.nodes[1].role, "worker");
    EXPECT_EQ(resolved.cluster.nodes[1].role_index, 1);
    EXPECT_EQ(resolved.cluster.nodes[2].role, "ps");
    EXPECT_EQ(resolved.cluster.nodes[2].slots, 0);
    EXPECT_EQ(resolved.cluster.world_size, 2);
    EXPECT_EQ(resolved.platform.framework, "tensorflow");
    EXPECT_EQ(resolved.platform.framework_reason, "TF_WORKER_HOSTS is set");
    EXPECT_TRUE(resolved.platform.tf_flags);
  }
}

TEST(ModelArtsTensorFlow, ACommaListIsTheSameAsTheBracketForm) {
  Container comma = tf_task("worker", 1);
  comma.variables.push_back("TF_PS_HOSTS=j-ps-0.j:5001");
  ResolvedCluster brackets = locate("modelarts", tf_task("worker", 1), kTrain);
  comma.variables[3] = "TF_PS_HOSTS=j-ps-0.j:5001";
  comma.variables[4] = "TF_WORKER_HOSTS=j-worker-0.j:5002,j-worker-1.j:5003";
  EXPECT_EQ(locate("modelarts", comma, kTrain).cluster, brackets.cluster);
}

TEST(ModelArtsTensorFlow, Ipv6HostsKeepTheirPorts) {
  Container node = alone({"MA_VJ_NAME=j", "MA_TASK_NAME=worker", "VC_TASK_INDEX=1",
                          "TF_WORKER_HOSTS=[[fd00::1]:5001,[fd00::2]:5002]"});
  ResolvedCluster resolved = locate("modelarts", node, kTrain);
  EXPECT_EQ(resolved.cluster.nodes[1].host, "fd00::2");
  EXPECT_EQ(resolved.cluster.nodes[1].port, 5002);
}

TEST(ModelArtsTensorFlow, FlagsCanBeTurnedOff) {
  Request request = request_of(kTrain);
  request.tf_flags = false;
  EXPECT_FALSE(locate("modelarts", tf_task("ps", 0), request).platform.tf_flags);
}

TEST(ModelArtsTensorFlow, OneWorkerAloneIsNoCluster) {
  ResolvedCluster resolved = locate("modelarts",
                                    alone({"MA_VJ_NAME=j", "MA_TASK_NAME=worker", "VC_TASK_INDEX=0",
                                           "TF_WORKER_HOSTS=j-worker-0.j:5002", "TF_PS_HOSTS=[]"}),
                                    kTrain);
  EXPECT_THAT(resolved.cluster.nodes, IsEmpty());
  EXPECT_EQ(resolved.platform.framework, "");
}

TEST(ModelArtsTensorFlow, AWrongPlaceIsRefusedAndNotGuessed) {
  EXPECT_THAT(refusal("modelarts", tf_task("scheduler", 0), kTrain),
              AllOf(HasSubstr("MA_TASK_NAME"), HasSubstr("scheduler"), HasSubstr("worker or ps")));
  EXPECT_THAT(refusal("modelarts", tf_task("worker", 2), kTrain),
              AllOf(HasSubstr("VC_TASK_INDEX"), HasSubstr("TF_WORKER_HOSTS has 2 hosts")));
  EXPECT_THAT(refusal("modelarts", tf_task("ps", 1), kTrain), HasSubstr("TF_PS_HOSTS has 1 hosts"));
  Container node = tf_task("worker", 1);
  node.host_name = "j-worker-0";
  EXPECT_THAT(refusal("modelarts", node, kTrain), HasSubstr("j-worker-0.j:5002 at place 0"));
  node = tf_task("worker", 1);
  node.variables[2] = "VC_TASK_INDEX=";
  EXPECT_THAT(refusal("modelarts", node, kTrain), HasSubstr("VC_TASK_INDEX"));
  node = tf_task("worker", 1);
  node.variables[4] = "TF_WORKER_HOSTS=a:1,a:1";
  EXPECT_THAT(refusal("modelarts", node, kTrain), HasSubstr("a:1 twice"));
}

TEST(ModelArtsTensorFlow, ATaskWithoutANameIsAWorkerOnlyWhereThereAreNoParameterServers) {
  Container node = tf_task("worker", 1);
  node.variables[1] = "MA_TASK_NAME=";
  EXPECT_THAT(refusal("modelarts", node, kTrain),
              AllOf(HasSubstr("MA_TASK_NAME"), HasSubstr("worker or ps")));
  node.variables[3] = "TF_PS_HOSTS=[]";
  EXPECT_EQ(locate("modelarts", node, kTrain).local_node.node_rank, 1);
}

// --- PyTorch

TEST(ModelArtsPyTorch, WorkersAreListedInOrderAndTheFirstIsTheMaster) {
  const std::string list = "VC_WORKER_HOSTS=ma-job-7-worker-0.ma-job-7,ma-job-7-worker-1.ma-job-7";
  for (int index : {0, 1}) {
    ResolvedCluster resolved = locate("modelarts", worker(index, 2, {list}), kTrain);
    EXPECT_EQ(resolved.local_node.node_rank, index);
    ASSERT_THAT(resolved.cluster.nodes, SizeIs(2));
    EXPECT_EQ(resolved.cluster.nodes[1].host, "ma-job-7-worker-1.ma-job-7");
    EXPECT_EQ(resolved.cluster.nodes[1].slots, 8);
    EXPECT_EQ(resolved.cluster.world_size, 16);
    EXPECT_EQ(resolved.cluster.master_addr, "ma-job-7-worker-0.ma-job-7");
    EXPECT_EQ(resolved.cluster.master_port, 6666);
    EXPECT_EQ(resolved.platform.framework, "pytorch");
  }
}

TEST(ModelArtsPyTorch, NamesFollowThePlatformsPatternWhenOnlyTheNumberIsTold) {
  ResolvedCluster told =
      locate("modelarts",
             worker(2, 3,
                    {"VC_WORKER_HOSTS=ma-job-7-worker-0.ma-job-7,ma-job-7-worker-1.ma-job-7,"
                     "ma-job-7-worker-2.ma-job-7"}),
             kTrain);
  EXPECT_EQ(locate("modelarts", worker(2, 3), kTrain).cluster, told.cluster);
}

TEST(ModelArtsPyTorch, TheFirstVersionNamesEachNodeInAVariable) {
  ResolvedCluster resolved = locate("modelarts",
                                    alone({"DLS_TASK_INDEX=1", "DLS_TASK_NUMBER=2", "MA_NUM_GPUS=4",
                                           "BATCH_CUSTOM0_HOSTS=a:29", "BATCH_CUSTOM1_HOSTS=b:30"}),
                                    kTrain);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.cluster.master_addr, "a");
  EXPECT_EQ(resolved.cluster.master_port, 29);
  EXPECT_EQ(resolved.cluster.world_size, 8);
}

TEST(ModelArtsPyTorch, ACpuNodeHasOneSlotAndAnUntoldNodeCountsItsDevices) {
  Container node = worker(0, 2);
  node.variables[3] = "MA_NUM_GPUS=0";
  node.paths["/dev"] = directory({"nvidia0", "nvidia1"});
  EXPECT_EQ(locate("modelarts", node, kTrain).cluster.world_size, 2);
  node.variables[3] = "MA_NUM_GPUS=";
  EXPECT_EQ(locate("modelarts", node, kTrain).cluster.world_size, 4);
}

TEST(ModelArtsPyTorch, ACommandWithItsOwnLauncherIsLeftToThat) {
  EXPECT_EQ(locate("modelarts", worker(0, 2), {"deepspeed", "train.py"}).platform.framework, "");
  EXPECT_EQ(locate("modelarts", worker(0, 2), {"torchrun", "train.py"}).platform.framework,
            "pytorch");
}

TEST(ModelArtsPyTorch, ContradictionsAreRefused) {
  const std::string two = "VC_WORKER_HOSTS=ma-job-7-worker-0,ma-job-7-worker-1";
  EXPECT_THAT(refusal("modelarts", worker(0, 3, {two}), kTrain),
              HasSubstr("2 hosts, and the job has 3 nodes"));
  EXPECT_THAT(refusal("modelarts", worker(0, 2, {"VC_WORKER_NUM=4"}), kTrain),
              AllOf(HasSubstr("MA_NUM_HOSTS and VC_WORKER_NUM"), HasSubstr("2 and 4")));
  EXPECT_THAT(refusal("modelarts", worker(2, 2, {two}), kTrain), HasSubstr("2 hosts"));
  Container node = worker(1, 2, {two});
  node.variables[5] = "VC_TASK_INDEX=one";
  EXPECT_THAT(refusal("modelarts", node, kTrain), HasSubstr("\"one\""));
  node = worker(1, 2);
  node.variables[0] = "MA_VJ_NAME=";
  EXPECT_THAT(refusal("modelarts", node, kTrain), HasSubstr("VC_WORKER_HOSTS"));
}

TEST(ModelArts, OneNodeHasNoClusterUnlessALauncherIsAskedFor) {
  ResolvedCluster resolved = locate("modelarts", worker(0, 1), kTrain);
  EXPECT_THAT(resolved.cluster.nodes, IsEmpty());
  EXPECT_EQ(resolved.platform.framework, "");
  Request request = request_of(kTrain);
  request.framework = "pytorch";
  resolved = locate("modelarts", worker(0, 1), request);
  ASSERT_THAT(resolved.cluster.nodes, SizeIs(1));
  EXPECT_EQ(resolved.cluster.nodes[0].slots, 8);
}

TEST(ModelArts, LearnersFindEachOtherByThemselves) {
  Container node = worker(0, 4);
  node.variables[2] = "MA_TASK_NAME=learner";
  EXPECT_THAT(locate("modelarts", node, kTrain).cluster.nodes, IsEmpty());
}

// --- the command

TEST(ModelArts, ABareScriptGetsTheJobsInterpreter) {
  Container node = worker(0, 1);
  EXPECT_THAT(locate("modelarts", node, {"train.py", "--epochs", "5"}).platform.command.words(),
              ElementsAre("python", "train.py", "--epochs", "5"));
  node.variables.push_back("MA_SCRIPT_INTERPRETER=/opt/py/bin/python");
  EXPECT_THAT(locate("modelarts", node, {"train.py"}).platform.command.words(),
              ElementsAre("/opt/py/bin/python", "train.py"));
}

TEST(ModelArts, ACommandForAShellIsRefusedWithTheFormToUse) {
  EXPECT_THAT(refusal("modelarts", worker(0, 1), {"KEY=VALUE", "python", "train.py"}),
              HasSubstr("use: bash -c \"KEY=VALUE python train.py\""));
  EXPECT_THAT(refusal("modelarts", worker(0, 1), {"python", "a.py", "&&", "python", "b.py"}),
              HasSubstr("use: bash -c \"python a.py && python b.py\""));
}

TEST(ModelArts, ExportsBeforeTheCommandGetAShell) {
  EXPECT_THAT(locate("modelarts", worker(0, 1), {"export", "PATH=/e/bin:$PATH;", "python", "t.py"})
                  .platform.command.words(),
              ElementsAre("bash", "-c", "export PATH=/e/bin:$PATH; python t.py"));
}

// --- where it starts

constexpr const char* kRoot = "/home/ma-user/modelarts/user-job-dir";

TEST(ModelArts, APresetEngineStartsInTheCodeDirectory) {
  Container node = alone({"MA_JOB_DIR=" + std::string(kRoot)},
                         {"/home/ma-user", kRoot, std::string(kRoot) + "/gpu-train"});
  const std::string code = std::string(kRoot) + "/gpu-train";
  EXPECT_EQ(locate("modelarts", node, {"python", code + "/src/train.py"}).platform.cwd, code);

  node.paths[kRoot] = directory({"gpu-train"});
  EXPECT_EQ(locate("modelarts", node, {"bash", "-c", "python a.py"}).platform.cwd, code);
  node.paths[kRoot] = directory({"gpu-train", "other"});
  node.paths[code + "/train.py"] = file();
  EXPECT_EQ(locate("modelarts", node, {"train.py"}).platform.cwd, code);
}

TEST(ModelArts, TheCodeDirectoryMayLieWhereTheDocumentSays) {
  Container node = alone({"MA_JOB_DIR=" + std::string(kRoot)},
                         {"/home/ma-user", "/home/ma-user/user-job-dir/code"});
  EXPECT_EQ(locate("modelarts", node, {"python", "/home/ma-user/user-job-dir/code/train.py"})
                .platform.cwd,
            "/home/ma-user/user-job-dir/code");
}

TEST(ModelArts, ACustomImageStartsInTheUsersHome) {
  Container node = alone({"MA_VJ_NAME=j"}, {"/home/ma-user"});
  EXPECT_EQ(
      locate("modelarts", node, {"python", std::string(kRoot) + "/code/train.py"}).platform.cwd,
      "/home/ma-user");
  node = alone({"MA_VJ_NAME=j", "MA_HOME=/home/other"}, {"/home/ma-user", "/home/other"});
  EXPECT_EQ(locate("modelarts", node, kTrain).platform.cwd, "/home/other");
  EXPECT_EQ(locate("modelarts", alone({"MA_VJ_NAME=j"}), kTrain).platform.cwd, "");
}

TEST(ModelArts, ACallerThatIsInTheCodeDirectoryStaysThere) {
  Container node = alone({"MA_JOB_DIR=" + std::string(kRoot)}, {"/home/ma-user"});
  node.cwd = std::string(kRoot) + "/code/src";
  EXPECT_EQ(locate("modelarts", node, kTrain).platform.cwd, "");
  node.variables[0] = "MA_VJ_NAME=j";
  EXPECT_EQ(locate("modelarts", node, kTrain).platform.cwd, "") << "also without MA_JOB_DIR";
}

// A custom image is started there; MA_JOB_DIR is set for it too.
TEST(ModelArts, ACallerThatIsInTheHomeStaysThere) {
  const std::string code = std::string(kRoot) + "/code";
  Container node = alone({"MA_JOB_DIR=" + std::string(kRoot)}, {"/home/ma-user", kRoot, code});
  node.paths[kRoot] = directory({"code"});
  node.paths[code + "/train.py"] = file();
  const Words absolute = {"python", code + "/train.py"};
  EXPECT_EQ(locate("modelarts", node, absolute).platform.cwd, code) << "the caller is elsewhere";
  node.cwd = "/home/ma-user";
  EXPECT_EQ(locate("modelarts", node, absolute).platform.cwd, "/home/ma-user");
  EXPECT_EQ(locate("modelarts", node, {"bash", "-c", "python a.py"}).platform.cwd, "/home/ma-user");
  EXPECT_EQ(locate("modelarts", node, {"python", "absent.py"}).platform.cwd, "/home/ma-user");
  EXPECT_EQ(locate("modelarts", node, kTrain).platform.cwd, code) << "where the script lies";
  node.variables.push_back("MA_HOME=/home/other");
  EXPECT_EQ(locate("modelarts", node, absolute).platform.cwd, "/home/ma-user");
}

TEST(ModelArts, TheCommandStartsWhereItsScriptIs) {
  const std::string code = std::string(kRoot) + "/code";
  Container node = alone({"MA_JOB_DIR=" + std::string(kRoot)}, {"/home/ma-user", kRoot, code});
  node.paths[kRoot] = directory({"code"});
  auto start = [&node](const Words& command) {
    return locate("modelarts", node, command).platform.cwd;
  };
  node.paths["/workspace/train.py"] = file();
  EXPECT_EQ(start(kTrain), "") << "in the image";
  node.paths[code + "/train.py"] = file();
  node.paths[code + "/run.sh"] = file();
  for (const Words& command :
       {kTrain, Words{"torchrun", "--nnodes", "1", "train.py"}, Words{"bash", "run.sh"},
        Words{"./run.sh"}, Words{"train.py --epochs 3"},
        Words{"python", "train.py", "--config", code + "/a.yaml"}}) {
    EXPECT_EQ(start(command), code) << testing::PrintToString(command);
  }
  node.paths["/home/ma-user/train.py"] = file();
  EXPECT_EQ(start(kTrain), "/home/ma-user") << "a custom image";
  EXPECT_EQ(start({"bash", "run.sh"}), code);
  EXPECT_EQ(start({"python", "absent.py"}), "/home/ma-user");
}

TEST(ModelArts, ARankTableDoesNotChangeWhereTheCommandStarts) {
  const std::string code = std::string(kRoot) + "/code";
  Container node = alone({"MA_JOB_DIR=" + std::string(kRoot), "RANK_TABLE_FILE=/user/config",
                          "MA_CURRENT_INSTANCE_NAME=job-worker-1"},
                         {"/home/ma-user", "/user/config", "/workspace"});
  node.paths[kRoot] = directory({"code"});
  node.paths[code] = directory();
  node.paths[code + "/train.py"] = file();
  node.paths[kTablePath] = file(template2({}));
  ResolvedCluster resolved = locate("modelarts", node, kTrain);
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(2));
  EXPECT_EQ(resolved.platform.cwd, code);
  EXPECT_EQ(resolved.platform.work_dir, code) << "the ranks' directories are made where it starts";
  node.variables.push_back("MA_MOUNT_PATH=/cache");
  node.paths["/cache"] = directory();
  resolved = locate("modelarts", node, kTrain);
  EXPECT_EQ(resolved.platform.cwd, code);
  EXPECT_EQ(resolved.platform.work_dir, "/cache/workspace");
}

TEST(ModelArts, WhatCannotBeWrittenMovesToTheWritablePlace) {
  Container node = alone({"MA_VJ_NAME=j", "MA_LOG_DIR=/logs", "MA_MOUNT_PATH=/cache"},
                         {"/home/ma-user/modelarts"});
  node.paths["/logs"] = directory({}, false);
  node.paths["/cache"] = directory({}, false);
  ResolvedCluster resolved = locate("modelarts", node, kTrain);
  EXPECT_EQ(resolved.platform.log_dir, "/home/ma-user/modelarts/log");
  EXPECT_EQ(resolved.platform.work_dir, "/home/ma-user/modelarts/workspace");
  EXPECT_THAT(resolved.warnings, Contains(HasSubstr("/logs cannot be written")));
  node.paths["/logs"] = directory();
  node.paths["/cache"] = directory();
  resolved = locate("modelarts", node, kTrain);
  EXPECT_EQ(resolved.platform.log_dir, "/logs");
  EXPECT_EQ(resolved.platform.work_dir, "/cache/workspace");
  EXPECT_THAT(resolved.warnings, IsEmpty());
}

}  // namespace
}  // namespace envgen::jobs
