#include "envgen/resolve/restart_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "envgen/resolve/hooks.h"
#include "envgen/resolve/resolve.h"
#include "envgen/resolve/terminal.h"
#include "tests/envgen/job_builder.h"
#include "tests/envgen/tree.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Words = std::vector<std::string>;

// A node of a job that --hosts describes, on a machine with `tree`.
struct Job {
  Tree tree = {};
  Request request = {};
  Words variables = {"PATH=/usr/bin"};

  Job(std::string framework, std::string hosts, int node_rank, Words command) {
    request.framework = std::move(framework);
    request.hosts = std::move(hosts);
    request.node_rank = node_rank;
    request.command = std::move(command);
    tree.directory("/usr/bin");
  }
  [[nodiscard]] Outcome outcome() const {
    Snapshot snapshot;
    snapshot.env = base::Environ(variables);
    snapshot.facts.cwd = "/srv/job";
    snapshot.facts.run_dir = "/run/trainit";
    snapshot.facts.program = "/trainit";
    snapshot.facts.addresses = {"10.0.0.1"};
    return resolve_in(tree, snapshot, request).outcome;
  }
  [[nodiscard]] Plan plan() const {
    Outcome result = outcome();
    if (auto* planned = std::get_if<Planned>(&result)) return std::move(planned->plan);
    const auto* error = std::get_if<base::Error>(&result);
    ADD_FAILURE() << (error == nullptr ? "pending" : to_line(*error));
    return {};
  }
};

Job pytorch(int node_rank = 0, std::string hosts = "a:2,b:2") {
  Job job("pytorch", std::move(hosts), node_rank, {"python", "train.py"});
  job.tree.file("/usr/bin/python").file("/usr/bin/torchrun");
  return job;
}

Words service_names(const Plan& plan) {
  Words names;
  for (const Process& service : plan.services) names.push_back(service.name);
  return names;
}

// --- Checkpoints ---

TEST(CheckpointSignal, IsUsr1UnlessHooksSave) {
  Job job = pytorch();
  EXPECT_EQ(job.plan().policy.checkpoint_signal, SIGUSR1);
  job.tree.program(std::string(kHooksDirectory) + "/checkpoint.d/save");
  EXPECT_EQ(job.plan().policy.checkpoint_signal, 0);
  job.request.checkpoint_signal = SIGUSR2;
  EXPECT_EQ(job.plan().policy.checkpoint_signal, SIGUSR2);
}

TEST(CheckpointSignal, IsNotReplacedByALifecycleScript) {
  Job job = pytorch();
  job.tree.program("/lifecycle");
  job.request.lifecycle_script = "/lifecycle";
  EXPECT_EQ(job.plan().policy.checkpoint_signal, SIGUSR1);
}

TEST(CheckpointSignal, DoesNotEndTheSshdOfAWorker) {
  Job worker("mpi", "a:2,b:2", 1, {"./train"});
  worker.request.checkpoint_signal = SIGUSR1;
  EXPECT_EQ(worker.plan().policy.checkpoint_signal, 0);
  worker.request.node_rank = 0;
  EXPECT_EQ(worker.plan().policy.checkpoint_signal, SIGUSR1);
}

TEST(CheckpointSignal, IsNotSentWhereRanksStandBehindSsh) {
  Job job("deepspeed", "a:2,b:2", 0, {"deepspeed", "train.py"});
  EXPECT_EQ(job.plan().policy.checkpoint_signal, 0);
  EXPECT_THAT(job.plan().warnings, Not(Contains(HasSubstr("checkpoint"))));
  job.request.policy.signals = {{.from = SIGUSR1, .kind = base::SignalRule::Kind::kCheckpoint}};
  EXPECT_THAT(job.plan().warnings, Contains(HasSubstr("no checkpoint signal")));
}

