#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<int> kTwoByFour = {4, 4};

LauncherCase in_image(std::vector<std::string> command, const std::vector<int>& slots,
                      int node_rank) {
  LauncherCase job(std::move(command), slots, node_rank);
  job.with_programs({"/usr/bin/python", "/usr/bin/torchrun"});
  return job;
}

LauncherCase with_torchrun(std::vector<std::string> command, const std::vector<int>& slots,
                           int node_rank) {
  LauncherCase job = in_image(std::move(command), slots, node_rank);
  job.request.torch_launcher = TorchLauncher::kTorchrun;
  return job;
}

std::string only_command(const LauncherCase& job) {
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_THAT(plan.processes, SizeIs(1));
  return plan.processes.empty() ? "" : line_of(plan.processes[0].argv);
}

// Who starts the ranks.

TEST(PyTorch, TrainitStartsTheRanksThatTorchrunWould) {
  const Plan plan = in_image({"python", "train.py"}, kTwoByFour, 1).planned(kLaunchPytorch);
  ASSERT_THAT(plan.processes, SizeIs(4));
  EXPECT_EQ(plan.processes[3].name, "rank-7");
  EXPECT_EQ(line_of(plan.processes[3].argv), "python -u train.py");
  EXPECT_FALSE(plan.free_master_port) << "all nodes have to agree on it";
}

TEST(PyTorch, WhatOnlyAnAgentCanDoIsTorchruns) {
  LauncherCase range = in_image({"python", "train.py"}, {4, 4, 4}, 1);
  range.resolved.platform.min_nodes = 2;
  EXPECT_THAT(only_command(range), HasSubstr("torchrun --nproc_per_node=4 --nnodes=2:3"));
  LauncherCase asked = in_image({"python", "train.py"}, kTwoByFour, 1);
  asked.with_environment({"PET_NNODES=2", "PET_NPROC_PER_NODE=4", "PET_TEE="});
  EXPECT_THAT(asked.planned(kLaunchPytorch).processes, SizeIs(4));
  asked.with_environment({"PET_MAX_RESTARTS=3"});
  EXPECT_THAT(only_command(asked), HasSubstr("torchrun --nproc_per_node=4"));
}

TEST(PyTorch, OneNodesRanksMeetAtAFreePortUnlessOneIsNamed) {
  LauncherCase job = in_image({"python", "train.py"}, {8}, 0);
  EXPECT_TRUE(job.planned(kLaunchPytorch).free_master_port);
  job.request.master_port = 29501;
  const Plan plan = job.planned(kLaunchPytorch);
  EXPECT_FALSE(plan.free_master_port);
  EXPECT_EQ(job.variable(plan, plan.processes[7], "MASTER_PORT"), "29501");
}

// torchrun.

TEST(PyTorch, TorchrunMeetsAtTheFirstNode) {
  EXPECT_EQ(only_command(with_torchrun({"python", "train.py", "--lr", "1"}, kTwoByFour, 0)),
            "torchrun --nproc_per_node=4 --nnodes=2 --node_rank=0 --master_addr=host-0 "
            "--master_port=29500 train.py --lr 1");
  EXPECT_EQ(only_command(with_torchrun({"python", "train.py", "--lr", "1"}, kTwoByFour, 1)),
            "torchrun --nproc_per_node=4 --nnodes=2 --node_rank=1 --master_addr=host-0 "
            "--master_port=29500 train.py --lr 1");
}

TEST(PyTorch, ThePlatformsMasterAndThenTheUsersComeFirst) {
  LauncherCase job = with_torchrun({"python", "train.py"}, kTwoByFour, 1);
  job.resolved.cluster.master_addr = "job-master-0";
  job.resolved.cluster.master_port = 23456;
  EXPECT_THAT(only_command(job), HasSubstr("--master_addr=job-master-0 --master_port=23456"));
  job.request.master_addr = "fd00::2";
  job.request.master_port = 2222;
  EXPECT_THAT(only_command(job), HasSubstr("--master_addr=[fd00::2] --master_port=2222"));
}

TEST(PyTorch, OneNodeTakesAFreePortUnlessOneIsNamed) {
  LauncherCase job = with_torchrun({"python", "train.py"}, {8}, 0);
  EXPECT_EQ(only_command(job),
            "torchrun --nproc_per_node=8 --nnodes=1 --rdzv_backend=c10d "
            "--rdzv_endpoint=localhost:0 train.py");
  job.request.master_port = 29501;
  EXPECT_EQ(only_command(job),
            "torchrun --nproc_per_node=8 --nnodes=1 --node_rank=0 --master_addr=127.0.0.1 "
            "--master_port=29501 train.py");
}

TEST(PyTorch, OneNodeWithoutANetworkCannotResolveItsOwnName) {
  LauncherCase job = with_torchrun({"python", "train.py"}, {2}, 0);
  job.snapshot.facts.addresses.clear();
  EXPECT_THAT(only_command(job), HasSubstr("--master_addr=127.0.0.1 --master_port=29500"));
}

TEST(PyTorch, WithoutAClusterTheDevicesOfTheNodeAreCounted) {
  LauncherCase gpus = with_torchrun({"python", "train.py"}, {}, 0);
  gpus.with_devices({"nvidia0", "nvidia1", "nvidiactl"});
  EXPECT_THAT(only_command(gpus), HasSubstr("--nproc_per_node=2 --nnodes=1"));
  EXPECT_EQ(gpus.planned(kLaunchPytorch).world_size, 2);
  LauncherCase cpu = with_torchrun({"python", "train.py"}, {}, 0);
  cpu.with_devices({"null"});
  EXPECT_THAT(only_command(cpu), HasSubstr("--nproc_per_node=1 --nnodes=1"));
}

TEST(PyTorch, NodesMayHaveDifferentNumbersOfRanks) {
  EXPECT_THAT(only_command(with_torchrun({"python", "train.py"}, {8, 2}, 1)),
              HasSubstr("--nproc_per_node=2 --nnodes=2 --node_rank=1"));
}

TEST(PyTorch, AModuleStaysAModule) {
  EXPECT_THAT(only_command(with_torchrun({"python", "-u", "-m", "pkg.train", "-x"}, kTwoByFour, 0)),
              HasSubstr("--master_port=29500 -m pkg.train -x"));
}

