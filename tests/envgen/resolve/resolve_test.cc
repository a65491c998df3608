#include "envgen/resolve/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/envgen/job_builder.h"
#include "tests/envgen/platform/platform_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The plan, or a failed test with the reason.
Plan plan_of(const Snapshot& snapshot, const Request& request) {
  Answer answer = resolve(snapshot, request);
  if (auto* planned = std::get_if<Planned>(&answer.outcome)) return planned->plan;
  if (auto* pending = std::get_if<Pending>(&answer.outcome)) {
    ADD_FAILURE() << "pending: " << pending->path << ": " << pending->why;
  } else {
    ADD_FAILURE() << to_line(std::get<base::Error>(answer.outcome));
  }
  return {};
}

std::string error_of(const Snapshot& snapshot, const Request& request) {
  Answer answer = resolve(snapshot, request);
  auto* error = std::get_if<base::Error>(&answer.outcome);
  EXPECT_NE(error, nullptr) << "no error";
  return error == nullptr ? "" : to_line(*error);
}

std::string pending_of(const Snapshot& snapshot, const Request& request) {
  Answer answer = resolve(snapshot, request);
  auto* pending = std::get_if<Pending>(&answer.outcome);
  EXPECT_NE(pending, nullptr) << "not pending";
  return pending == nullptr ? "" : pending->path + ": " + pending->why;
}

// A process's variable after its edits on the snapshot's environment.
std::string variable(const Snapshot& snapshot, const Process& process, std::string_view name) {
  base::Environ env = snapshot.env;
  for (const base::EnvEdit& edit : process.env) env.apply(edit);
  return std::string(env.get_or(name, "(unset)"));
}

Request train() { return request_for({"python", "train.py"}); }

PathState file_state(std::string content) {
  PathState state;
  state.kind = PathState::Kind::kFile;
  state.size_bytes = content.size();
  state.content = std::move(content);
  return state;
}

TEST(Resolve, AsksForWhatItNeedsAndForNothingElse) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths.clear();
  Answer answer = resolve(snapshot, train());
  EXPECT_THAT(answer.wants, Contains(Want{"/user/config", false}));
  EXPECT_TRUE(std::holds_alternative<Pending>(answer.outcome));

  snapshot = modelarts_snapshot({}, 0);
  snapshot.paths["/home/ma-user/train.py"] = {};
  EXPECT_THAT(resolve(snapshot, train()).wants, IsEmpty());
}

TEST(Resolve, AFileLookedAtOnlyForItsKindIsWantedAgainForItsContent) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths[kTablePath].content.clear();
  EXPECT_THAT(resolve(snapshot, train()).wants, Contains(Want{kTablePath, true}));
}

TEST(Resolve, NothingSpecialIsLocalAndSingleWithoutAResolver) {
  base::Environ env({"PATH=/bin"});
  EXPECT_TRUE(is_pass_through(env, train()));
  Snapshot snapshot;
  snapshot.env = env;
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(plan.platform, "local");
  EXPECT_EQ(plan.framework, "single");
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_THAT(plan.processes[0].argv, ElementsAre("python", "train.py"));
  EXPECT_THAT(plan.processes[0].env, IsEmpty());
}

TEST(Resolve, APlatformsVariablesNeedAResolver) {
  EXPECT_FALSE(is_pass_through(base::Environ({"RANK_TABLE_FILE=/x"}), train()));
  Request copies = train();
  copies.data.specs = {"/data/imagenet"};
  EXPECT_FALSE(is_pass_through(base::Environ(), copies)) << "a dataset is copied first";
  EXPECT_FALSE(is_pass_through(base::Environ({"MA_VJ_NAME=x"}), train()));
  Request ascend = train();
  ascend.framework = "ascend";
  EXPECT_FALSE(is_pass_through(base::Environ(), ascend));
}