TEST(CheckpointSignal, ThatIsNoneWithoutAHookIsWarnedOf) {
  Job job = pytorch();
  job.request.policy.signals = {{.from = SIGUSR1, .kind = base::SignalRule::Kind::kCheckpoint}};
  EXPECT_THAT(job.plan().warnings, Not(Contains(HasSubstr("saves nothing"))));
  job.request.checkpoint_signal = 0;
  EXPECT_THAT(job.plan().warnings, Contains(HasSubstr("a checkpoint saves nothing")));
  job.tree.program(std::string(kHooksDirectory) + "/checkpoint.d/save");
  EXPECT_THAT(job.plan().warnings, Not(Contains(HasSubstr("saves nothing"))));
}

TEST(StopSignal, ThatNoLongerStopsTheJobIsWarnedOf) {
  Job job = pytorch();
  job.request.policy.signals = {
      {.from = SIGTERM, .kind = base::SignalRule::Kind::kSignal, .to = SIGINT},
      {.from = SIGUSR1, .kind = base::SignalRule::Kind::kNothing}};
  EXPECT_THAT(job.plan().warnings, Not(Contains(HasSubstr("stops the job no more"))));
  job.request.policy.signals = {{.from = SIGINT, .kind = base::SignalRule::Kind::kForward}};
  EXPECT_THAT(job.plan().warnings, Not(Contains(HasSubstr("stops the job no more"))));
  job.request.policy.signals = {{.from = SIGTERM, .kind = base::SignalRule::Kind::kForward}};
  EXPECT_THAT(job.plan().warnings, Contains(HasSubstr("no more, but is forwarded")));
  job.request.policy.signals = {{.from = SIGTERM, .kind = base::SignalRule::Kind::kNothing}};
  EXPECT_THAT(job.plan().warnings, Contains(HasSubstr("SIGTERM stops the job no more")));
}

// --- Restarts ---

TEST(Restart, OfOneNodeIsWhatWasAskedFor) {
  Job job = pytorch(0, "a:2");
  job.request.max_restarts = 3;
  const Plan plan = job.plan();
  EXPECT_EQ(plan.policy.max_restarts, 3);
  EXPECT_FALSE(plan.device_wait) << "/dev has none";
  EXPECT_EQ(plan.policy.rendezvous_ms, 0);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(Restart, OfSeveralNodesHasToBeAskedFor) {
  Job job = pytorch();
  job.request.max_restarts = 3;
  const Plan plan = job.plan();
  EXPECT_EQ(plan.policy.max_restarts, 0);
  EXPECT_EQ(plan.policy.rendezvous_ms, 0);
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("--restart-across-nodes")));
}

TEST(Restart, WithoutANumberWarnsOfNothing) {
  EXPECT_THAT(pytorch().plan().warnings, Not(Contains(HasSubstr("restart"))));
}

TEST(Restart, OfSeveralNodesMeetsAtTheMaster) {
  Job job = pytorch(1);
  job.request.max_restarts = 3;
  job.request.restart_across_nodes = true;
  job.request.restart_window_ms = 1234;
  Plan plan = job.plan();
  EXPECT_EQ(plan.policy.max_restarts, 3);
  EXPECT_EQ(plan.policy.rendezvous_ms, 1234);
  ASSERT_TRUE(plan.link);
  EXPECT_EQ(plan.link->master_port, 29500);
}

TEST(Restart, OfAnElasticJobMeetsToo) {
  Job job = pytorch(1);
  job.request.policy.elastic = true;
  const Plan plan = job.plan();
  EXPECT_GT(plan.policy.rendezvous_ms, 0);
  EXPECT_TRUE(plan.policy.elastic);
}

TEST(Restart, BehindParameterServersIsEachWorkersOwn) {
  Job job("", "", 0, {"python", "train.py"});
  job.request.node_rank.reset();
  job.request.platform = "kubeflow";
  job.variables.emplace_back(R"(TF_CONFIG={"cluster":{"worker":["a:1","b:1"],"ps":["c:1"]},)"
                             R"("task":{"type":"worker","index":1}})");
  job.request.max_restarts = 1;
  job.request.restart_across_nodes = true;
  EXPECT_EQ(job.plan().policy.rendezvous_ms, 0);
  EXPECT_EQ(job.plan().policy.max_restarts, 1);
}