TEST(PyTorch, PythonOptionsAndTextsReachTheWorkersAsTheyAre) {
  LauncherCase job = with_torchrun({"python", "-W", "ignore", "-m", "pkg"}, kTwoByFour, 0);
  EXPECT_THAT(only_command(job),
              HasSubstr("--master_port=29500 --no_python python -W ignore -m pkg"));
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "PYTHONUNBUFFERED"), "1");
  EXPECT_THAT(only_command(with_torchrun({"python", "-c", "import x"}, kTwoByFour, 0)),
              HasSubstr("--no_python python -c import x"));
}

TEST(PyTorch, ARangeOfNodesMeetsByC10d) {
  LauncherCase job = with_torchrun({"python", "train.py"}, {4, 4, 4}, 1);
  job.resolved.platform.min_nodes = 2;
  job.resolved.platform.job_id = "job-7";
  job.resolved.platform.torch_launcher = TorchLauncher::kLaunch;
  job.request.torch_launcher.reset();
  EXPECT_EQ(only_command(job),
            "torchrun --nproc_per_node=4 --nnodes=2:3 --rdzv_backend=c10d "
            "--rdzv_endpoint=host-0:29500 --rdzv_id=job-7 --rdzv_conf=is_host=0 train.py");
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_MAX_RESTARTS"), "3");
  job.resolved.local_node.node_rank = 0;
  job.with_environment({"PET_RDZV_CONF=join_timeout=900", "PET_MAX_RESTARTS=9"});
  EXPECT_THAT(only_command(job), HasSubstr("--rdzv_conf=is_host=1,join_timeout=900"));
  plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_MAX_RESTARTS"), "9");
}

TEST(PyTorch, AGivenRendezvousReachesTorchrunAsItIs) {
  for (const char* launcher : {"", "torchrun"}) {
    LauncherCase job = in_image({"python", "train.py"}, kTwoByFour, 1);
    if (*launcher != '\0') job.request.torch_launcher = TorchLauncher::kTorchrun;
    job.with_environment({"PET_NNODES=2", "PET_RDZV_BACKEND=etcd-v2", "PET_RDZV_ENDPOINT=etcd:2379",
                          "PET_RDZV_ID=run", "PET_RDZV_CONF=protocol=http"});
    job.resolved.cluster.nodes[0].host = "";
    EXPECT_EQ(only_command(job),
              "torchrun --nproc_per_node=4 --nnodes=2 --rdzv_backend=etcd-v2 "
              "--rdzv_endpoint=etcd:2379 --rdzv_id=run --rdzv_conf=protocol=http train.py");
    const Plan plan = job.planned(kLaunchPytorch);
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_RDZV_BACKEND"), "etcd-v2");
    EXPECT_TRUE(plan.elastic_launcher);
  }
}

// An image's variables may be of another job.
TEST(PyTorch, TheNumberOfNodesIsThePlansWhateverTheImageSays) {
  LauncherCase job = in_image({"python", "train.py"}, {4, 4, 4}, 1);
  job.with_environment({"PET_NNODES=2", "PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=a:29400"});
  EXPECT_THAT(only_command(job),
              HasSubstr("--nnodes=3 --rdzv_backend=c10d --rdzv_endpoint=a:29400"));
  LauncherCase range = with_torchrun({"python", "train.py"}, {4, 4, 4}, 1);
  range.resolved.platform.min_nodes = 2;
  range.with_environment({"PET_RDZV_BACKEND=static", "PET_RDZV_ID=old"});
  EXPECT_THAT(only_command(range),
              HasSubstr("--nnodes=2:3 --rdzv_backend=c10d --rdzv_endpoint=host-0:29500 "
                        "--rdzv_id=trainit "));
}

TEST(PyTorch, AMissingMasterIsAnError) {
  LauncherCase job = with_torchrun({"python", "train.py"}, kTwoByFour, 1);
  job.resolved.cluster.nodes[0].host = "";
  EXPECT_THAT(job.error(kLaunchPytorch), HasSubstr("--master-addr"));
  job.request.torch_launcher = TorchLauncher::kFanOut;
  EXPECT_THAT(job.error(kLaunchPytorch), HasSubstr("--master-addr"));
}

TEST(PyTorch, ANodeWithoutRanksIsAnError) {
  EXPECT_THAT(with_torchrun({"python", "train.py"}, {4, 0}, 0).error(kLaunchPytorch),
              AllOf(HasSubstr("node 1"), HasSubstr("--slots")));
}

// Which launcher the image has.

struct Lookup {
  const char* python;
  std::vector<std::string> programs;
  const char* command;      // what the planned one starts with
  const char* python_exec;  // what torchrun's workers are told to use
};

TEST(PyTorch, UsesTheTorchrunOfItsPythonOrPathsOrTheOldLauncher) {
  const Lookup cases[] = {
      {"python", {"/usr/bin/python", "/usr/bin/torchrun"}, "torchrun --nproc", "(unset)"},
      {"python", {"/usr/bin/python", "/opt/bin/torchrun"}, "torchrun --nproc", "python"},
      {"/env/bin/python",
       {"/env/bin/python", "/env/bin/torchrun"},
       "/env/bin/torchrun --nproc",
       "(unset)"},
      {"/env/bin/python",
       {"/env/bin/python", "/env/bin/torchrun", "/usr/bin/torchrun"},
       "/env/bin/torchrun --nproc",
       "(unset)"},
      {"/env/bin/python",
       {"/env/bin/python", "/usr/bin/torchrun"},
       "torchrun --nproc",
       "/env/bin/python"},
      {"python", {"/usr/bin/python"}, "python -m torch.distributed.launch --nproc", "(unset)"},
      {"/env/bin/python",
       {"/env/bin/python"},
       "/env/bin/python -m torch.distributed.launch",
       "(unset)"},
      // A plan for another image: nothing is known about it.
      {"python", {}, "torchrun --nproc", "(unset)"},
  };
  for (const Lookup& lookup : cases) {
    LauncherCase job({lookup.python, "train.py"}, kTwoByFour, 1);
    job.snapshot.env = base::Environ({"PATH=/usr/bin:/opt/bin", "PET_ROLE=trainer"});
    for (const char* place :
         {"/opt/bin/python", "/opt/bin/torchrun", "/env/bin/python", "/env/bin/torchrun"}) {
      job.snapshot.paths[place] = {};
    }
    job.with_programs(lookup.programs);
    Plan plan = job.planned(kLaunchPytorch);
    ASSERT_THAT(plan.processes, SizeIs(1));
    EXPECT_THAT(line_of(plan.processes[0].argv), testing::StartsWith(lookup.command));
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PYTHON_EXEC"), lookup.python_exec)
        << lookup.command;
    const bool old = std::string_view(lookup.command).contains("torch.distributed.launch");
    EXPECT_EQ(!plan.warnings.empty() && plan.warnings[0].starts_with("no torchrun was found: "),
              old)
        << lookup.command;
  }
}