TEST(Resolve, ModelArtsGivesEachRankItsEnvironment) {
  Snapshot snapshot = modelarts_snapshot({}, 1);
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(plan.platform, "modelarts");
  EXPECT_EQ(plan.framework, "ascend");
  EXPECT_EQ(plan.local_node->node_rank, 1);
  EXPECT_EQ(plan.world_size, 16);
  ASSERT_THAT(plan.processes, SizeIs(8));
  for (int i = 0; i < 8; ++i) {
    const Process& rank = plan.processes[static_cast<std::size_t>(i)];
    std::string number = std::to_string(8 + i);
    EXPECT_EQ(rank.name, "rank-" + number);
    EXPECT_EQ(variable(snapshot, rank, "RANK_ID"), number);
    EXPECT_EQ(variable(snapshot, rank, "RANK_SIZE"), "16");
    EXPECT_EQ(variable(snapshot, rank, "ASCEND_DEVICE_ID"), std::to_string(i));
    EXPECT_EQ(variable(snapshot, rank, "DEVICE_ID"), std::to_string(i));
    EXPECT_EQ(variable(snapshot, rank, "RANK_TABLE_FILE"),
              "/run/trainit/rank_table/jobstart_hccl.json");
    EXPECT_EQ(variable(snapshot, rank, "JOB_ID"), "modelarts-job-77");
    EXPECT_EQ(variable(snapshot, rank, "HCCL_CONNECT_TIMEOUT"), "1800");
    EXPECT_EQ(variable(snapshot, rank, "ASCEND_PROCESS_LOG_PATH"),
              "/run/trainit/logs/ascend/process_log/rank_" + number);
    EXPECT_EQ(rank.cwd, "/home/ma-user/device" + std::to_string(i));
    EXPECT_EQ(rank.env_file, "/run/trainit/logs/rank-" + number + ".env");
    EXPECT_EQ(rank.log, i == 0 ? "" : "/run/trainit/logs/rank-" + number + ".txt");
  }
}

TEST(Resolve, AUsersOwnTimeoutAndLogPathAreKept) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.env.set("HCCL_CONNECT_TIMEOUT", "600");
  snapshot.env.set("ASCEND_PROCESS_LOG_PATH", "/mine");
  snapshot.env.set("JOB_ID", "mine");
  snapshot.env.set("RANK_ID", "stale");
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(variable(snapshot, plan.processes[3], "HCCL_CONNECT_TIMEOUT"), "600");
  EXPECT_EQ(variable(snapshot, plan.processes[3], "ASCEND_PROCESS_LOG_PATH"), "/mine");
  EXPECT_EQ(variable(snapshot, plan.processes[3], "JOB_ID"), "mine");
  EXPECT_EQ(variable(snapshot, plan.processes[3], "RANK_ID"), "3");
}

TEST(Resolve, BareNumbersNodesByServerIdAndDevicesPhysically) {
  Snapshot snapshot = modelarts_snapshot({2, 4, 2}, 1);
  snapshot.env = base::Environ({"PATH=/bin", std::string("RANK_TABLE_FILE=") + kTablePath});
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(plan.platform, "bare");
  ASSERT_THAT(plan.processes, SizeIs(4));
  EXPECT_EQ(variable(snapshot, plan.processes[0], "DEVICE_ID"), "4");
  EXPECT_EQ(plan.processes[0].cwd, "/home/ma-user/device4");
  EXPECT_EQ(plan.processes[1].log, "/run/trainit/logs/rank-5.log");
}

TEST(Resolve, TwoPodsOnOneHostEachStartOnlyTheirOwnDevices) {
  for (int pod = 0; pod < 2; ++pod) {
    Snapshot snapshot = modelarts_snapshot({2, 4, 2}, pod);
    Plan plan = plan_of(snapshot, train());
    ASSERT_THAT(plan.processes, SizeIs(4));
    EXPECT_EQ(plan.processes[0].rank, 4 * pod);
    EXPECT_EQ(plan.processes[0].device, 4 * pod);
    EXPECT_EQ(variable(snapshot, plan.processes[0], "DEVICE_ID"), "0");
  }
}

TEST(Resolve, TheDeviceIdAndTheRankOrderCanBeChosen) {
  Snapshot snapshot = modelarts_snapshot({2, 4, 2}, 1);
  Request request = train();
  request.device_ids = DeviceIds::kPhysical;
  EXPECT_EQ(variable(snapshot, plan_of(snapshot, request).processes[0], "DEVICE_ID"), "4");

  snapshot = modelarts_snapshot({}, 1);
  request = train();
  request.rank_order = RankOrder::kServerId;
  EXPECT_EQ(plan_of(snapshot, request).processes[0].rank, 0);
  EXPECT_EQ(plan_of(snapshot, train()).processes[0].rank, 8);
  EXPECT_THAT(plan_of(snapshot, train()).warnings, Contains(HasSubstr("rank-order")));
}

