// Which launcher a job gets, from a snapshot to the plan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/framework/framework.h"
#include "envgen/plan/launch.h"
#include "envgen/plan/parsed_command.h"
#include "envgen/resolve/resolve.h"
#include "tests/envgen/job_builder.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Plan plan_of(const Snapshot& snapshot, const Request& request) {
  Answer answer = resolve(snapshot, request);
  if (auto* planned = std::get_if<Planned>(&answer.outcome)) return planned->plan;
  if (auto* error = std::get_if<base::Error>(&answer.outcome)) ADD_FAILURE() << to_line(*error);
  ADD_FAILURE() << "no plan";
  return {};
}

// Two hosts named by the user: nothing but the command tells what they run.
Plan plan_of_two_hosts(const std::vector<std::string>& command) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin"});
  snapshot.facts.cwd = "/srv/job";
  snapshot.facts.run_dir = "/run/trainit";
  PathState directory;
  directory.kind = PathState::Kind::kDirectory;
  directory.writable = true;
  snapshot.paths["/run/trainit"] = directory;
  Request request = request_for(command);
  request.platform = "bare";
  request.hosts = "a:2,b:2";
  request.node_rank = 1;
  return plan_of(snapshot, request);
}

struct Named {
  std::vector<std::string> command;
  std::string_view framework;
};

TEST(FrameworkOfACommand, IsNoneOfAName) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"conda", "run", "-n", "deepspeed", "python", "train.py"},
           {"uv", "run", "--with", "deepspeed", "python", "train.py"},
           {"bash", "-c", "command -v torchrun; python train.py"},
           {"python", "-m", "xtuner.tools.train", "x"},
           {"python", "-m", "swift.cli._megatron.sft", "x"},
           {"mpirun.log"}}) {
    EXPECT_EQ(ParsedCommand(command).framework(), "") << command.back();
  }
  EXPECT_EQ(
      ParsedCommand(std::vector<std::string>{"conda", "run", "-n", "deepspeed", "torchrun", "x.py"})
          .framework(),
      "pytorch");
  EXPECT_EQ(ParsedCommand(std::vector<std::string>{"mpiexec.hydra", "./a"}).framework(), "mpi");
}

TEST(FrameworkOfACommand, IsTheOneWhoseLauncherItStarts) {
  const Named cases[] = {
      {{"torchrun", "x.py"}, "pytorch"},
      {{"/opt/conda/bin/torchrun", "x.py"}, "pytorch"},
      {{"python", "-m", "torch.distributed.run", "x.py"}, "pytorch"},
      {{"python3", "-u", "-m", "torch.distributed.launch", "x.py"}, "pytorch"},
      {{"python", "/opt/conda/bin/torchrun", "x.py"}, "pytorch"},
      {{"accelerate", "launch", "x.py"}, "pytorch"},
      {{"python", "-m", "accelerate.commands.launch", "x.py"}, "pytorch"},
      {{"deepspeed", "x.py"}, "deepspeed"},
      {{"python", "-m", "deepspeed.launcher.runner", "x.py"}, "deepspeed"},
      {{"horovodrun", "-np", "4", "python", "x.py"}, "horovod"},
      {{"mpirun", "-np", "4", "x"}, "mpi"},
      {{"/usr/bin/mpiexec.hydra", "x"}, "mpi"},
      {{"python", "train.py", "torchrun"}, ""},
      {{"python", "-m", "torch.utils.collect_env"}, ""},
      {{"python", "-c", "torchrun"}, ""},
      {{"bash", "-c", "torchrun x.py"}, ""},
      {{"./torchrun.sh"}, ""},
      {{}, ""},
  };
  for (const Named& named : cases) {
    const ParsedCommand command(named.command);
    EXPECT_EQ(command.is_launcher() ? command.framework() : "", named.framework)
        << (named.command.empty() ? "nothing" : named.command.back());
  }
}

TEST(FrameworkChoice, OfSeveralNodesIsTheCommands) {
  EXPECT_EQ(plan_of_two_hosts({"torchrun", "x.py"}).framework, "pytorch");
}

TEST(FrameworkChoice, WithoutAHintTheCommandRunsOnceAndThePlanSaysSo) {
  Plan plan = plan_of_two_hosts({"python", "x.py"});
  EXPECT_EQ(plan.framework, "single");
  EXPECT_THAT(plan.processes, SizeIs(1));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("--framework")));
}