TEST(PyTorch, LooksInThePathThatThePlanMakes) {
  LauncherCase job = with_torchrun({"python", "train.py"}, kTwoByFour, 0);
  job.plan.env = {{base::EnvEdit::Kind::kPrependPath, "PATH", "/conda/bin"}};
  job.with_programs({"/usr/bin/python", "/usr/bin/torchrun", "/conda/bin/python"});
  job.snapshot.paths["/conda/bin/torchrun"] = {};
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "PYTHON_EXEC"), "python");
}

TEST(PyTorch, AsksForAllPlacesAtOnce) {
  LauncherCase job({"python", "train.py"}, kTwoByFour, 0);
  job.snapshot.env = base::Environ({"PATH=/a:/b"});
  Inputs inputs(job.snapshot, job.request);
  Plan plan;
  ASSERT_TRUE(kLaunchPytorch(inputs, job.resolved, plan).has_value());
  EXPECT_THAT(inputs.wants(), SizeIs(4));
  EXPECT_THAT(plan.processes, IsEmpty());
}

// torch.distributed.launch, by the rules of the task-training platform.

LauncherCase vk(std::vector<std::string> command, int node_rank) {
  LauncherCase job(std::move(command), kTwoByFour, node_rank);
  PlatformFacts& platform = job.resolved.platform;
  platform.torch_launcher = TorchLauncher::kLaunch;
  platform.master_is_localhost = true;
  platform.prefix_bare_python_only = true;
  platform.env = {{base::EnvEdit::Kind::kSet, "WORLD_SIZE", "2"},
                  {base::EnvEdit::Kind::kSet, "RANK", std::to_string(node_rank)},
                  {base::EnvEdit::Kind::kSet, "SLOTS", "4"},
                  {base::EnvEdit::Kind::kSet, "MASTER_ADDR", "host-0"},
                  {base::EnvEdit::Kind::kSet, "MASTER_PORT", "2222"}};
  job.resolved.cluster.master_port = 2222;
  return job;
}

TEST(PyTorchOnVk, PutsTheLauncherBeforeABarePython) {
  LauncherCase first = vk({"python", "/workspace/algorithm/train.py", "--lr=1"}, 0);
  EXPECT_EQ(only_command(first.with_programs({"/usr/bin/python"})),
            "python -m torch.distributed.launch --nproc_per_node=4 --nnodes=2 --node_rank=0 "
            "--master_addr=localhost --master_port=2222 /workspace/algorithm/train.py --lr=1");
  EXPECT_EQ(only_command(vk({"python3", "/workspace/algorithm/train.py"}, 1)),
            "python3 -m torch.distributed.launch --nproc_per_node=4 --nnodes=2 --node_rank=1 "
            "--master_addr=host-0 --master_port=2222 /workspace/algorithm/train.py");
}

// Its agent tells every node's workers to meet at the address of the first one's flag.
TEST(PyTorchOnVk, NamesTheMasterToALauncherThatPublishesItsAddress) {
  LauncherCase job = vk({"python", "train.py"}, 0);
  job.with_programs({"/usr/bin/python", "/usr/bin/torchrun"});
  EXPECT_EQ(only_command(job),
            "python -m torch.distributed.launch --nproc_per_node=4 --nnodes=2 --node_rank=0 "
            "--master_addr=host-0 --master_port=2222 train.py");
}

TEST(PyTorchOnVk, LeavesEverythingElseAlone) {
  const std::vector<std::vector<std::string>> commands = {
      {"python", "-m", "torch.distributed.launch", "--nnodes=2", "x.py"},
      {"python", "run.py", "--with=torch.distributed.launch"},
      {"/opt/conda/bin/python", "x.py"},
      {"python3.10", "x.py"},
      {"torchrun", "--nnodes", "2", "x.py"},
      {"bash", "-c", "torchrun --nnodes ${WORLD_SIZE} --node_rank ${RANK} x.py"},
  };
  for (const std::vector<std::string>& command : commands) {
    LauncherCase job = vk(command, 1);
    Plan plan = job.planned(kLaunchPytorch);
    ASSERT_THAT(plan.processes, SizeIs(1));
    const Process& process = plan.processes[0];
    EXPECT_EQ(process.argv, command);
    EXPECT_EQ(job.variable(plan, process, "WORLD_SIZE"), "2") << command[0];
    EXPECT_EQ(job.variable(plan, process, "RANK"), "1") << command[0];
    EXPECT_EQ(job.variable(plan, process, "MASTER_ADDR"), "host-0") << command[0];
    EXPECT_EQ(job.variable(plan, process, "MASTER_PORT"), "2222") << command[0];
  }
}

TEST(PyTorchOnVk, FanOutAndTorchrunOnRequest) {
  LauncherCase job = vk({"/opt/conda/bin/python", "x.py"}, 1);
  job.request.torch_launcher = TorchLauncher::kFanOut;
  job.with_programs({"/opt/conda/bin/python"});
  EXPECT_THAT(job.planned(kLaunchPytorch).processes, SizeIs(4));
}