TEST(Resolve, EveryNodeSeesTheSameClusterAndTheRanksAreABijection) {
  constexpr int kPods = 20;
  std::vector<int> seen;
  Cluster first;
  for (int pod = 0; pod < kPods; ++pod) {
    Plan plan = plan_of(modelarts_snapshot({kPods, 8, 1}, pod), train());
    if (pod == 0) first = *plan.cluster;
    EXPECT_EQ(*plan.cluster, first);
    for (const Process& process : plan.processes) seen.push_back(process.rank);
  }
  for (int rank = 0; rank < kPods * 8; ++rank)
    EXPECT_EQ(seen[static_cast<std::size_t>(rank)], rank);
}

TEST(Resolve, ATableThatIsNotReadyIsPendingWithTheReason) {
  const JobShape shape;
  Snapshot snapshot = modelarts_snapshot(shape, 0);
  snapshot.paths[kTablePath] = file_state(template2(shape, "initializing"));
  EXPECT_THAT(pending_of(snapshot, train()), HasSubstr("initializing"));

  snapshot.paths[kTablePath] = file_state("");
  EXPECT_THAT(pending_of(snapshot, train()), HasSubstr("empty"));

  std::string torn = template2(shape);
  snapshot.paths[kTablePath] = file_state(torn.substr(0, torn.size() / 2));
  EXPECT_THAT(pending_of(snapshot, train()), HasSubstr(kTablePath));

  snapshot.paths[kTablePath] = {};
  EXPECT_THAT(pending_of(snapshot, train()), HasSubstr("does not exist"));

  snapshot.paths["/user/config"] = {};
  EXPECT_THAT(pending_of(snapshot, train()), HasSubstr(kTablePath));
}

TEST(Resolve, ATableThatCannotBeRightIsAnErrorWithPlaceAndRemedy) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths[kTablePath] = file_state("{\n  // a comment\n  \"status\": \"completed\"}");
  EXPECT_THAT(error_of(snapshot, train()), AllOf(HasSubstr("line 2"), HasSubstr("comment")));

  snapshot.paths[kTablePath] =
      file_state(R"({"status":"completed","group_list":null,"group_count":""})");
  EXPECT_THAT(error_of(snapshot, train()), HasSubstr("group_list"));

  PathState huge;
  huge.kind = PathState::Kind::kError;
  huge.error = EFBIG;
  huge.size_bytes = 200ULL << 20;
  snapshot.paths[kTablePath] = huge;
  EXPECT_THAT(error_of(snapshot, train()), HasSubstr("200 MiB"));

  PathState loop;
  loop.kind = PathState::Kind::kError;
  loop.error = ELOOP;
  snapshot.paths[kTablePath] = loop;
  EXPECT_THAT(error_of(snapshot, train()), HasSubstr("circle"));
}

TEST(Resolve, WrongChoicesNameTheRightOnes) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  Request request = train();
  request.platform = "slrum";
  EXPECT_THAT(error_of(snapshot, request), AllOf(HasSubstr("slrum"), HasSubstr("modelarts")));
  request = train();
  request.framework = "tensorflw";
  EXPECT_THAT(error_of(snapshot, request), AllOf(HasSubstr("tensorflw"), HasSubstr("ascend")));
  EXPECT_THAT(error_of(snapshot, Request{}), HasSubstr("no command"));
}

TEST(Resolve, DeviceGroupsWarnAndFailWhenStrict) {
  Snapshot snapshot = modelarts_snapshot({1, 3, 1}, 0);
  EXPECT_THAT(plan_of(snapshot, train()).warnings, testing::Not(IsEmpty()));
  Request strict = train();
  strict.strict = true;
  EXPECT_THAT(error_of(snapshot, strict), HasSubstr("--strict"));
}