TEST(FrameworkChoice, AnOptionThatNamesALauncherOfNoFrameworkIsWarnedOf) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin"});
  snapshot.facts.cwd = "/srv/job";
  Request request = request_for({"python3", "train.py"});
  request.ascend_launcher = AscendLauncher::kMsrun;
  EXPECT_THAT(
      plan_of(snapshot, request).warnings,
      Contains(AllOf(HasSubstr("--ascend-launcher is not used"), HasSubstr("--framework ascend"))));
  request.ascend_launcher.reset();
  request.torch_launcher = TorchLauncher::kTorchrun;
  EXPECT_THAT(
      plan_of(snapshot, request).warnings,
      Contains(AllOf(HasSubstr("--torch-launcher is not used"), HasSubstr("--framework pytorch"))));
  request.command = {"torchrun", "train.py"};
  EXPECT_THAT(plan_of(snapshot, request).warnings, IsEmpty());
}

TEST(FrameworkChoice, OfDevicesIsOneProcessForEach) {
  Snapshot snapshot = modelarts_snapshot({}, 1);
  EXPECT_EQ(plan_of(snapshot, request_for({"python", "train.py"})).framework, "ascend");
}

TEST(FrameworkChoice, ATypedLauncherIsStartedOnceANodeAndNotForEachDevice) {
  Snapshot snapshot = modelarts_snapshot({}, 1);
  Request request = request_for({"torchrun", "train.py"});
  request.master_addr = "job-worker-0";
  Plan plan = plan_of(snapshot, request);
  EXPECT_EQ(plan.framework, "pytorch");
  ASSERT_THAT(plan.processes, SizeIs(1));
  base::Environ env = snapshot.env;
  for (const base::EnvEdit& edit : plan.env) env.apply(edit);
  for (const base::EnvEdit& edit : plan.processes[0].env) env.apply(edit);
  EXPECT_EQ(env.get("PET_NPROC_PER_NODE"), "8");
  EXPECT_EQ(env.get("PET_NNODES"), "2");
  EXPECT_EQ(env.get("PET_NODE_RANK"), "1");
  EXPECT_EQ(env.get("RANK_TABLE_FILE"), std::nullopt);
}

TEST(FrameworkChoice, EveryTypedLauncherIsStartedOnceOnANodeOfDevices) {
  const Snapshot snapshot = modelarts_snapshot({}, 1);
  const Named cases[] = {
      {{"msrun", "--join=True", "train.py"}, "ascend"},
      {{"python", "-m", "mindspore.parallel.cluster.run", "train.py"}, "ascend"},
      {{"python", "-m", "paddle.distributed.launch", "train.py"}, "paddle"},
      {{"vllm", "serve", "model"}, "single"},
      {{"llamafactory-cli", "train", "x.yaml"}, "pytorch"},
      {{"bash", "-c", "cd /job && exec torchrun train.py"}, "pytorch"},
      {{"bash", "-lc", "msrun --join=True train.py"}, "ascend"},
      {{"timeout", "1h", "msrun", "--join=True", "train.py"}, "ascend"},
      {{"msprof", "torchrun", "--nproc_per_node=8", "train.py"}, "pytorch"},
      {{"nsys", "profile", "-o", "x", "torchrun", "train.py"}, "pytorch"},
      {{"python3", "-m", "cProfile", "-m", "torch.distributed.run", "train.py"}, "pytorch"},
      {{"msprof", "--application=msrun --join=True train.py"}, "ascend"},
      {{"site-start", "--nproc_per_node=8", "train.py"}, "pytorch"},
  };
  for (const Named& named : cases) {
    Request request = request_for(named.command);
    request.master_addr = "job-worker-0";
    const Plan plan = plan_of(snapshot, request);
    EXPECT_EQ(plan.framework, named.framework) << named.command.back();
    ASSERT_THAT(plan.processes, SizeIs(1)) << named.command.back();
    EXPECT_EQ(plan.processes[0].argv, named.command);
    request.ascend_launcher = AscendLauncher::kDynamic;
    EXPECT_THAT(plan_of(snapshot, request).processes, SizeIs(1)) << named.command.back();
  }
}

