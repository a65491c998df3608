#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/formats/tfconfig.h"
#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// ps-0, worker-0, worker-1, as ModelArts tells them.
LauncherCase ps_and_workers(std::vector<std::string> command, int node_rank) {
  LauncherCase job(std::move(command), {0, 1, 1}, node_rank);
  std::vector<Node>& nodes = job.resolved.cluster.nodes;
  for (int rank = 0; rank < 3; ++rank) {
    Node& node = nodes[static_cast<std::size_t>(rank)];
    node.role = rank == 0 ? "ps" : "worker";
    node.role_index = rank == 0 ? 0 : rank - 1;
    node.port = 5000 + rank;
  }
  return job;
}

std::string config_of(const LauncherCase& job) {
  Plan plan = job.planned(kLaunchTensorflow);
  EXPECT_THAT(plan.processes, SizeIs(1));
  return plan.processes.empty() ? "" : job.variable(plan, plan.processes[0], "TF_CONFIG");
}

std::string command_of(const LauncherCase& job) {
  Plan plan = job.planned(kLaunchTensorflow);
  EXPECT_THAT(plan.processes, SizeIs(1));
  return plan.processes.empty() ? "" : line_of(plan.processes[0].argv);
}

TEST(TensorFlow, EachNodeRunsOneProcessThatKnowsItsPlace) {
  const std::string members =
      R"({"cluster":{"ps":["host-0:5000"],"worker":["host-1:5001","host-2:5002"]},)";
  const std::string cloud = R"(,"environment":"cloud"})";
  LauncherCase ps = ps_and_workers({"python", "train.py"}, 0);
  EXPECT_EQ(config_of(ps), members + R"("task":{"type":"ps","index":0})" + cloud);
  LauncherCase worker = ps_and_workers({"python", "train.py"}, 2);
  EXPECT_EQ(config_of(worker), members + R"("task":{"type":"worker","index":1})" + cloud);
  EXPECT_EQ(command_of(worker), "python train.py");
  worker.resolved.platform.tf_index_text = true;
  EXPECT_EQ(config_of(worker), members + R"("task":{"type":"worker","index":"1"})" + cloud);
}

TEST(TensorFlow, AParameterServerNeverEndsByItself) {
  EXPECT_EQ(ps_and_workers({"python", "x.py"}, 0).planned(kLaunchTensorflow).policy.success,
            base::SuccessPolicy::kServe);
  EXPECT_EQ(ps_and_workers({"python", "x.py"}, 1).planned(kLaunchTensorflow).policy.success,
            base::SuccessPolicy::kAll);
}

TEST(TensorFlow, AllReduceHasWorkersOnlyOnCpuNodesToo) {
  LauncherCase job({"python", "train.py"}, {1, 1}, 1);
  EXPECT_EQ(config_of(job), R"({"cluster":{"worker":["host-0:2222","host-1:2222"]},)"
                            R"("task":{"type":"worker","index":1},"environment":"cloud"})");
  // However many devices a node has, it runs one process.
  LauncherCase mixed({"python", "train.py"}, {8, 2}, 0);
  EXPECT_THAT(mixed.planned(kLaunchTensorflow).processes, SizeIs(1));
}

TEST(TensorFlow, OneReplicaHasNoConfigAndNoFlags) {
  for (const std::vector<int>& slots : {std::vector<int>{}, std::vector<int>{8}}) {
    LauncherCase job({"python", "train.py"}, slots, 0);
    job.request.tf_flags = true;
    EXPECT_EQ(config_of(job), "(unset)");
    EXPECT_EQ(command_of(job), "python train.py");
    EXPECT_THAT(job.planned(kLaunchTensorflow).warnings, IsEmpty());
    job.with_environment({"TF_CONFIG={\"cluster\":{}}"});
    EXPECT_EQ(config_of(job), "(unset)");
    EXPECT_THAT(job.planned(kLaunchTensorflow).warnings, Contains(HasSubstr("TF_CONFIG is set")));
  }
}

// Slurm's task `local` of a node.
LauncherCase own_task(const std::vector<int>& tasks, int node_rank, int local, int rank) {
  LauncherCase job({"python", "train.py"}, tasks, node_rank);
  job.resolved.platform.own_rank = rank;
  job.resolved.platform.local_rank = local;
  return job;
}