TEST(Arguments, AFileUnderTheOriginalDirectoryBecomesAbsolute) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  for (const char* path : {"train.py", "conf/a.yaml", "run.sh"}) {
    snapshot.paths[std::string("/home/ma-user/") + path] = file_state("x");
  }
  PathState directory;
  directory.kind = PathState::Kind::kDirectory;
  snapshot.paths["/home/ma-user/train"] = directory;
  snapshot.paths["/home/ma-user/data/x"] = directory;
  Plan plan =
      plan_of(snapshot, request_for({"./run.sh", "train.py", "--config=conf/a.yaml", "--mode",
                                     "train", "data/x", "./nothing", "--flag", "/abs", ""}));
  EXPECT_THAT(plan.processes[0].argv,
              ElementsAre("/home/ma-user/run.sh", "/home/ma-user/train.py",
                          "--config=/home/ma-user/conf/a.yaml", "--mode", "train",
                          "/home/ma-user/data/x", "./nothing", "--flag", "/abs", ""));
}

TEST(Arguments, AProgramOfThePathIsNotTakenForAFile) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths["/home/ma-user/python"] = file_state("x");
  snapshot.paths["/home/ma-user/train.py"] = {};
  EXPECT_EQ(plan_of(snapshot, train()).processes[0].argv[0], "python");
}

TEST(Arguments, APythonModuleStillFindsItsNeighbours) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths["/home/ma-user/train"] = file_state("x");
  snapshot.env.set("PYTHONPATH", "/lib");
  Plan plan = plan_of(snapshot, request_for({"/opt/bin/python3", "-W", "ignore", "-m", "train"}));
  EXPECT_EQ(plan.processes[0].argv[4], "train");
  EXPECT_EQ(variable(snapshot, plan.processes[0], "PYTHONPATH"),
            "/run/trainit/stacks/python:/home/ma-user:/lib");
}

TEST(Places, MoveUnderTheRunDirectoryWhenTheyCannotBeWritten) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths["/home/ma-user"].writable = false;
  snapshot.env.set("MA_LOG_DIR", "/ro/logs");
  snapshot.paths["/ro/logs"] = snapshot.paths["/home/ma-user"];
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(plan.processes[0].cwd, "/run/trainit/work/device0");
  EXPECT_EQ(plan.processes[1].log, "/run/trainit/logs/rank-1.txt");
  EXPECT_THAT(plan.warnings, AllOf(Contains(HasSubstr("/run/trainit/work")),
                                   Contains(HasSubstr("/run/trainit/logs"))));
}

TEST(Places, ModelArtsMountAndLogDirectoriesAreUsed) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.env.set("MA_MOUNT_PATH", "/cache");
  snapshot.env.set("MA_LOG_DIR", "/logs");
  snapshot.paths["/cache"] = snapshot.paths["/home/ma-user"];
  snapshot.paths["/logs"] = {};
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(plan.processes[2].cwd, "/cache/workspace/device2");
  EXPECT_EQ(plan.processes[2].log, "/logs/rank-2.txt");
}

TEST(Places, WithoutARunDirectoryThereIsNoPlaceForTheTable) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.facts.run_dir = "";
  EXPECT_THAT(error_of(snapshot, train()), HasSubstr("TRAINIT_RUN_DIR"));
  snapshot.facts.run_dir = "/x.json.d";
  EXPECT_THAT(error_of(snapshot, train()), HasSubstr(".json"));
}

TEST(Places, OnlyAskedForTheDeviceDirectoriesAreEmptied) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  for (const PlannedDirectory& directory : plan_of(snapshot, train()).directories) {
    EXPECT_FALSE(directory.clean) << directory.path;
  }
  Request clean = train();
  clean.clean_device_dirs = true;
  for (const PlannedDirectory& directory : plan_of(snapshot, clean).directories) {
    bool is_device = directory.path.find("/device") != std::string::npos;
    EXPECT_EQ(directory.clean, is_device) << directory.path;
  }
}

TEST(Places, ThatDoNotExistAreJudgedByTheNearestThatDoes) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  PathState sealed = snapshot.paths["/home/ma-user"];
  sealed.writable = false;
  snapshot.env.set("MA_LOG_DIR", "/ro/a/logs");
  snapshot.env.set("MA_MOUNT_PATH", "/ro/b");
  for (const char* absent : {"/ro/a/logs", "/ro/a", "/ro/b", "/ro/b/workspace"}) {
    snapshot.paths[absent] = {};
  }
  snapshot.paths["/ro"] = sealed;
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(plan.processes[0].cwd, "/home/ma-user/device0");
  EXPECT_EQ(plan.processes[1].log, "/run/trainit/logs/rank-1.txt");
  EXPECT_THAT(plan.warnings, AllOf(Contains(HasSubstr("/ro/b/workspace cannot be written")),
                                   Contains(HasSubstr("/ro/a/logs cannot be written"))));
}