std::string refusal_of(const Snapshot& snapshot, const Request& request) {
  const Answer answer = resolve(snapshot, request);
  const auto* error = std::get_if<base::Error>(&answer.outcome);
  return error == nullptr ? "a plan" : to_line(*error);
}

// The boot script of ModelArts starts all ranks of a node itself.
TEST(FrameworkChoice, AScriptThatStartsAnotherCommandIsNotStartedForEachRank) {
  const Snapshot snapshot = modelarts_snapshot({}, 1);
  Request request = request_for({"python", "run_ascend.py", "python", "train.py"});
  const auto refused = AllOf(
      HasSubstr("run_ascend.py, which starts \"python train.py\" and would itself be started 8 "
                "times, once for each rank"),
      HasSubstr("name the training script alone: python train.py"));
  EXPECT_THAT(refusal_of(snapshot, request), refused);
  request.framework = "ascend";
  EXPECT_THAT(refusal_of(snapshot, request), refused);
  request.ascend_launcher = AscendLauncher::kMsrun;
  request.master_addr = "10.0.0.1";
  EXPECT_THAT(refusal_of(snapshot, request), refused);
  // The ways that the error names.
  request.framework = "single";
  EXPECT_THAT(plan_of(snapshot, request).processes, SizeIs(1));
  request = request_for({"python", "train.py"});
  EXPECT_THAT(plan_of(snapshot, request).processes, SizeIs(8));
}

TEST(FrameworkChoice, FanOutRefusesALauncherBehindAnyProgram) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin"});
  snapshot.facts.cwd = "/srv/job";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"torchrun", "--nproc-per-node", "8", "train.py"},
           {"nsys", "profile", "-o", "x", "torchrun", "--nproc-per-node", "8", "train.py"},
           {"python", "-m", "cProfile", "-m", "torch.distributed.run", "train.py"},
           {"uv", "run", "torchrun", "train.py"}}) {
    Request request = request_for(command);
    request.torch_launcher = TorchLauncher::kFanOut;
    request.framework = "pytorch";
    request.slots = 8;
    const Answer answer = resolve(snapshot, request);
    const auto* error = std::get_if<base::Error>(&answer.outcome);
    ASSERT_NE(error, nullptr) << command[0];
    EXPECT_THAT(error->found, HasSubstr("which starts the ranks by itself"));
    // The advice: the training script alone.
    request.command = {"python", "train.py"};
    EXPECT_THAT(plan_of(snapshot, request).processes, SizeIs(8));
  }
}

// Python's options in one word: the module's name is no path, and its neighbours are found.
TEST(FrameworkChoice, AModuleRunsInEachDevicesDirectoryWhateverStandsBeforeItsName) {
  for (const char* option : {"-m", "-um", "-Bum"}) {
    Snapshot snapshot = modelarts_snapshot({}, 1);
    Request request = request_for({"python3", option, "pkg.train", "--lr", "1"});
    request.framework = "ascend";
    const Plan plan = plan_of(snapshot, request);
    ASSERT_THAT(plan.processes, SizeIs(8)) << option;
    EXPECT_EQ(plan.processes[0].argv, request.command);
    EXPECT_THAT(plan.processes[0].env,
                Contains(testing::Field(&base::EnvEdit::name, std::string("PYTHONPATH"))))
        << option;
  }
}

TEST(FrameworkChoice, LlamaFactoryIsToldItsNodesAsItReadsThem) {
  const Snapshot snapshot = modelarts_snapshot({}, 1);
  Request request = request_for({"llamafactory-cli", "train", "x.yaml"});
  request.master_addr = "job-worker-0";
  const Plan plan = plan_of(snapshot, request);
  base::Environ env = snapshot.env;
  for (const base::EnvEdit& edit : plan.processes[0].env) env.apply(edit);
  EXPECT_EQ(env.get("NNODES"), "2");
  EXPECT_EQ(env.get("NODE_RANK"), "1");
  EXPECT_EQ(env.get("NPROC_PER_NODE"), "8");
  EXPECT_EQ(env.get("MASTER_ADDR"), "job-worker-0");
}

