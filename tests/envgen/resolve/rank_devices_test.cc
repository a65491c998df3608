// The ranks of a node against its accelerators: what cannot be counted is asked for where the plan
// depends on it, and a rank without a device of its own is warned of.

#include "envgen/resolve/rank_devices.h"

#include "tests/envgen/resolve/resolved.h"

namespace envgen::jobs {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const Words kTrain = {"python", "train.py"};

PathState directory_of(Words entries) {
  PathState state;
  state.kind = PathState::Kind::kDirectory;
  state.listed = true;
  state.entries = std::move(entries);
  return state;
}

Container node_with(Words dev, Words variables = {}) {
  Container container;
  container.variables = std::move(variables);
  container.paths["/dev"] = directory_of(std::move(dev));
  container.paths["/dev/dri"] = directory_of({"renderD128", "renderD129", "renderD130"});
  return container;
}

Outcome outcome(const Container& container, const Request& request) {
  Snapshot snapshot = snapshot_of(container);
  snapshot.facts.cpus = 64;
  return outcome_in(std::move(snapshot), container, request);
}

std::string ranks_of(const Container& container, const Request& request) {
  Outcome result = outcome(container, request);
  if (const auto* error = std::get_if<base::Error>(&result)) return to_line(*error);
  return std::to_string(std::get<Planned>(result).plan.processes.size());
}

Words warnings_of(const Container& container, const Request& request) {
  Outcome result = outcome(container, request);
  const auto* planned = std::get_if<Planned>(&result);
  return planned == nullptr ? Words{to_line(std::get<base::Error>(result))}
                            : planned->plan.warnings;
}

Request fan_out(std::optional<int> slots = {}) {
  Request request = request_of(kTrain);
  request.framework = "pytorch";
  request.torch_launcher = TorchLauncher::kFanOut;
  request.slots = slots;
  return request;
}

const Words kPets = {"KUBERNETES_SERVICE_HOST=1", "PET_NNODES=2", "PET_NODE_RANK=0",
                     "PET_MASTER_ADDR=a-node-0-0.a", "PET_MASTER_PORT=29500"};

Container pet_node(const std::string& per_node, Words dev) {
  Container container = node_with(std::move(dev), kPets);
  container.variables.push_back("PET_NPROC_PER_NODE=" + per_node);
  return container;
}

TEST(Uncounted, RanksAreAQuestion) {
  for (const Words& dev : {Words{"dri"}, Words{"dri", "kfd"}, Words{"neuron0"}}) {
    EXPECT_THAT(ranks_of(node_with(dev), fan_out()), HasSubstr("--slots")) << dev[0];
    EXPECT_EQ(ranks_of(node_with(dev), fan_out(3)), "3") << dev[0];
    for (const char* per_node : {"auto", "gpu", "hpu", "xpu", ""}) {
      EXPECT_THAT(ranks_of(pet_node(per_node, dev), request_of(kTrain)), HasSubstr("--slots"))
          << dev[0] << " " << per_node;
    }
    EXPECT_EQ(ranks_of(pet_node("3", dev), request_of(kTrain)), "3") << dev[0];
  }
}

TEST(Uncounted, AnUnknownKindIsOneRankAndAWarning) {
  for (const Words& dev : {Words{"xpu0", "xpu1"}, Words{"cxi0", "cxi1"}}) {
    const Container node = node_with(dev);
    EXPECT_EQ(ranks_of(node, fan_out()), "1");
    EXPECT_THAT(warnings_of(node, fan_out()),
                Contains(AllOf(HasSubstr("/dev/" + dev[0] + " and 1 more"), HasSubstr("--slots"))));
    EXPECT_THAT(warnings_of(node, request_of(kTrain)), Not(Contains(HasSubstr("--slots"))));
    EXPECT_EQ(ranks_of(pet_node("", dev), request_of(kTrain)), "1");
    for (const char* per_node : {"auto", "gpu"}) {
      EXPECT_THAT(ranks_of(pet_node(per_node, dev), request_of(kTrain)), HasSubstr("--slots"));
    }
    Container listed = node_with(dev, {"XPU_VISIBLE_DEVICES=0,1"});
    EXPECT_THAT(ranks_of(listed, fan_out()), HasSubstr("--slots"));
  }
}

TEST(Uncounted, ALaunchersOwnFlagAnswers) {
  for (const Words& command :
       {Words{"mpirun", "-np", "4", "./app"}, Words{"mpiexec", "-n", "4", "./app"}}) {
    Request request = request_of(command);
    request.framework = "mpi";
    EXPECT_EQ(ranks_of(node_with({"neuron0"}), request), "1") << command[0];
  }
}

TEST(Uncounted, SlotsThatThePlatformTellsAnswer) {
  const Words mlp = {"MLP_ROLE=WORKER",     "MLP_ROLE_INDEX=1",        "MLP_WORKER_NUM=2",
                     "MLP_WORKER_GPU=8",    "MLP_WORKER_0_HOST=a",     "MLP_WORKER_1_HOST=b",
                     "MLP_WORKER_0_PORT=1", "MLP_WORKER_ALL_HOSTS=a,b"};
  EXPECT_EQ(ranks_of(node_with({"neuron0"}, mlp), fan_out()), "8");
}

TEST(Uncounted, WhatStartsNoRanksIsNotAsked) {
  EXPECT_EQ(ranks_of(node_with({"dri"}), request_of(kTrain)), "1");
  EXPECT_EQ(ranks_of(node_with({"dri"}), request_of({"torchrun", "--nproc_per_node=4", "a.py"})),
            "1");
  const Words script = {"bash", "run.sh"};
  EXPECT_EQ(ranks_of(pet_node("auto", {"dri"}), request_of(script)), "1");
  EXPECT_EQ(ranks_of(pet_node("auto", {"dri"}), request_of({"torchrun", "a.py"})), "1");
  EXPECT_THAT(ranks_of(pet_node("", {"dri"}), request_of({"torchrun", "a.py"})),
              HasSubstr("--slots"));
  EXPECT_EQ(
      ranks_of(pet_node("", {"dri"}), request_of({"torchrun", "--nproc-per-node", "4", "a.py"})),
      "1");
}

TEST(Uncounted, AFrameworkOfOneProcessANodeIsNotAsked) {
  Request request = request_of(kTrain);
  request.framework = "jax";
  EXPECT_EQ(ranks_of(node_with({"dri"}), request), "1");
  request.framework = "mpi";
  EXPECT_THAT(ranks_of(node_with({"dri"}), request), HasSubstr("--slots"));
}

TEST(Uncounted, OneUnknownDeviceIsOneRank) {
  EXPECT_EQ(ranks_of(node_with({}, {"FOO_VISIBLE_DEVICES=3"}), fan_out()), "1");
  const Words batch = {"LSB_JOBID=1", "LSB_MCPU_HOSTS=a 2", "FOO_VISIBLE_DEVICES=3"};
  EXPECT_EQ(ranks_of(node_with({}, batch), fan_out()), "1");
  EXPECT_THAT(warnings_of(node_with({}, {"FOO_VISIBLE_DEVICES=3"}), fan_out()),
              Not(Contains(HasSubstr("device"))));
}

// A job of 8 slots on each of one or two nodes.
Request eight_slots(Words command, int nodes) {
  Request request = request_of(std::move(command));
  request.slots = 8;
  if (nodes > 1) {
    request.nodes = nodes;
    request.node_rank = 0;
    request.master_addr = "a";
  }
  return request;
}

std::string variable_of(const Container& container, const Request& request,
                        std::string_view variable) {
  Outcome result = outcome(container, request);
  if (const auto* error = std::get_if<base::Error>(&result)) return to_line(*error);
  const Plan& plan = std::get<Planned>(result).plan;
  base::Environ env(container.variables);
  for (const base::EnvEdit& edit : plan.env) env.apply(edit);
  for (const base::EnvEdit& edit : plan.processes.at(0).env) env.apply(edit);
  return std::string(env.get_or(variable, "(unset)"));
}

TEST(SlotsOption, ReachesALauncherInTheCommandOnOneNodeAsOnSeveral) {
  const struct {
    Words command;
    const char* variable;
  } cases[] = {{{"torchrun", "t.py"}, "PET_NPROC_PER_NODE"},
               {{"torchrun", "--standalone", "t.py"}, "PET_NPROC_PER_NODE"},
               {{"bash", "-c", "torchrun --standalone t.py"}, "PET_NPROC_PER_NODE"},
               {{"python", "-m", "torch.distributed.run", "t.py"}, "PET_NPROC_PER_NODE"},
               {{"llamafactory-cli", "train", "x.yaml"}, "NPROC_PER_NODE"},
               {{"python", "-m", "paddle.distributed.launch", "t.py"}, "PADDLE_NPROC_PER_NODE"}};
  for (const auto& [command, variable] : cases) {
    for (const int nodes : {1, 2}) {
      EXPECT_EQ(variable_of({}, eight_slots(command, nodes), variable), "8") << command[0] << nodes;
      EXPECT_THAT(warnings_of({}, eight_slots(command, nodes)),
                  Not(Contains(HasSubstr("--slots"))));
    }
  }
}

TEST(SlotsOption, ThatALauncherDoesNotFollowIsWarnedOf) {
  for (const int nodes : {1, 2}) {
    EXPECT_THAT(warnings_of({}, eight_slots({"torchrun", "--nproc_per_node", "4", "t.py"}, nodes)),
                Contains(HasSubstr("--slots 8: the flag of torchrun in the command says 4")));
    EXPECT_THAT(warnings_of({{"PET_NPROC_PER_NODE=4"}}, eight_slots({"torchrun", "t.py"}, nodes)),
                Contains(HasSubstr("--slots 8: PET_NPROC_PER_NODE=4 is used")));
    for (const Words& command :
         {Words{"accelerate", "launch", "t.py"}, Words{"msrun", "--join=True", "t.py"}}) {
      EXPECT_THAT(warnings_of({}, eight_slots(command, nodes)),
                  Contains(HasSubstr("--slots 8: " + command[0] + " does not get this number")));
    }
    const std::string all = std::to_string(8 * nodes);
    for (const Words& command : {Words{"torchrun", "--nproc-per-node=8", "t.py"},
                                 Words{"torchrun", "--nproc-per-node=gpu", "t.py"},
                                 Words{"accelerate", "launch", "--num_processes", all, "t.py"}}) {
      EXPECT_THAT(warnings_of({}, eight_slots(command, nodes)),
                  Not(Contains(HasSubstr("--slots"))));
    }
  }
  EXPECT_THAT(warnings_of({}, eight_slots({"mpirun", "-np", "2", "./a"}, 1)),
              Contains(HasSubstr("the flag of mpirun in the command says 2")));
}

TEST(RanksWithoutADevice, AreWarnedOfInEveryWayOfStarting) {
  const Container one = node_with({"nvidia0"});
  EXPECT_THAT(warnings_of(one, fan_out(2)),
              Contains(HasSubstr("/dev/nvidia0: a process sees 1 device, and this node runs 2")));
  EXPECT_THAT(warnings_of(one, fan_out(1)), Not(Contains(HasSubstr("a process sees"))));
  const Container listed = node_with({}, {"CUDA_VISIBLE_DEVICES=MIG-1,MIG-2"});
  EXPECT_THAT(warnings_of(listed, fan_out(2)), Contains(HasSubstr("one MIG device")));
  EXPECT_THAT(warnings_of(node_with({}, {"NVIDIA_VISIBLE_DEVICES=MIG-1,MIG-2"}), fan_out(2)),
              Contains(HasSubstr("one MIG device")));
  EXPECT_THAT(warnings_of(node_with({"nvidia0"}, {"CUDA_VISIBLE_DEVICES="}), fan_out(2)),
              Not(Contains(HasSubstr("a process sees"))));
  for (const Words& command :
       {Words{"torchrun", "--nproc_per_node=2", "a.py"}, Words{"torchrun", "--nproc-per-node", "2"},
        Words{"bash", "-c", "torchrun --nproc_per_node 2 a.py"},
        Words{"accelerate", "launch", "--num_processes", "2", "a.py"},
        Words{"mpirun", "-np", "2", "python", "a.py"}}) {
    EXPECT_THAT(warnings_of(listed, request_of(command)), Contains(HasSubstr("a process sees")))
        << command[1];
  }
  EXPECT_THAT(warnings_of(node_with({"nvidia0"}), request_of({"torchrun", "--standalone", "a.py",
                                                              "--dataset_num_proc", "16"})),
              Not(Contains(HasSubstr("a process sees"))));
  EXPECT_THAT(warnings_of(pet_node("1", {"nvidia0"}),
                          request_of({"accelerate", "launch", "--num_processes=2", "a.py"})),
              Not(Contains(HasSubstr("a process sees"))))
      << "one on each node";
  for (const char* framework : {"mpi", "paddle"}) {
    Request request = request_of(kTrain);
    request.framework = framework;
    request.slots = 2;
    EXPECT_THAT(warnings_of(one, request), Contains(HasSubstr("a process sees"))) << framework;
  }
  EXPECT_THAT(warnings_of(pet_node("2", {"nvidia0"}), request_of({"torchrun", "a.py"})),
              Contains(HasSubstr("a process sees")));
}

TEST(RanksWithoutADevice, ATaskOfThePlatformsIsWarnedOfItsOwn) {
  const Words task = {"RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8",
                      "MASTER_ADDR=a"};
  Container container = node_with({}, task);
  EXPECT_THAT(warnings_of(container, request_of(kTrain)),
              Not(Contains(HasSubstr("a process sees"))));
  container.variables.push_back("ROCR_VISIBLE_DEVICES=3");
  EXPECT_THAT(warnings_of(container, request_of(kTrain)),
              Contains(HasSubstr("ROCR_VISIBLE_DEVICES: a process sees 1 device, and this one is "
                                 "LOCAL_RANK 3")));
}

TEST(RanksWithoutADevice, ARankOfAnotherLaunchersIsWarnedOf) {
  EXPECT_THAT(
      warnings_of(node_with({}, {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=0"}), request_of(kTrain)),
      Contains(HasSubstr("this one is LOCAL_RANK 1")));
  EXPECT_THAT(warnings_of(node_with({"nvidia0"}, {"LOCAL_RANK=0,1"}), request_of(kTrain)),
              Not(Contains(HasSubstr("a process sees"))));
}

TEST(AscendLists, AnOrderThatCannRefusesIsWarnedOf) {
  for (const char* list : {"1,0", "0,0", "0,2,1", "4,5,5"}) {
    EXPECT_THAT(warnings_of(node_with({}, {"ASCEND_RT_VISIBLE_DEVICES=" + std::string(list)}),
                            request_of(kTrain)),
                Contains(HasSubstr("ascending order")))
        << list;
  }
  for (const char* list : {"0", "0,1,2", "4, 7", ""}) {
    EXPECT_THAT(warnings_of(node_with({}, {"ASCEND_RT_VISIBLE_DEVICES=" + std::string(list)}),
                            request_of(kTrain)),
                Not(Contains(HasSubstr("ascending order"))))
        << list;
  }
}

}  // namespace
}  // namespace envgen::jobs