TEST(Output, ThatOfTheNodesFirstRankIsStdoutWhateverTheTableListsFirst) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths[kTablePath] =
      file_state(R"({"version":"1.0","status":"completed","server_count":"1",
    "server_list":[{"server_id":"s","device":[{"device_id":"5","rank_id":"1"},
                                              {"device_id":"4","rank_id":"0"}]}]})");
  Plan plan = plan_of(snapshot, train());
  EXPECT_EQ(plan.processes[0].rank, 0);
  EXPECT_EQ(plan.processes[0].log, "");
  EXPECT_EQ(variable(snapshot, plan.processes[0], "DEVICE_ID"), "1") << "its place in the table";
  EXPECT_EQ(plan.processes[1].log, "/run/trainit/logs/rank-1.txt");
}

TEST(Output, CanGoToFilesOrStayTogether) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  Request request = train();
  request.output = Output::kInherit;
  EXPECT_EQ(plan_of(snapshot, request).processes[5].log, "");
  request.output = Output::kFiles;
  EXPECT_EQ(plan_of(snapshot, request).processes[0].log, "/run/trainit/logs/rank-0.txt");
}

TEST(Grace, IsThePlatformsUnlessGiven) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  EXPECT_EQ(plan_of(snapshot, train()).policy.grace_ms, 8000);
  snapshot.env.set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  EXPECT_EQ(plan_of(snapshot, train()).policy.grace_ms, 25000);
  Request request = train();
  request.grace_ms = 1234;
  EXPECT_EQ(plan_of(snapshot, request).policy.grace_ms, 1234);
}

TEST(Hccn, ABareHostWithoutATableUsesItsOwnDevices) {
  Snapshot snapshot;
  snapshot.facts.cwd = "/w";
  snapshot.facts.addresses = {"10.1.1.1"};
  snapshot.facts.run_dir = "/run/trainit";
  PathState directory;
  directory.kind = PathState::Kind::kDirectory;
  directory.writable = true;
  snapshot.paths["/w"] = directory;
  snapshot.paths["/w/train.py"] = {};
  snapshot.paths["/etc/hccn.conf"] =
      file_state("address_0=192.168.1.1\naddress_1=192.168.2.1\nnetmask_1=255.255.255.0\n");
  Request request = train();
  request.framework = "ascend";
  Plan plan = plan_of(snapshot, request);
  EXPECT_EQ(plan.platform, "bare");
  ASSERT_THAT(plan.processes, SizeIs(2));
  EXPECT_THAT(plan.files[0].content.text(), HasSubstr("192.168.2.1"));

  snapshot.env =
      base::Environ({"ASCEND_VISIBLE_DEVICES=7", "ASCEND_VISIBLE_DEVICES=Ascend910-0,npu-1"});
  EXPECT_THAT(plan_of(snapshot, request).processes, SizeIs(2));
  snapshot.env = base::Environ({"ASCEND_VISIBLE_DEVICES=void"});
  EXPECT_THAT(error_of(snapshot, request), HasSubstr("ASCEND_VISIBLE_DEVICES"));

  request.devices = "0,1,2";
  request.strict = true;
  EXPECT_THAT(error_of(snapshot, request), HasSubstr("--strict"));
  request.strict = false;

  request.devices = "1";
  ASSERT_THAT(plan_of(snapshot, request).processes, SizeIs(1));
  EXPECT_EQ(variable(snapshot, plan_of(snapshot, request).processes[0], "DEVICE_ID"), "1");
}

// A TensorFlow task is one rank, whatever devices it drives.

Plan tensorflow_plan(std::vector<std::string> env, const std::string& host_name) {
  Container job = container(host_name, std::move(env), 8);
  job.request.framework = "tensorflow";
  return plan_of(job.snapshot, job.request);
}