TEST(FrameworkChoice, AScriptThatIsStartedForEachDeviceIsWarnedOf) {
  const Snapshot snapshot = modelarts_snapshot({}, 1);
  const Plan plan = plan_of(snapshot, request_for({"bash", "run.sh"}));
  ASSERT_THAT(plan.processes, SizeIs(8));
  EXPECT_THAT(plan.warnings,
              Contains(AllOf(HasSubstr("run.sh is started 8 times"), HasSubstr("--framework"))));
  Request once = request_for({"bash", "run.sh"});
  once.framework = "single";
  EXPECT_THAT(plan_of(snapshot, once).processes, SizeIs(1));
}

TEST(FrameworkChoice, OneProcessOfAnIndexedJobNeedsNoCount) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin", "JOB_COMPLETION_INDEX=3"});
  snapshot.facts.cwd = "/srv/job";
  snapshot.facts.run_dir = "/run/trainit";
  snapshot.paths["/dev"].kind = PathState::Kind::kDirectory;
  snapshot.paths["/dev"].listed = true;
  snapshot.paths["/etc/hosts"] = {};
  Request request = request_for({"python", "x.py"});
  Plan plan = plan_of(snapshot, request);
  EXPECT_THAT(plan.processes, SizeIs(1));
  EXPECT_THAT(plan.warnings,
              Contains(AllOf(HasSubstr("runs once"), HasSubstr("JOB_COMPLETION_INDEX: an index"),
                             HasSubstr("--nodes"))));
  request.framework = "single";
  plan = plan_of(snapshot, request);
  EXPECT_THAT(plan.processes, SizeIs(1));
  EXPECT_THAT(plan.warnings, IsEmpty());
  EXPECT_THAT(plan.processes[0].env, IsEmpty());
  // Trainer's torchtune: its flags tell the nodes.
  request = request_for({"tune", "run", "--nnodes", "2", "--rdzv_endpoint", "a:1", "recipe"});
  EXPECT_THAT(plan_of(snapshot, request).processes, SizeIs(1));
  for (Request counts : {request_for({"torchrun", "x.py"}), request_for({"deepspeed", "x.py"}), [] {
                           Request fan_out = request_for({"python", "x.py"});
                           fan_out.framework = "pytorch";
                           return fan_out;
                         }()}) {
    const Answer answer = resolve(snapshot, counts);
    const auto* error = std::get_if<base::Error>(&answer.outcome);
    ASSERT_NE(error, nullptr) << counts.command[0];
    EXPECT_THAT(to_line(*error), HasSubstr("--nodes"));
  }
}

// Totals.

TEST(Totals, AnMpiJobOfOneNodeCountsItsRanks) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin"});
  snapshot.facts.cwd = "/srv/job";
  snapshot.facts.run_dir = "/run/trainit";
  Request request = request_for({"./train"});
  request.framework = "mpi";
  request.slots = 4;
  EXPECT_EQ(plan_of(snapshot, request).world_size, 4);
}

TEST(Totals, SlotsThatNothingStartsAreWarnedOf) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin"});
  Request request = request_for({"python3", "train.py"});
  request.slots = 4;
  EXPECT_THAT(plan_of(snapshot, request).warnings, Contains(HasSubstr("--fan-out")));
  request.framework = "single";
  EXPECT_THAT(plan_of(snapshot, request).warnings, IsEmpty());
  request = request_for({"torchrun", "train.py"});
  request.slots = 4;
  EXPECT_THAT(plan_of(snapshot, request).warnings, IsEmpty());
}

TEST(Totals, DevicesThatRanksWouldShareAreWarnedOf) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin", "CUDA_VISIBLE_DEVICES=0,1"});
  snapshot.facts.cwd = "/srv/job";
  snapshot.facts.run_dir = "/run/trainit";
  Request request = request_for({"python3", "train.py"});
  request.framework = "pytorch";
  request.torch_launcher = TorchLauncher::kFanOut;
  request.slots = 4;
  EXPECT_THAT(plan_of(snapshot, request).warnings,
              Contains(HasSubstr("CUDA_VISIBLE_DEVICES: a process sees 2 devices, and this node "
                                 "runs 4 ranks")));
  request.slots = 2;
  EXPECT_THAT(plan_of(snapshot, request).warnings, IsEmpty());
}

TEST(FrameworkChoice, TheUsersWordBeatsAll) {
  Snapshot snapshot = modelarts_snapshot({}, 1);
  Request request = request_for({"torchrun", "train.py"});
  request.framework = "single";
  EXPECT_EQ(plan_of(snapshot, request).framework, "single");
}