TEST(PyTorchLaunch, ReportsWhatTheOldLauncherCannotDo) {
  LauncherCase job({"python", "-c", "x"}, kTwoByFour, 0);
  job.request.torch_launcher = TorchLauncher::kLaunch;
  EXPECT_THAT(job.error(kLaunchPytorch), HasSubstr("--fan-out"));
  LauncherCase mixed({"python", "x.py"}, {4, 2}, 0);
  mixed.request.torch_launcher = TorchLauncher::kLaunch;
  EXPECT_THAT(mixed.error(kLaunchPytorch), HasSubstr("different numbers of ranks"));
  LauncherCase elastic({"python", "x.py"}, kTwoByFour, 0);
  elastic.request.torch_launcher = TorchLauncher::kLaunch;
  elastic.resolved.platform.min_nodes = 1;
  EXPECT_THAT(elastic.error(kLaunchPytorch), HasSubstr("a range of nodes"));
}

TEST(PyTorchLaunch, KeepsPythonsOptionsForItselfAndSaysSo) {
  LauncherCase job({"python", "-W", "ignore", "-m", "pkg"}, kTwoByFour, 0);
  job.request.torch_launcher = TorchLauncher::kLaunch;
  EXPECT_EQ(only_command(job),
            "python -W ignore -m torch.distributed.launch --nproc_per_node=4 --nnodes=2 "
            "--node_rank=0 --master_addr=host-0 --master_port=29500 -m pkg");
  EXPECT_THAT(job.planned(kLaunchPytorch).warnings, Contains(HasSubstr("does not pass -W")));
}

// A launcher that the user typed.

// Each node would be a job of its own.
TEST(PyTorchTyped, TheNumbersOfAnImageDoNotCountForAJobOfSeveralNodes) {
  LauncherCase torchrun({"torchrun", "train.py"}, kTwoByFour, 1);
  torchrun.with_environment(
      {"PET_NNODES=1", "PET_NODE_RANK=0", "PET_MASTER_ADDR=localhost", "PET_MASTER_PORT=1"});
  const Plan plan = torchrun.planned(kLaunchPytorch);
  EXPECT_EQ(torchrun.variable(plan, plan.processes[0], "PET_NNODES"), "2");
  EXPECT_EQ(torchrun.variable(plan, plan.processes[0], "PET_NODE_RANK"), "1");
  EXPECT_EQ(torchrun.variable(plan, plan.processes[0], "PET_MASTER_ADDR"), "host-0");
  EXPECT_EQ(torchrun.variable(plan, plan.processes[0], "PET_MASTER_PORT"), "29500");
  LauncherCase faster({"torchrun", "train.py"}, kTwoByFour, 1);
  faster.with_environment({"PET_MASTER_ADDR=host-0-ib", "PET_MASTER_PORT=1234"});
  const Plan chosen = faster.planned(kLaunchPytorch);
  EXPECT_EQ(faster.variable(chosen, chosen.processes[0], "PET_MASTER_ADDR"), "host-0-ib");
  EXPECT_EQ(faster.variable(chosen, chosen.processes[0], "PET_MASTER_PORT"), "1234");
  LauncherCase factory({"llamafactory-cli", "train", "a.yaml"}, kTwoByFour, 1);
  factory.with_environment({"NNODES=1", "NODE_RANK=0"});
  const Plan other = factory.planned(kLaunchPytorch);
  EXPECT_EQ(factory.variable(other, other.processes[0], "NNODES"), "2");
  EXPECT_EQ(factory.variable(other, other.processes[0], "NODE_RANK"), "1");
}

TEST(PyTorchTyped, TorchrunGetsDefaultsThatItsFlagsBeat) {
  LauncherCase job({"torchrun", "train.py"}, kTwoByFour, 1);
  job.with_environment({"PET_NPROC_PER_NODE=auto"});
  Plan plan = job.planned(kLaunchPytorch);
  const Process& process = plan.processes[0];
  EXPECT_EQ(line_of(process.argv), "torchrun train.py");
  EXPECT_EQ(job.variable(plan, process, "PET_NNODES"), "2");
  EXPECT_EQ(job.variable(plan, process, "PET_NODE_RANK"), "1");
  EXPECT_EQ(job.variable(plan, process, "PET_NPROC_PER_NODE"), "auto");
  EXPECT_EQ(job.variable(plan, process, "PET_MASTER_ADDR"), "host-0");
  EXPECT_EQ(job.variable(plan, process, "PET_MASTER_PORT"), "29500");
  EXPECT_EQ(job.variable(plan, process, "MASTER_ADDR"), "host-0");
  EXPECT_EQ(job.variable(plan, process, "MASTER_PORT"), "29500");
}

// Old operators tell the first node's command that the master is localhost. Its agent publishes
// that to the workers of all nodes.
TEST(PyTorchTyped, AnAgentDoesNotPublishLocalhost) {
  const std::vector<std::vector<std::string>> commands = {
      {"torchrun", "--nnodes=2", "--master_addr", "localhost", "x.py"},
      {"torchrun", "--master-addr=127.0.0.1", "x.py", "--master_addr=localhost"},
      {"python", "-m", "torch.distributed.launch", "--master_addr=localhost", "x.py"},
      {"bash", "-c", "cd /job && torchrun --nnodes 2 --master_addr=\"localhost\" x.py"}};
  for (const std::vector<std::string>& command : commands) {
    LauncherCase job(command, kTwoByFour, 0);
    const Plan plan = job.planned(kLaunchPytorch);
    const std::string line = line_of(plan.processes[0].argv);
    EXPECT_THAT(line, testing::ContainsRegex("--master.addr[= ]\"?host-0"));
    EXPECT_EQ(line.ends_with("--master_addr=localhost"),
              command.back() == "--master_addr=localhost")
        << "a script's flags are its own";
    EXPECT_THAT(plan.warnings, Contains(HasSubstr("is changed to host-0")));
    job.resolved.local_node.node_rank = 1;
    EXPECT_THAT(job.error(kLaunchPytorch), HasSubstr("on node 1 of 2"));
    job.request.master_addr = "localhost";
    EXPECT_EQ(job.planned(kLaunchPytorch).processes[0].argv, command) << "two on one host";
  }
}