void expect_ranks(const Plan& plan, const std::string& platform, int nodes, int ranks) {
  EXPECT_EQ(plan.platform, platform);
  EXPECT_EQ(plan.node_count, nodes) << platform;
  EXPECT_EQ(plan.world_size, ranks) << platform;
  ASSERT_TRUE(plan.cluster) << platform;
  EXPECT_EQ(plan.cluster->world_size, ranks) << platform;
  int slots = 0;
  for (const Node& node : plan.cluster->nodes) slots += node.slots;
  EXPECT_EQ(slots, ranks) << platform;
}

TEST(ResolveTensorFlow, TheWorldIsTheTasksOnEachPlatform) {
  const std::vector<std::string> slurm = {"SLURM_JOB_ID=1", "SLURM_STEP_ID=0",
                                          "SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=1"};
  expect_ranks(tensorflow_plan(slurm, "n2"), "slurm", 2, 2);
  expect_ranks(tensorflow_plan({"VC_TASK_INDEX=0", "VC_WORKER_HOSTS=w-0.j,w-1.j,w-2.j"}, "w-0"),
               "volcano", 3, 3);
  expect_ranks(
      tensorflow_plan({"TRAINIT_X=1", "WORKER_HOST=a,b", "VK_TASK_INDEX=1", "SLOTS=8"}, "b"), "vk",
      2, 2);
  Container bare = container("a", {}, 8);
  bare.request.framework = "tensorflow";
  bare.request.hosts = "a:8,b:4";
  expect_ranks(plan_of(bare.snapshot, bare.request), "bare", 2, 2);
}

TEST(ResolveTensorFlow, EachTaskThatSlurmStartedIsARank) {
  const Plan plan = tensorflow_plan(
      {"SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=n[1-2]", "SLURM_NTASKS=4",
       "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_NODEID=1", "SLURM_PROCID=3", "SLURM_LOCALID=1"},
      "n2");
  expect_ranks(plan, "slurm", 2, 4);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_THAT(plan.processes[0].env[0].value,
              HasSubstr(R"("worker":["n1:2222","n1:2223","n2:2222","n2:2223"]},)"
                        R"("task":{"type":"worker","index":3})"));
}

TEST(ResolveTensorFlow, ParameterServersAndEvaluatorsTrainNothing) {
  const std::vector<std::string> roles = {
      "VC_CHIEF_HOSTS=j-chief-0.j", "VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j",
      "VC_PS_HOSTS=j-ps-0.j", "VC_EVALUATOR_HOSTS=j-evaluator-0.j", "VC_TASK_INDEX=0"};
  const std::string members = R"({"cluster":{"chief":["j-chief-0.j:2222"],)";
  const std::string others =
      R"("ps":["j-ps-0.j:2222"],"worker":["j-worker-0.j:2222","j-worker-1.j:2222"]},"task":)";
  const std::string cloud = R"(,"environment":"cloud"})";
  const Plan chief = tensorflow_plan(roles, "j-chief-0");
  expect_ranks(chief, "volcano", 5, 3);
  EXPECT_EQ(chief.processes.at(0).env.at(0).value,
            members + others + R"({"type":"chief","index":0})" + cloud);
  const Plan evaluator = tensorflow_plan(roles, "j-evaluator-0");
  EXPECT_EQ(*evaluator.cluster, *chief.cluster);
  EXPECT_EQ(evaluator.processes.at(0).env.at(0).value,
            members + R"("evaluator":["j-evaluator-0.j:2222"],)" + others +
                R"({"type":"evaluator","index":0})" + cloud)
      << "an evaluator stands in its own cluster alone";
}

TEST(CountRanks, UnderJaxAParameterServerIsIdle) {
  Snapshot snapshot;
  snapshot.env = base::Environ({R"(TF_CONFIG={"cluster":{"worker":["a:1","b:1"],"ps":["c:1"]},)"
                                R"("task":{"type":"worker","index":1}})"});
  snapshot.facts.run_dir = "/run/trainit";
  snapshot.paths["/dev"].kind = PathState::Kind::kDirectory;
  snapshot.paths["/dev"].listed = true;
  Request request;
  request.command = {"python", "train.py"};
  request.framework = "jax";
  const Answer answer = resolve(snapshot, request);
  const auto* error = std::get_if<base::Error>(&answer.outcome);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(to_line(*error).find("node 2: found no ranks on it"), std::string::npos)
      << to_line(*error);
}

}  // namespace
}  // namespace envgen