TEST(TensorFlow, EachTaskThatThePlatformStartedIsATaskOfTheJob) {
  const std::string members =
      R"({"cluster":{"worker":["host-0:2222","host-0:2223","host-1:2222"]},"task":)";
  const std::string cloud = R"(,"environment":"cloud"})";
  EXPECT_EQ(config_of(own_task({2, 1}, 0, 1, 1)),
            members + R"({"type":"worker","index":1})" + cloud);
  EXPECT_EQ(config_of(own_task({2, 1}, 1, 0, 2)),
            members + R"({"type":"worker","index":2})" + cloud);
  // Whatever order srun numbers them in, an index stands at its own host's address.
  EXPECT_EQ(config_of(own_task({2, 1}, 1, 0, 1)),
            members + R"({"type":"worker","index":2})" + cloud);
}

TEST(TensorFlow, TasksOfASingleNodeAreAClusterToo) {
  EXPECT_EQ(config_of(own_task({2}, 0, 1, 1)),
            R"({"cluster":{"worker":["host-0:2222","host-0:2223"]},)"
            R"("task":{"type":"worker","index":1},"environment":"cloud"})");
}

TEST(TensorFlow, TasksOfOneNodeDoNotShareALog) {
  LauncherCase job = own_task({2, 2}, 1, 1, 3);
  job.request.output = Output::kFiles;
  Plan plan = job.planned(kLaunchTensorflow);
  EXPECT_EQ(plan.processes[0].rank, 3);
  EXPECT_EQ(plan.processes[0].log, "/logs/rank-3.log");
}

// Injected by the platform.

LauncherCase injected(const std::string& text) {
  LauncherCase job({"python", "train.py"}, {1, 1}, 1);
  job.resolved.platform.tf_config = text;
  job.with_environment({"TF_CONFIG=" + text});
  return job;
}

TEST(TensorFlowInjected, IsKeptByteForByte) {
  const std::string text = R"({ "task": {"index": "0", "type": "ps"}, "rpc_layer":"grpc", )"
                           R"("cluster": {"worker": ["a:1"], "ps": ["b:1"]} })";
  LauncherCase job = injected(text);
  Plan plan = job.planned(kLaunchTensorflow);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "TF_CONFIG"), text);
  EXPECT_EQ(plan.policy.success, base::SuccessPolicy::kServe);
  job.snapshot.env = base::Environ();
  EXPECT_EQ(config_of(job), text);
}

TEST(TensorFlowInjected, IsRefusedWhenTensorFlowCannotReadIt) {
  EXPECT_THAT(injected("{'cluster': {}}").error(kLaunchTensorflow),
              AllOf(HasSubstr("TF_CONFIG"), HasSubstr("single quotes")));
}

TEST(TensorFlowInjected, FlagsFollowIt) {
  LauncherCase job =
      injected(R"({"cluster":{"ps":["p:1"],"worker":["a:1"]},"task":{"type":"ps","index":0}})");
  job.request.tf_flags = true;
  EXPECT_EQ(command_of(job),
            "python train.py --task_index 0 --ps_hosts p:1 --worker_hosts a:1 --job_name ps");
}

// ModelArts' flags.

TEST(TensorFlowFlags, StandBehindTheScriptAndBeforeTheUsersArguments) {
  LauncherCase job = ps_and_workers({"python", "-u", "train.py", "--epochs", "5"}, 2);
  job.resolved.platform.tf_flags = true;
  EXPECT_EQ(command_of(job),
            "python -u train.py --task_index 1 --ps_hosts host-0:5000 "
            "--worker_hosts host-1:5001,host-2:5002 --job_name worker --epochs 5");
  job.request.tf_flags = false;
  EXPECT_EQ(command_of(job), "python -u train.py --epochs 5");
}

TEST(TensorFlowFlags, StandBehindAModule) {
  LauncherCase job = ps_and_workers({"python", "-m", "pkg.train", "x"}, 0);
  job.request.tf_flags = true;
  EXPECT_EQ(command_of(job),
            "python -m pkg.train --task_index 0 --ps_hosts host-0:5000 "
            "--worker_hosts host-1:5001,host-2:5002 --job_name ps x");
}

TEST(TensorFlowFlags, TheUsersOwnStay) {
  LauncherCase job =
      ps_and_workers({"python", "train.py", "--task_index=7", "-job_name", "chief"}, 2);
  job.resolved.platform.tf_flags = true;
  EXPECT_EQ(command_of(job),
            "python train.py --ps_hosts host-0:5000 --worker_hosts host-1:5001,host-2:5002 "
            "--task_index=7 -job_name chief");
}