TEST(PyTorchTyped, AModulesFlagsAreItsOwn) {
  const std::vector<std::string> command = {"torchrun",  "--nnodes",      "2",        "-m",
                                            "pkg.train", "--master_addr", "localhost"};
  for (const int rank : {0, 1}) {
    EXPECT_EQ(LauncherCase(command, kTwoByFour, rank).planned(kLaunchPytorch).processes[0].argv,
              command);
  }
}

TEST(PyTorchTyped, ARangeStandsInItsOwnCommand) {
  LauncherCase job({"bash", "-c", "python prep.py && torchrun --nnodes 1:4 train.py"}, kTwoByFour,
                   0);
  EXPECT_TRUE(job.planned(kLaunchPytorch).elastic_launcher);
}

TEST(PyTorchTyped, AJobOfOneNodeMayMeetAtLocalhost) {
  const std::vector<std::string> command = {"torchrun", "--nnodes=1", "--master_addr=localhost",
                                            "x.py"};
  for (const std::vector<int>& slots : {std::vector<int>{4}, kTwoByFour}) {
    const Plan plan = LauncherCase(command, slots, 0).planned(kLaunchPytorch);
    EXPECT_EQ(plan.processes[0].argv, command);
    EXPECT_THAT(plan.warnings, testing::Not(Contains(HasSubstr("is changed"))));
  }
}

TEST(PyTorchTyped, ARangeOfNodesIsToldByVariables) {
  LauncherCase job({"torchrun", "train.py"}, {4, 4, 4}, 1);
  job.resolved.platform.min_nodes = 2;
  Plan plan = job.planned(kLaunchPytorch);
  const Process& process = plan.processes[0];
  EXPECT_EQ(job.variable(plan, process, "PET_NNODES"), "2:3");
  EXPECT_EQ(job.variable(plan, process, "PET_RDZV_BACKEND"), "c10d");
  EXPECT_EQ(job.variable(plan, process, "PET_RDZV_ENDPOINT"), "host-0:29500");
  EXPECT_EQ(job.variable(plan, process, "PET_NODE_RANK"), "(unset)");
}

TEST(PyTorchTyped, ARendezvousIsNoMaster) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"torchrun", "train.py"}, {"bash", "run.sh"}}) {
    LauncherCase job(command, kTwoByFour, 1);
    job.with_environment({"PET_NNODES=2", "PET_RDZV_BACKEND=etcd", "PET_RDZV_ENDPOINT=etcd:2379",
                          "PET_RDZV_ID=run"});
    job.resolved.platform.min_nodes = 2;
    job.resolved.cluster.nodes[0].host = "";
    const Plan plan = job.planned(kLaunchPytorch);
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "PET_MASTER_ADDR", "PET_NODE_RANK"}) {
      EXPECT_EQ(job.variable(plan, plan.processes[0], name), "(unset)") << name;
    }
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_RDZV_BACKEND"), "etcd");
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_RDZV_ENDPOINT"), "etcd:2379");
    EXPECT_TRUE(plan.elastic_launcher) << "a node may come again";
  }
}

TEST(PyTorchTyped, StandaloneMustNotWaitForOtherNodes) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"torchrun", "--standalone", "x.py"},
        std::vector<std::string>{"bash", "-c", "torchrun --standalone x.py"}}) {
    LauncherCase job(command, kTwoByFour, 1);
    Plan plan = job.planned(kLaunchPytorch);
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_NNODES"), "(unset)");
  }
}

TEST(PyTorchTyped, OtherLaunchersAndProgramsGetTheMasterOnly) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"accelerate", "launch", "x.py"},
        std::vector<std::string>{"python", "-m", "accelerate.commands.launch", "x.py"},
        std::vector<std::string>{"/usr/bin/python", "/usr/bin/deepspeed", "x.py"},
        std::vector<std::string>{"./run.sh"}}) {
    LauncherCase job(command, kTwoByFour, 1);
    Plan plan = job.planned(kLaunchPytorch);
    ASSERT_THAT(plan.processes, SizeIs(1));
    EXPECT_EQ(plan.processes[0].argv, command);
    EXPECT_EQ(job.variable(plan, plan.processes[0], "MASTER_ADDR"), "host-0");
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_NNODES"), "(unset)");
  }
}

TEST(PyTorchTyped, AScriptStillReadsItsPlatformsVariables) {
  LauncherCase job({"bash", "run.sh"}, kTwoByFour, 1);
  job.with_environment({"RANK=1", "WORLD_SIZE=2"});
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "RANK"), "1");
  EXPECT_EQ(job.variable(plan, plan.processes[0], "WORLD_SIZE"), "2");
}

// Stale variables.

const std::vector<std::string> kStale = {"RANK=7",        "LOCAL_RANK=0,1,2,3",
                                         "WORLD_SIZE=64", "LOCAL_WORLD_SIZE=3",
                                         "GROUP_RANK=9",  "TORCHELASTIC_USE_AGENT_STORE=True"};

TEST(PyTorchStale, AreUnsetForAnAgent) {
  LauncherCase job = with_torchrun({"python", "train.py"}, kTwoByFour, 1);
  job.with_environment(kStale);
  job.with_environment({"PET_RDZV_BACKEND=etcd", "PET_STANDALONE=1", "PET_NO_PYTHON=1"});
  Plan plan = job.planned(kLaunchPytorch);
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                           "PET_RDZV_BACKEND", "PET_STANDALONE", "PET_NO_PYTHON"}) {
    EXPECT_EQ(job.variable(plan, plan.processes[0], name), "(unset)") << name;
  }
  LauncherCase typed({"torchrun", "train.py"}, kTwoByFour, 1);
  typed.with_environment(kStale);
  plan = typed.planned(kLaunchPytorch);
  EXPECT_EQ(typed.variable(plan, plan.processes[0], "RANK"), "(unset)");
}