TEST(FrameworkChoice, OnALaptopNothingIsAdded) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin"});
  for (const char* program : {"torchrun", "deepspeed", "mpirun", "python"}) {
    Request request = request_for({program, "x.py"});
    // An image may set it for whatever platform comes.
    request.torch_launcher = TorchLauncher::kTorchrun;
    Plan plan = plan_of(snapshot, request);
    EXPECT_EQ(plan.framework, "single") << program;
    EXPECT_THAT(plan.processes[0].env, IsEmpty()) << program;
    EXPECT_TRUE(is_pass_through(snapshot.env, request)) << program;
  }
}

TEST(FrameworkChoice, AnUnknownNameListsTheKnownOnes) {
  Request request = request_for({"x"});
  request.framework = "caffe";
  Answer answer = resolve(Snapshot{}, request);
  const auto* error = std::get_if<base::Error>(&answer.outcome);
  ASSERT_NE(error, nullptr);
  for (const FrameworkLauncher* launcher : framework_launchers()) {
    EXPECT_THAT(error->fix, HasSubstr(std::string(launcher->name)));
  }
}

TEST(FrameworkChoice, EachReasonChoosesOneLauncher) {
  for (const ChosenBy reason :
       {ChosenBy::kNobody, ChosenBy::kTfConfig, ChosenBy::kDevices, ChosenBy::kOwnRank,
        ChosenBy::kTorchLauncher, ChosenBy::kAscendLauncher}) {
    const auto count = std::ranges::count_if(framework_launchers(), [reason](const auto* launcher) {
      return std::ranges::find(launcher->chosen_by, reason) != launcher->chosen_by.end();
    });
    EXPECT_EQ(count, 1) << static_cast<int>(reason);
  }
}

// Output.

TEST(Output, TheFirstProcessOfANodeSpeaksUnlessToldOtherwise) {
  Request request;
  EXPECT_TRUE(inherits_output(request, 0));
  EXPECT_FALSE(inherits_output(request, 1));
  request.output = Output::kInherit;
  EXPECT_TRUE(inherits_output(request, 7));
  request.output = Output::kFiles;
  EXPECT_FALSE(inherits_output(request, 0));
}

// Finding programs.

TEST(FindProgram, TakesTheFirstFileAndSkipsDirectories) {
  Snapshot snapshot;
  snapshot.facts.cwd = "/srv/job";
  snapshot.paths["/a/x"].kind = PathState::Kind::kDirectory;
  snapshot.paths["/srv/job/bin/x"].kind = PathState::Kind::kFile;
  snapshot.paths["/srv/job/x"].kind = PathState::Kind::kFile;
  Request request;
  Inputs inputs(snapshot, request);
  EXPECT_EQ(find_program(inputs, "/a:bin:/never", "x").path, "/srv/job/bin/x");
  // An empty element is the current directory.
  EXPECT_EQ(find_program(inputs, "/a::/never", "x").path, "/srv/job/x");
}

TEST(FindProgram, IsNotKnownBeforeEveryEarlierPlaceWasLookedAt) {
  Snapshot snapshot;
  snapshot.paths["/b/x"].kind = PathState::Kind::kFile;
  Request request;
  Inputs inputs(snapshot, request);
  EXPECT_FALSE(find_program(inputs, "/a:/b:/c", "x").known);
  EXPECT_THAT(inputs.wants(), Contains(Want{"/a/x", false}));
  EXPECT_THAT(inputs.wants(), Contains(Want{"/c/x", false}));
  snapshot.paths["/a/x"] = {};
  EXPECT_EQ(find_program(inputs, "/a:/b:/c", "x").path, "/b/x");
}

TEST(FindProgram, AnEmptyPathIsTheCurrentDirectory) {
  Snapshot snapshot;
  snapshot.facts.cwd = "/srv/job";
  snapshot.paths["/srv/job/x"].kind = PathState::Kind::kFile;
  Request request;
  Inputs inputs(snapshot, request);
  EXPECT_EQ(find_program(inputs, "", "x").path, "/srv/job/x");
  EXPECT_EQ(find_program(inputs, "/a", "./x").path, "/srv/job/x");
}

}  // namespace
}  // namespace envgen