TEST(TensorFlowFlags, AJobWithoutParameterServersHasNoListOfThem) {
  LauncherCase job({"python", "train.py"}, {1, 1}, 0);
  job.resolved.platform.tf_flags = true;
  EXPECT_EQ(command_of(job),
            "python train.py --task_index 0 --worker_hosts host-0:2222,host-1:2222 "
            "--job_name worker");
}

TEST(TensorFlowFlags, AreLeftOutBehindWhatIsNoPython) {
  LauncherCase job = ps_and_workers({"bash", "run.sh"}, 2);
  job.resolved.platform.tf_flags = true;
  EXPECT_EQ(command_of(job), "bash run.sh");
  EXPECT_THAT(job.planned(kLaunchTensorflow).warnings, Contains(HasSubstr("bash is none")));
}

// Limits and leftovers.

// Worker `self` of so many, in a list of about `bytes` bytes.
LauncherCase long_list(std::size_t bytes) {
  const std::string suffix(100, 'x');
  const int nodes = static_cast<int>(bytes / (suffix.size() + 15));
  LauncherCase job({"python", "train.py"}, std::vector<int>(static_cast<std::size_t>(nodes), 1), 0);
  int number = 100000;
  for (Node& node : job.resolved.cluster.nodes) node.host = suffix + std::to_string(number++);
  return job;
}

TEST(TensorFlow, OneVariableHoldsLessThan128KiB) {
  EXPECT_LT(config_of(long_list(130000)).size(), kMaxVariableBytes);
  EXPECT_THAT(long_list(135000).error(kLaunchTensorflow),
              AllOf(HasSubstr("TF_CONFIG"), HasSubstr("131072"), HasSubstr("shorter host names")));
}

TEST(TensorFlow, TheLimitCountsTheNameAndTheEnd) {
  LauncherCase job({"python", "train.py"}, {1, 1}, 0);
  job.resolved.cluster.nodes[1].host = "b";
  const std::size_t rest = config_of(job).size() - 1 + std::string("TF_CONFIG=").size() + 1;
  job.resolved.cluster.nodes[1].host = std::string(kMaxVariableBytes - rest, 'b');
  EXPECT_EQ(config_of(job).size() + 11, kMaxVariableBytes);
  job.resolved.cluster.nodes[1].host += 'b';
  EXPECT_THAT(job.error(kLaunchTensorflow), HasSubstr("131072 bytes"));
}

TEST(TensorFlow, AMissingHostIsAnError) {
  LauncherCase job({"python", "train.py"}, {1, 1}, 0);
  job.resolved.cluster.nodes[1].host = "";
  EXPECT_THAT(job.error(kLaunchTensorflow), AllOf(HasSubstr("node 1"), HasSubstr("--hosts")));
}

TEST(TensorFlow, StaleRanksAreUnsetButNotWhatThePlatformPromises) {
  LauncherCase job = ps_and_workers({"python", "train.py"}, 1);
  job.with_environment({"RANK=7", "WORLD_SIZE=64", "LOCAL_RANK=1"});
  job.resolved.platform.env = {{base::EnvEdit::Kind::kSet, "WORLD_SIZE", "2"}};
  Plan plan = job.planned(kLaunchTensorflow);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "RANK"), "(unset)");
  EXPECT_EQ(job.variable(plan, plan.processes[0], "LOCAL_RANK"), "(unset)");
  EXPECT_EQ(job.variable(plan, plan.processes[0], "WORLD_SIZE"), "2");
}

TEST(TensorFlow, StartsInThePlatformsDirectoryAndMayHaveALog) {
  LauncherCase job = ps_and_workers({"python", "train.py"}, 1);
  job.resolved.platform.cwd = "/home/ma-user/user-job-dir/code";
  job.resolved.platform.log_suffix = ".txt";
  job.request.output = Output::kFiles;
  Plan plan = job.planned(kLaunchTensorflow);
  EXPECT_EQ(plan.processes[0].cwd, "/home/ma-user/user-job-dir/code");
  EXPECT_EQ(plan.processes[0].log, "/logs/main.txt");
}

}  // namespace
}  // namespace envgen