TEST(PyTorchStale, AreOverwrittenForARank) {
  LauncherCase job({"python", "train.py"}, kTwoByFour, 1);
  job.request.torch_launcher = TorchLauncher::kFanOut;
  job.with_environment(kStale);
  Plan plan = job.planned(kLaunchPytorch);
  ASSERT_THAT(plan.processes, SizeIs(4));
  const Process& last = plan.processes[3];
  EXPECT_EQ(job.variable(plan, last, "RANK"), "7");
  EXPECT_EQ(job.variable(plan, plan.processes[0], "RANK"), "4");
  EXPECT_EQ(job.variable(plan, last, "LOCAL_RANK"), "3");
  EXPECT_EQ(job.variable(plan, last, "WORLD_SIZE"), "8");
  EXPECT_EQ(job.variable(plan, last, "LOCAL_WORLD_SIZE"), "4");
  EXPECT_EQ(job.variable(plan, last, "GROUP_RANK"), "1");
  EXPECT_EQ(job.variable(plan, last, "TORCHELASTIC_USE_AGENT_STORE"), "False");
  EXPECT_EQ(job.variable(plan, last, "TORCHELASTIC_SIGNALS_TO_HANDLE"), "(unset)");
}

TEST(PyTorchStale, ARankTableOfTheplatformIsHiddenFromTorchNpu) {
  LauncherCase job({"torchrun", "x.py"}, kTwoByFour, 0);
  job.resolved.cluster.rank_table = "{}";
  job.with_environment({"RANK_TABLE_FILE=/user/config"});
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "RANK_TABLE_FILE"), "(unset)");
}

// --fan-out.

LauncherCase fan_out(std::vector<std::string> command, const std::vector<int>& slots,
                     int node_rank) {
  LauncherCase job(std::move(command), slots, node_rank);
  job.request.torch_launcher = TorchLauncher::kFanOut;
  return job;
}

TEST(PyTorchFanOut, GivesEachRankTheEnvironmentOfATorchrunWorker) {
  LauncherCase job = fan_out({"python", "train.py"}, kTwoByFour, 1);
  job.resolved.platform.job_id = "job-7";
  job.plan.policy.max_restarts = 2;
  Plan plan = job.planned(kLaunchPytorch);
  ASSERT_THAT(plan.processes, SizeIs(4));
  const Process& rank = plan.processes[2];
  EXPECT_EQ(line_of(rank.argv), "python -u train.py");
  EXPECT_EQ(rank.name, "rank-6");
  EXPECT_EQ(rank.rank, 6);
  EXPECT_EQ(rank.cwd, "/srv/job");
  const std::pair<const char*, const char*> expected[] = {
      {"RANK", "6"},
      {"LOCAL_RANK", "2"},
      {"WORLD_SIZE", "8"},
      {"NODE_RANK", "1"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"GROUP_RANK", "1"},
      {"ROLE_RANK", "6"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_WORLD_SIZE", "8"},
      {"ROLE_NAME", "default"},
      {"MASTER_ADDR", "host-0"},
      {"MASTER_PORT", "29500"},
      {"OMP_NUM_THREADS", "1"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"NCCL_ASYNC_ERROR_HANDLING", "(unset)"},
      {"TORCHELASTIC_RUN_ID", "job-7"},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "2"},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"TORCHELASTIC_ERROR_FILE", "/run/trainit/errors/rank-6.json"},
  };
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(job.variable(plan, rank, name), value) << name;
  }
}

struct OldName {
  const char* path;
  const char* version;
  const char* value;
};

// torch 2.2 and later warn of NCCL_ASYNC_ERROR_HANDLING on each rank; those before know no other.
TEST(PyTorchFanOut, TheOldNameOfAVariableIsForAnOldTorchAlone) {
  const OldName cases[] = {
      {"/opt/conda/lib/python3.10/site-packages", "__version__ = '1.13.1'\n", "1"},
      {"/opt/conda/lib/python3.11/site-packages", "__version__ = '2.1.2+cu121'\n", "1"},
      {"/opt/conda/lib/python3.11/site-packages", "from typing import Optional\n", "(unset)"},
      {"/opt/conda/lib/python3.11/site-packages", "__version__ = '2.2.0'\n", "(unset)"},
      {"/opt/conda/lib/python3.11/site-packages", "__version__ = '2.11.0+cu130'\n", "(unset)"},
      {"/opt/conda/lib/python3.11/site-packages", "__version__ = '10.0'\n", "(unset)"},
      {"/opt/other/lib/python3.11/site-packages", "__version__ = '1.13.1'\n", "(unset)"},
      {"/root/.local/lib/python3.9/site-packages", "__version__ = '2.0.1'\n", "1"},
      {"/job/packages", "__version__ = '2.0.1'\n", "1"},
  };
  for (const OldName& one : cases) {
    LauncherCase job = fan_out({"/opt/conda/bin/python", "train.py"}, kTwoByFour, 1);
    job.with_programs({"/opt/conda/bin/python"});
    job.with_environment({"HOME=/root", "PYTHONPATH=/job/packages:"});
    const auto add = [&job](const std::string& directory, const std::string& text) {
      PathState& state = job.snapshot.paths[directory + "/torch/version.py"];
      state.kind = PathState::Kind::kFile;
      state.content = text;
      state.size_bytes = text.size();
    };
    for (int round = 0; round < 3; ++round) {
      Inputs inputs(job.snapshot, job.request);
      Plan plan = job.plan;
      ResolvedCluster resolved = job.resolved;
      EXPECT_TRUE(kLaunchPytorch(inputs, resolved, plan));
      for (const Want& want : inputs.wants()) job.snapshot.paths.emplace(want.path, PathState{});
    }
    add(one.path, one.version);
    Plan plan = job.planned(kLaunchPytorch);
    EXPECT_EQ(job.variable(plan, plan.processes[0], "NCCL_ASYNC_ERROR_HANDLING"), one.value)
        << one.path << " " << one.version;
    add("/opt/conda/lib/python3.8/site-packages", "__version__ = '2.4.1'\n");
    plan = job.planned(kLaunchPytorch);
    EXPECT_EQ(job.variable(plan, plan.processes[0], "NCCL_ASYNC_ERROR_HANDLING"), "(unset)");
  }
}

TEST(PyTorchFanOut, RanksStartAtTheSumOfTheSlotsBefore) {
  Plan plan = fan_out({"python", "train.py"}, {8, 2, 4}, 2).planned(kLaunchPytorch);
  ASSERT_THAT(plan.processes, SizeIs(4));
  EXPECT_EQ(plan.processes[0].rank, 10);
  EXPECT_EQ(plan.processes[3].rank, 13);
}