// --- The devices that a restart waits for ---

std::vector<std::string> paths_of(const std::optional<DeviceWait>& wait) {
  std::vector<std::string> paths;
  if (!wait) return paths;
  for (const DeviceWait::Device& device : wait->devices) paths.push_back(device.path);
  return paths;
}

// A node whose driver numbers its GPUs in another order than their files.
Job gpu_job() {
  Job job = pytorch(0, "a:2");
  job.request.max_restarts = 3;
  for (const char* name : {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm"}) {
    job.tree.file("/dev/" + std::string(name));
  }
  const auto gpu = [&job](const std::string& bus_id, const std::string& minor) {
    job.tree.file("/proc/driver/nvidia/gpus/" + bus_id + "/information",
                  "GPU UUID: \t GPU-" + minor + "aa\nDevice Minor: \t " + minor + "\n");
  };
  gpu("0000:0a:00.0", "10");
  gpu("0000:0b:00.0", "0");
  gpu("0000:0c:00.0", "1");
  return job;
}

TEST(DeviceWait, IsForAllDevicesThatTheContainerHas) {
  Job job = gpu_job();
  const auto wait = job.plan().device_wait;
  ASSERT_TRUE(wait);
  EXPECT_THAT(wait->devices, ElementsAre(DeviceWait::Device{"/dev/nvidia10", "0000:0a:00.0"},
                                         DeviceWait::Device{"/dev/nvidia0", "0000:0b:00.0"},
                                         DeviceWait::Device{"/dev/nvidia1", "0000:0c:00.0"}));
  EXPECT_EQ(wait->timeout_ms, 30'000);
}

TEST(DeviceWait, IsForThoseAloneThatAVariableLeaves) {
  Job job = gpu_job();
  job.variables = {"CUDA_VISIBLE_DEVICES=0,GPU-1aa"};
  EXPECT_THAT(paths_of(job.plan().device_wait), ElementsAre("/dev/nvidia10", "/dev/nvidia1"));
  job.variables = {"CUDA_VISIBLE_DEVICES=GPU-elsewhere"};
  EXPECT_THAT(paths_of(job.plan().device_wait), SizeIs(3)) << "it cannot be told which";
  job.variables = {"CUDA_VISIBLE_DEVICES="};
  EXPECT_FALSE(job.plan().device_wait);
}

TEST(DeviceWait, GoesByTheFilesAloneWhereTheDriverTellsNothing) {
  Job job = pytorch(0, "a:2");
  job.request.policy.elastic = true;
  job.tree.file("/dev/cambricon_dev0").file("/dev/cambricon_dev1").file("/dev/cambricon_ctl");
  EXPECT_THAT(paths_of(job.plan().device_wait),
              ElementsAre("/dev/cambricon_dev0", "/dev/cambricon_dev1"));
  job.variables = {"MLU_VISIBLE_DEVICES=1"};
  EXPECT_THAT(paths_of(job.plan().device_wait), ElementsAre("/dev/cambricon_dev1"));
}

TEST(DeviceWait, TakesNumbersOfPartsForNoDevices) {
  Job job = pytorch(0, "a:2");
  job.request.max_restarts = 3;
  job.tree.file("/dev/neuron0").file("/dev/neuron1").file("/dev/neuron2").file("/dev/neuron3");
  job.variables = {"NEURON_RT_VISIBLE_CORES=2,3"};
  EXPECT_THAT(paths_of(job.plan().device_wait), SizeIs(4)) << "cores of device 0 or 1";
}

TEST(DeviceWait, IsForDevicesInADirectory) {
  Job job = pytorch(0, "a:2");
  job.request.max_restarts = 3;
  job.tree.file("/dev/accel/accel0").file("/dev/accel/accel1").file("/dev/accel/accel_controlD0");
  EXPECT_THAT(paths_of(job.plan().device_wait),
              ElementsAre("/dev/accel/accel0", "/dev/accel/accel1"));
}

TEST(DeviceWait, IsNoneWithoutARestartOrWithoutTime) {
  Job job = gpu_job();
  job.request.max_restarts = 0;
  EXPECT_FALSE(job.plan().device_wait);
  job.request.max_restarts = 1;
  job.request.device_wait_ms = 0;
  EXPECT_FALSE(job.plan().device_wait);
}

TEST(DeviceWait, IsForTheDevicesOfTheRankTable) {
  Snapshot snapshot = modelarts_snapshot({}, 1);
  snapshot.paths["/home/ma-user/train.py"] = {};
  Request request = request_for({"python", "train.py"});
  request.max_restarts = 1;
  request.restart_across_nodes = true;
  const Answer answer = resolve(snapshot, request);
  ASSERT_TRUE(std::holds_alternative<Planned>(answer.outcome));
  const Plan& plan = std::get<Planned>(answer.outcome).plan;
  EXPECT_THAT(paths_of(plan.device_wait), SizeIs(8));
  EXPECT_EQ(paths_of(plan.device_wait).back(), "/dev/davinci7");
  EXPECT_GT(plan.policy.rendezvous_ms, 0);
}

TEST(Restart, OfAnMpiJobIsItsLaunchersAlone) {
  Job job("mpi", "a:2,b:2", 1, {"./train"});
  job.request.max_restarts = 2;
  job.request.restart_across_nodes = true;
  EXPECT_EQ(job.plan().policy.max_restarts, 0);
  job.request.node_rank = 0;
  EXPECT_EQ(job.plan().policy.max_restarts, 2);
  EXPECT_EQ(job.plan().policy.rendezvous_ms, 0);
}

// --- The list of nodes ---

TEST(MinNodes, AreWaitedFor) {
  Job job = pytorch();
  job.request.min_nodes = 3;
  const Outcome outcome = job.outcome();
  const auto* pending = std::get_if<Pending>(&outcome);
  ASSERT_NE(pending, nullptr);
  EXPECT_EQ(pending->why, "2 of at least 3 (--min-nodes)");
  EXPECT_THAT(pending->plan.processes, IsEmpty());
  EXPECT_THAT(pending->plan.waits, SizeIs(1));
  job.request.min_nodes = 2;
  EXPECT_THAT(job.plan().processes, SizeIs(2));
}

Plan elastic_plan(const Request& request) {
  Snapshot snapshot = modelarts_snapshot({}, 0);
  snapshot.paths["/home/ma-user/train.py"] = {};
  Answer answer = resolve(snapshot, request);
  auto* planned = std::get_if<Planned>(&answer.outcome);
  if (planned == nullptr) {
    ADD_FAILURE() << "no plan";
    return {};
  }
  return std::move(planned->plan);
}

Request elastic_request() {
  Request request = request_for({"python", "train.py"});
  request.policy.elastic = true;
  return request;
}

TEST(Elastic, NamesTheFilesOfTheList) {
  Words paths;
  for (const Wait& wait : elastic_plan(elastic_request()).waits) paths.push_back(wait.path);
  EXPECT_THAT(paths, ElementsAre(kTablePath));
}

const auto kNoWordOfRestarts = Not(Contains(HasSubstr("--max-restarts")));

// The ranks of the others see the end of a connection at once, the list changes seconds later.
TEST(Elastic, WithoutRestartsWarnsThatALostNodeIsAFailure) {
  Request request = elastic_request();
  EXPECT_THAT(elastic_plan(request).warnings,
              Contains(AllOf(HasSubstr("--elastic: "), HasSubstr("give --max-restarts too"))));
  request.max_restarts = 2;
  EXPECT_THAT(elastic_plan(request).warnings, kNoWordOfRestarts);
  request.max_restarts = 0;
  EXPECT_THAT(elastic_plan(request).warnings, kNoWordOfRestarts) << "somebody chose it";
}

// Restarts and checkpoints exclude each other: the platform starts such a job again.
TEST(Elastic, WithCheckpointsRecommendsNoRestarts) {
  Request request = elastic_request();
  request.policy.signals = {{.from = SIGUSR1, .kind = base::SignalRule::Kind::kCheckpoint}};
  EXPECT_THAT(elastic_plan(request).warnings, kNoWordOfRestarts);
}

TEST(Elastic, OfAWorkerWarnsOfNothing) {
  Job worker("mpi", "a:2,b:2", 1, {"./train"});
  worker.request.policy.elastic = true;
  EXPECT_THAT(worker.plan().warnings, kNoWordOfRestarts);
}

TEST(Elastic, SaysThatVariablesDoNotChange) {
  Job job = pytorch();
  job.request.policy.elastic = true;
  EXPECT_THAT(job.plan().warnings, Contains(HasSubstr("variables, which do not change")));
}

// --- The terminal ---

TEST(Terminal, IsNoServiceUnlessAskedFor) {
  Job job = pytorch();
  EXPECT_THAT(job.plan().services, IsEmpty());
  job.request.terminal = "0";
  EXPECT_THAT(job.plan().services, IsEmpty());
}

TEST(Terminal, IsTheImagesSshdOnEveryNode) {
  for (const int node : {0, 1}) {
    Job job = pytorch(node);
    job.request.terminal = "1";
    job.request.ssh_port = 2200;
    job.tree.file("/usr/sbin/sshd");
    const Plan plan = job.plan();
    ASSERT_THAT(service_names(plan), ElementsAre("terminal"));
    EXPECT_FALSE(plan.services[0].of_job);
    EXPECT_THAT(plan.services[0].argv, ElementsAre("/trainit", "peer", "serve", "--dir",
                                                   "/run/trainit/ssh", "--port", "2200"));
    EXPECT_THAT(plan.directories, Contains(PlannedDirectory{"/run/trainit/ssh"}));
  }
}

TEST(Terminal, SaysThatTheImageHasNoSshd) {
  Job job = pytorch();
  job.request.terminal = "1";
  const Plan plan = job.plan();
  EXPECT_THAT(plan.services, IsEmpty());
  EXPECT_THAT(plan.warnings, Contains(AllOf(HasSubstr("no sshd"), HasSubstr("openssh-server"))));
}

TEST(Terminal, IsTheSshdThatThereIsAnyway) {
  Job job("mpi", "a:2,b:2", 0, {"./train"});
  job.request.terminal = "1";
  job.tree.file("/usr/sbin/sshd");
  EXPECT_THAT(service_names(job.plan()), ElementsAre("sshd"));
  job.request.node_rank = 1;
  EXPECT_THAT(job.plan().services, IsEmpty());  // the worker's main process
}

TEST(Terminal, MayBeAnyCommand) {
  Job job = pytorch();
  job.request.terminal = "ttyd -p  7681 bash";
  EXPECT_THAT(job.plan().services[0].argv, ElementsAre("ttyd", "-p", "7681", "bash"));
  EXPECT_EQ(job.plan().services[0].cwd, "/srv/job");
  EXPECT_TRUE(job.plan().services[0].of_job);
  job.request.terminal = "ttyd --title \"my job\" bash";
  EXPECT_THAT(job.plan().services[0].argv, ElementsAre("/bin/sh", "-c", job.request.terminal));
  job.request.terminal = "A=1 ttyd bash";
  EXPECT_THAT(job.plan().services[0].argv, ElementsAre("/bin/sh", "-c", job.request.terminal));
}

TEST(Terminal, IsThereForAJobOfOneProcessToo) {
  Job job("single", "", 0, {"python", "train.py"});
  job.request.node_rank.reset();
  job.request.terminal = "ttyd bash";
  EXPECT_THAT(service_names(job.plan()), ElementsAre("terminal"));
  EXPECT_FALSE(is_pass_through(base::Environ({"PATH=/usr/bin"}), job.request));
}

}  // namespace
}  // namespace envgen