TEST(PyTorchFanOut, TheFirstRankOfANodeSpeaksAndTheOthersHaveFiles) {
  LauncherCase job = fan_out({"python", "train.py"}, kTwoByFour, 1);
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(plan.processes[0].log, "");
  EXPECT_EQ(plan.processes[1].log, "/logs/rank-5.log");
  EXPECT_EQ(plan.processes[1].env_file, "/logs/rank-5.env");
  EXPECT_THAT(plan.directories, Contains(PlannedDirectory{"/logs"}));
  job.request.output = Output::kFiles;
  EXPECT_EQ(job.planned(kLaunchPytorch).processes[0].log, "/logs/rank-4.log");
  job.request.output = Output::kInherit;
  EXPECT_EQ(job.planned(kLaunchPytorch).processes[3].log, "");
}

TEST(PyTorchFanOut, OneRankMayUseEveryCpuAndMeetsItself) {
  LauncherCase job = fan_out({"python", "train.py"}, {}, 0);
  job.with_devices({});
  Plan plan = job.planned(kLaunchPytorch);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(job.variable(plan, plan.processes[0], "OMP_NUM_THREADS"), "(unset)");
  EXPECT_EQ(job.variable(plan, plan.processes[0], "MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(job.variable(plan, plan.processes[0], "WORLD_SIZE"), "1");
}

TEST(PyTorchFanOut, KeepsWhatTheUserSetInGeneral) {
  LauncherCase job = fan_out({"python", "-u", "train.py"}, kTwoByFour, 0);
  job.with_environment({"OMP_NUM_THREADS=12"});
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(job.variable(plan, plan.processes[0], "OMP_NUM_THREADS"), "12");
  EXPECT_EQ(line_of(plan.processes[0].argv), "python -u train.py");
}

TEST(PyTorchFanOut, ErrorFilesOfAnEarlierStartAreGone) {
  LauncherCase job = fan_out({"python", "train.py"}, kTwoByFour, 1);
  EXPECT_THAT(job.planned(kLaunchPytorch).directories,
              Contains(PlannedDirectory{"/run/trainit/errors", true, true}));
  job.snapshot.facts.run_dir = "";
  const Plan plan = job.planned(kLaunchPytorch);
  EXPECT_THAT(plan.directories, SizeIs(1));
  EXPECT_EQ(job.variable(plan, plan.processes[0], "TORCHELASTIC_ERROR_FILE"), "(unset)");
}

TEST(PyTorchFanOut, TheScriptsOwnFlagIsNotPythons) {
  EXPECT_EQ(line_of(fan_out({"python", "train.py", "-u"}, kTwoByFour, 0)
                        .planned(kLaunchPytorch)
                        .processes[0]
                        .argv),
            "python -u train.py -u");
}

TEST(PyTorchFanOut, RunsAnyProgramButNoLauncher) {
  EXPECT_EQ(
      line_of(fan_out({"./train", "-x"}, kTwoByFour, 0).planned(kLaunchPytorch).processes[1].argv),
      "./train -x");
  EXPECT_EQ(
      line_of(
          fan_out({"python", "-c", "x"}, kTwoByFour, 0).planned(kLaunchPytorch).processes[1].argv),
      "python -u -c x");
  EXPECT_THAT(fan_out({"torchrun", "x.py"}, kTwoByFour, 0).error(kLaunchPytorch),
              AllOf(HasSubstr("torchrun"), HasSubstr("--fan-out")));
}

// A platform that starts one task per rank.

TEST(PyTorchOwnRank, IsOneProcessWithoutAnAgent) {
  LauncherCase job({"python", "train.py"}, {4, 2}, 1);
  job.resolved.platform.own_rank = 5;
  job.resolved.platform.local_rank = 1;
  job.with_environment(kStale);
  Plan plan = job.planned(kLaunchPytorch);
  ASSERT_THAT(plan.processes, SizeIs(1));
  const Process& rank = plan.processes[0];
  EXPECT_EQ(line_of(rank.argv), "python train.py");
  EXPECT_EQ(rank.name, "rank-5");
  EXPECT_EQ(rank.rank, 5);
  EXPECT_EQ(rank.log, "");
  EXPECT_EQ(job.variable(plan, rank, "RANK"), "5");
  EXPECT_EQ(job.variable(plan, rank, "LOCAL_RANK"), "1");
  EXPECT_EQ(job.variable(plan, rank, "WORLD_SIZE"), "6");
  EXPECT_EQ(job.variable(plan, rank, "LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(job.variable(plan, rank, "MASTER_ADDR"), "host-0");
  EXPECT_EQ(job.variable(plan, rank, "TORCHELASTIC_USE_AGENT_STORE"), "False");
}

TEST(PyTorchOwnRank, HasItsOwnLogAndWarnsOfALauncher) {
  LauncherCase job({"torchrun", "train.py"}, {4, 2}, 1);
  job.resolved.platform.own_rank = 5;
  job.resolved.platform.local_rank = 1;
  job.request.output = Output::kFiles;
  Plan plan = job.planned(kLaunchPytorch);
  EXPECT_EQ(plan.processes[0].log, "/logs/rank-5.log");
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("one task per rank")));
}

// What a launcher's ranks leave behind.

TEST(PyTorchRankFiles, AnAgentKeepsItsErrorFilesWhereTheyAreFound) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"torchrun", "x.py"},
        std::vector<std::string>{"python", "-m", "torch.distributed.run", "x.py"},
        std::vector<std::string>{"python", "x.py"}}) {
    LauncherCase job = with_torchrun(command, kTwoByFour, 0);
    const Plan plan = job.planned(kLaunchPytorch);
    ASSERT_THAT(plan.processes, SizeIs(1));
    EXPECT_EQ(plan.processes[0].rank_logs, RankLogs::kTorchrun) << line_of(command);
    EXPECT_EQ(plan.processes[0].rank_dir, "/run/trainit/torchrun");
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_LOG_DIR"), "/run/trainit/torchrun");
    EXPECT_THAT(plan.directories, Contains(PlannedDirectory{"/run/trainit/torchrun", true, true}));
  }
}

TEST(PyTorchRankFiles, WhoeverAsksForLogsChoosesTheirPlace) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"torchrun", "--log_dir", "logs", "x.py"}, "/srv/job/logs"},
      {{"torchrun", "--log-dir=/data/logs", "-m", "x"}, "/data/logs"},
      {{"torchrun", "--tee", "3", "x.py"}, ""},
      {{"torchrun", "-r", "3", "x.py"}, ""},
  };
  for (const auto& [command, directory] : cases) {
    LauncherCase job = in_image(command, kTwoByFour, 0);
    const Plan plan = job.planned(kLaunchPytorch);
    ASSERT_THAT(plan.processes, SizeIs(1));
    EXPECT_EQ(plan.processes[0].rank_dir, directory) << line_of(command);
    EXPECT_EQ(job.variable(plan, plan.processes[0], "PET_LOG_DIR"), "(unset)");
  }
  LauncherCase job = in_image({"torchrun", "x.py"}, kTwoByFour, 0);
  job.with_environment({"PET_LOG_DIR=/data/logs"});
  EXPECT_EQ(job.planned(kLaunchPytorch).processes[0].rank_dir, "/data/logs");
}

TEST(RankFiles, MsrunsWorkersHaveLogs) {
  LauncherCase job({"msrun", "--worker_num=8", "--log_dir=out", "x.py"}, {}, 0);
  const Plan plan = job.planned(kLaunchSingle);
  EXPECT_EQ(plan.processes[0].rank_logs, RankLogs::kMsrun);
  EXPECT_EQ(plan.processes[0].rank_dir, "/srv/job/out");
  LauncherCase plain({"python", "x.py", "--log_dir=out"}, {}, 0);
  EXPECT_EQ(plain.planned(kLaunchSingle).processes[0].rank_logs, RankLogs::kNone);
}

// Stopping.

TEST(PyTorchStop, WarnsWhenTheAgentsOwnLadderDoesNotFit) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"python", "x.py"}, std::vector<std::string>{"torchrun", "x.py"}}) {
    LauncherCase job = with_torchrun(command, kTwoByFour, 0);
    job.plan.policy.grace_ms = 30000;
    EXPECT_THAT(job.planned(kLaunchPytorch).warnings, IsEmpty()) << "nobody asked for it";
    for (const auto& [grace_ms, left] : {std::pair{10000, "leaves it 9 s:"},
                                         {10500, "leaves it 9.5 s:"},
                                         {30000, "leaves it 29 s:"}}) {
      job.request.grace_ms = job.plan.policy.grace_ms = grace_ms;
      EXPECT_THAT(job.planned(kLaunchPytorch).warnings,
                  Contains(AllOf(HasSubstr("30 s"), HasSubstr(left), HasSubstr("--grace"))));
    }
    job.request.grace_ms = job.plan.policy.grace_ms = 31000;
    EXPECT_THAT(job.planned(kLaunchPytorch).warnings, IsEmpty());
    job.plan.policy.post_stop_ms = 2000;
    job.plan.policy.drain_ms = 1000;
    EXPECT_THAT(job.planned(kLaunchPytorch).warnings, Contains(HasSubstr("leaves it 29 s:")))
        << "without a post-stop hook nothing is kept for one";
    job.plan.hooks = {{HookEvent::kPostStop, {"/h/a"}, "", 1000, false}};
    EXPECT_THAT(job.planned(kLaunchPytorch).warnings, Contains(HasSubstr("leaves it 27 s:")));
    job.request.torch_launcher = TorchLauncher::kFanOut;
    if (command[0] != "python") continue;
    EXPECT_THAT(job.planned(kLaunchPytorch).warnings, IsEmpty());
  }
}

// As a plain init starts it, on a machine of which nothing is known.
TEST(PyTorchStop, WarnsOfATypedAgentThatIsOnlyStarted) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"torchrun", "x.py"},
        {"env", "A=1", "torchrun", "x.py"},
        {"bash", "-c", "exec torchrun x.py"},
        {"python", "-m", "torch.distributed.run", "x.py"}}) {
    LauncherCase job(command, {}, 0);
    job.plan.policy.grace_ms = 30000;
    EXPECT_THAT(job.planned(kLaunchSingle).warnings, IsEmpty()) << "nobody asked for it";
    job.request.grace_ms = 30000;
    EXPECT_THAT(job.planned(kLaunchSingle).warnings, ElementsAre(HasSubstr("leaves it 29 s:")));
    job.request.grace_ms = job.plan.policy.grace_ms = 31000;
    EXPECT_THAT(job.planned(kLaunchSingle).warnings, IsEmpty());
  }
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"python", "-m", "torch.distributed.launch", "x.py"},
        {"python", "torchrun_log.py"}}) {
    LauncherCase job(command, {}, 0);
    job.request.grace_ms = job.plan.policy.grace_ms = 10000;
    EXPECT_THAT(job.planned(kLaunchSingle).warnings, IsEmpty());
  }
}

TEST(PyTorchStop, TorchDistributedLaunchIsOfVersionsWithoutThatLadder) {
  LauncherCase typed =
      with_torchrun({"python", "-m", "torch.distributed.launch", "x.py"}, kTwoByFour, 0);
  LauncherCase chosen = with_torchrun({"python", "x.py"}, kTwoByFour, 0);
  chosen.request.torch_launcher = TorchLauncher::kLaunch;
  for (LauncherCase* job : {&typed, &chosen}) {
    job->request.grace_ms = job->plan.policy.grace_ms = 10000;
    EXPECT_THAT(job->planned(kLaunchPytorch).warnings, IsEmpty());
  }
}

TEST(PyTorch, StartsInThePlatformsDirectory) {
  LauncherCase job = with_torchrun({"python", "train.py"}, kTwoByFour, 0);
  job.resolved.platform.cwd = "/root/code";
  EXPECT_EQ(job.planned(kLaunchPytorch).processes[0].cwd, "/root/code");
  job.request.torch_launcher = TorchLauncher::kFanOut;
  EXPECT_EQ(job.planned(kLaunchPytorch).processes[3].cwd, "/root/code");
}

}  // namespace
}  // namespace envgen
