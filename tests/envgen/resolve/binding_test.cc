#include "envgen/resolve/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/envgen/tree.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A machine of two NUMA nodes with four cores each, two hyperthreads a core: node 0 has the CPUs
// 0-3 and 8-11, node 1 has 4-7 and 12-15. And a plan with so many ranks.
struct Machine {
  Tree tree;
  Snapshot snapshot;
  Request request;
  ResolvedCluster resolved;
  Plan plan;

  explicit Machine(Bind bind, int ranks = 0) {
    request.command = {"python", "train.py"};
    request.observe.bind = bind;
    snapshot.facts.cpu_list = "0-15";
    tree.directory("/dev");
    for (int cpu = 0; cpu < 16; ++cpu) {
      const int core = cpu % 8;
      tree.file(
          "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          std::to_string(core) + "," + std::to_string(core + 8) + "\n");
    }
    plan.framework = "pytorch";
    for (int rank = 0; rank < ranks; ++rank) add_rank();
  }

  void add_rank(int device = -1) {
    Process process;
    process.rank = static_cast<int>(plan.processes.size());
    process.name = "rank-" + std::to_string(process.rank);
    process.device = device;
    process.argv = request.command;
    process.env = {{base::EnvEdit::Kind::kSetDefault, "OMP_NUM_THREADS", "1"}};
    plan.processes.push_back(process);
  }

  // As the driver and sysfs show it.
  Machine& with_gpu(int minor, const std::string& bus_id, int node) {
    const std::string number = std::to_string(minor);
    tree.file("/dev/nvidia" + number);
    return with_foreign_gpu(minor, bus_id, node);
  }
  // The same without a device file.
  Machine& with_foreign_gpu(int minor, const std::string& bus_id, int node) {
    tree.file("/proc/driver/nvidia/gpus/" + bus_id + "/information",
              "Model: \t\t NVIDIA A100\nGPU UUID: \t GPU-" + std::to_string(minor) +
                  "111\nDevice Minor: \t " + std::to_string(minor) + "\n");
    const std::string pci = "/sys/bus/pci/devices/" + bus_id;
    tree.file(pci + "/numa_node", std::to_string(node) + "\n");
    tree.file(pci + "/local_cpulist", node == 1 ? "4-7,12-15\n" : "0-3,8-11\n");
    return *this;
  }

  Machine& with_npus(std::string text) {
    PathState told;
    told.kind = PathState::Kind::kFile;
    told.content = std::move(text);
    snapshot.paths[kNpuTopologyCommand] = told;
    return *this;
  }

  Machine& with_environment(std::vector<std::string> entries) {
    snapshot.env = base::Environ(std::move(entries));
    return *this;
  }

  [[nodiscard]] Plan bound() const {
    Snapshot looked = snapshot;
    for (int round = 0; round < 8; ++round) {
      Plan result = plan;
      Inputs inputs(looked, request);
      plan_binding(inputs, resolved, result);
      if (inputs.wants().empty()) return result;
      for (const Want& want : inputs.wants())
        looked.paths[want.path] = tree.look(want.path, want.content);
    }
    ADD_FAILURE() << "no end of wants";
    return {};
  }
};

std::vector<std::string> cpus_of(const Plan& plan) {
  std::vector<std::string> list;
  list.reserve(plan.processes.size());
  for (const Process& process : plan.processes) list.push_back(process.cpus);
  return list;
}

std::vector<std::string> threads_of(const Machine& machine, const Plan& plan) {
  std::vector<std::string> list;
  for (const Process& process : plan.processes) {
    base::Environ env = machine.snapshot.env;
    for (const base::EnvEdit& edit : process.env) env.apply(edit);
    list.emplace_back(env.get_or("OMP_NUM_THREADS", "unset"));
  }
  return list;
}

Machine four_gpus(Bind bind, int ranks = 4) {
  Machine machine(bind, ranks);
  machine.with_gpu(0, "0000:90:00.0", 1).with_gpu(1, "0000:10:00.0", 0);
  machine.with_gpu(2, "0000:20:00.0", 0).with_gpu(3, "0000:a0:00.0", 1);
  return machine;
}

TEST(Binding, NoneChangesNothing) {
  const Machine machine = four_gpus(Bind::kNone);
  EXPECT_EQ(machine.bound(), machine.plan);
}

// Devices are numbered by their PCI addresses, not by their minor numbers.
TEST(Binding, NumaIsTheNodeOfEachDevice) {
  const Machine machine = four_gpus(Bind::kNuma);
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("0-3,8-11", "0-3,8-11", "4-7,12-15", "4-7,12-15"));
  EXPECT_EQ(plan.processes[2].cpus_reason, "NUMA node 1 of GPU 0000:90:00.0 (sysfs)");
  EXPECT_THAT(plan.warnings, IsEmpty());
  EXPECT_THAT(threads_of(machine, plan), ElementsAre("2", "2", "2", "2"));
}

TEST(Binding, CoreDividesTheNodeByWholeCores) {
  const Machine machine = four_gpus(Bind::kCore);
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"));
  EXPECT_EQ(plan.processes[1].cpus_reason, "2 of 4 cores, NUMA node 0 of GPU 0000:20:00.0 (sysfs)");
  EXPECT_THAT(threads_of(machine, plan), ElementsAre("2", "2", "2", "2"));
}

TEST(Binding, UnevenSharesAreWholeCoresToo) {
  Machine machine(Bind::kCore, 3);
  for (int gpu = 0; gpu < 3; ++gpu)
    machine.with_gpu(gpu, "0000:1" + std::to_string(gpu) + ":00.0", 0);
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("0,8", "1,9", "2-3,10-11"));
}

TEST(Binding, MoreRanksThanCoresShareThem) {
  Machine machine(Bind::kCore, 3);
  machine.snapshot.facts.cpu_list = "0-1,8-9";
  for (int gpu = 0; gpu < 3; ++gpu)
    machine.with_gpu(gpu, "0000:1" + std::to_string(gpu) + ":00.0", 0);
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("0-1,8-9", "0-1,8-9", "0-1,8-9"));
  EXPECT_THAT(threads_of(machine, plan), ElementsAre("1", "1", "1"));
}

TEST(Binding, StaysWithinTheCpuset) {
  Machine machine = four_gpus(Bind::kNuma);
  machine.snapshot.facts.cpu_list = "2,4-15";
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("2,8-11", "2,8-11", "4-7,12-15", "4-7,12-15"));
}

TEST(Binding, WithoutAUsableCpuTheRankStaysUnbound) {
  Machine machine = four_gpus(Bind::kCore);
  machine.snapshot.facts.cpu_list = "4-7";
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("", "", "4-5", "6-7"));
  EXPECT_THAT(plan.warnings,
              ElementsAre("--bind core: rank-0 stays unbound: NUMA node 0 of GPU 0000:10:00.0 "
                          "(sysfs) has the CPUs 0-3,8-11, none of which this container may use",
                          HasSubstr("rank-1 stays unbound")));
  EXPECT_THAT(threads_of(machine, plan), ElementsAre("1", "1", "2", "2"));
}

TEST(Binding, TheUsersThreadsStay) {
  Machine machine = four_gpus(Bind::kNuma);
  machine.with_environment({"OMP_NUM_THREADS=7"});
  EXPECT_THAT(threads_of(machine, machine.bound()), ElementsAre("7", "7", "7", "7"));
}

TEST(Binding, CudaVisibleDevicesPicks) {
  Machine machine = four_gpus(Bind::kNuma, 2);
  machine.with_environment({"CUDA_VISIBLE_DEVICES=3, 0"});
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("4-7,12-15", "0-3,8-11"));
  machine.with_environment({"CUDA_VISIBLE_DEVICES=GPU-0,GPU-1111"});
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("4-7,12-15", "0-3,8-11"));
  machine.with_environment({"CUDA_VISIBLE_DEVICES=0,-1,1"});
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("0-3,8-11", ""));
  EXPECT_THAT(plan.warnings,
              ElementsAre("--bind numa: rank-1 stays unbound: there are only 1 devices"));
}

TEST(Binding, APartOfADeviceIsWhereTheOnlyDeviceIs) {
  Machine machine(Bind::kNuma, 2);
  machine.with_gpu(0, "0000:90:00.0", 1).with_environment({"CUDA_VISIBLE_DEVICES=MIG-a,MIG-b"});
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("4-7,12-15", "4-7,12-15"));
  machine.with_gpu(1, "0000:10:00.0", 0);
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("", ""));
}

TEST(Binding, GpusOfOtherContainersDoNotCount) {
  Machine machine(Bind::kNuma, 1);
  machine.with_foreign_gpu(0, "0000:10:00.0", 0).with_gpu(1, "0000:90:00.0", 1);
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("4-7,12-15"));
}

TEST(Binding, TheTopologyFileComesBeforeTheKernel) {
  Machine machine = four_gpus(Bind::kNuma, 2);
  machine.with_environment({"NCCL_TOPO_FILE=/opt/topo.xml"});
  machine.tree.file("/opt/topo.xml", R"(<system version="1">
    <cpu numaid="5" affinity="00000300"><pci busid="0000:10:00.0" class="0x030200"/></cpu>
  </system>)");
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("8-9", "0-3,8-11"));
  EXPECT_EQ(plan.processes[0].cpus_reason, "NUMA node 5 of GPU 0000:10:00.0 (/opt/topo.xml)");
}

// The driver lists nothing: the file alone says which GPUs there are.
TEST(Binding, TheTopologyFilesGpusAreTakenInPciOrder) {
  Machine machine(Bind::kNuma, 2);
  const std::string file = "/var/run/nvidia-topologyd/virtualTopology.xml";
  machine.tree.file(file, R"(<system version="1">
    <cpu numaid="0" affinity="0000000f"><pci busid="0003:00:00.0" class="0x030200"/></cpu>
    <cpu numaid="1" affinity="000000f0"><pci busid="0001:00:00.0" class="0x030200"/></cpu>
  </system>)");
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("4-7", "0-3"));
  machine.tree.file("/dev/nvidia0");
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("", "")) << "one of them, nobody knows which";
}

TEST(Binding, AFileThatNcclMisreadsBindsNothing) {
  for (const Bind bind : {Bind::kNuma, Bind::kCore}) {
    Machine machine = four_gpus(bind);
    machine.with_environment({"NCCL_TOPO_FILE=/opt/topo.xml"});
    machine.tree.file("/opt/topo.xml",
                      R"(<system version="1"><cpu numaid="0" affinity="0-15"/></system>)");
    const Plan plan = machine.bound();
    EXPECT_THAT(cpus_of(plan), ElementsAre("", "", "", ""));
    EXPECT_THAT(plan.warnings, ElementsAre(AllOf(HasSubstr("binds nothing: reading the NCCL"),
                                                 HasSubstr("found affinity=\"0-15\""))));
  }
}

TEST(Binding, WithoutANumaNodeNumaLeavesTheRankAndCoreDividesAll) {
  Machine machine(Bind::kNuma, 2);
  machine.with_gpu(0, "0000:10:00.0", -1).with_gpu(1, "0000:90:00.0", 1);
  Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("", "4-7,12-15"));
  EXPECT_THAT(plan.warnings, ElementsAre("--bind numa: rank-0 stays unbound: the kernel tells no "
                                         "NUMA node of GPU 0000:10:00.0"));
  machine.request.observe.bind = Bind::kCore;
  plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("0-3,8-11", "4-7,12-15"));
  EXPECT_THAT(plan.warnings,
              ElementsAre(AllOf(HasSubstr("the usable cores are divided evenly"),
                                HasSubstr("the kernel tells no NUMA node of GPU 0000:10:00.0"))));
  EXPECT_EQ(plan.processes[0].cpus_reason, "4 of 8 cores, an even share");
}

TEST(Binding, WithoutADeviceCoreDividesAll) {
  Machine machine(Bind::kCore, 4);
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"));
  EXPECT_THAT(threads_of(machine, plan), ElementsAre("2", "2", "2", "2"));
  machine.request.observe.bind = Bind::kNuma;
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("", "", "", ""));
}

TEST(Binding, AKernelWithoutTopologyHasACoreACpu) {
  Machine machine = four_gpus(Bind::kCore, 2);
  machine.tree = Tree();
  machine.tree.directory("/dev");
  machine.snapshot.facts.cpu_list = "0-3";
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("0-1", "2-3"));
}

constexpr const char* kNpuTable =
    "           NPU0       NPU1       NPU2       NPU3       CPU Affinity\n"
    "NPU0       X          HCCS       HCCS       HCCS       4-7\n"
    "NPU1       HCCS       X          HCCS       HCCS       4-7\n"
    "NPU2       HCCS       HCCS       X          HCCS       0-3\n"
    "NPU3       HCCS       HCCS       HCCS       X          0-3\n";

TEST(Binding, AnNpuIsWhereNpuSmiSays) {
  Machine machine(Bind::kCore);
  for (const int device : {1, 0, 3}) machine.add_rank(device);
  machine.with_npus(kNpuTable);
  const Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("4-5", "6-7", "0-3"));
  EXPECT_EQ(plan.processes[2].cpus_reason, "the CPUs near NPU 3 (npu-smi)");
}

TEST(Binding, RanksWithoutATableHaveTheNpusOfTheContainer) {
  Machine machine(Bind::kNuma, 2);
  machine.with_npus(kNpuTable);
  machine.tree.file("/dev/davinci1").file("/dev/davinci2").file("/dev/davinci_manager");
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("4-7", "0-3"));
  machine.with_environment({"ASCEND_RT_VISIBLE_DEVICES=1"});
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("0-3", ""));
}

TEST(Binding, SaysWhatNpuSmiSaidInstead) {
  Machine machine(Bind::kNuma);
  machine.add_rank(9);
  EXPECT_THAT(machine.bound().warnings, ElementsAre(HasSubstr("the image has no npu-smi")));
  machine.with_npus(kNpuTable);
  EXPECT_THAT(machine.bound().warnings, ElementsAre(HasSubstr("npu-smi tells no CPUs of NPU 9")));
  machine.with_npus("dcmi module initialize failed\n");
  EXPECT_THAT(machine.bound().warnings, ElementsAre(HasSubstr("found dcmi module initialize")));
  PathState late;
  late.kind = PathState::Kind::kError;
  late.error = ETIMEDOUT;
  machine.snapshot.paths[kNpuTopologyCommand] = late;
  EXPECT_THAT(machine.bound().warnings, ElementsAre(HasSubstr("npu-smi gave no answer in time")));
}

TEST(Binding, ACommandThatIsNoRankHasAllDevices) {
  Machine machine = four_gpus(Bind::kCore, 0);
  machine.plan.framework = "single";
  machine.add_rank();
  machine.plan.processes[0].rank = -1;
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("0-15"));
  machine.with_environment({"CUDA_VISIBLE_DEVICES=2,3"});
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("4-7,12-15"));
}

struct Launched {
  const char* framework;
  std::vector<std::string> argv;
  const char* option;
};

TEST(Binding, RanksOfALauncherAreTheLaunchers) {
  const std::vector<Launched> cases = {
      {"pytorch", {"/opt/bin/torchrun", "train.py"}, "torchrun --numa-binding"},
      {"single", {"python", "-m", "torch.distributed.run", "a.py"}, "torchrun --numa-binding"},
      {"deepspeed", {"deepspeed", "train.py"}, "deepspeed --bind_cores_to_rank"},
      {"mpi", {"mpirun", "-np", "8", "train"}, "mpirun --bind-to"},
      {"mpi", {"/usr/sbin/sshd", "-D"}, "mpirun --bind-to"},
      {"ascend", {"msrun", "--worker_num=8"}, "msrun --bind_core"}};
  for (const Launched& one : cases) {
    Machine machine = four_gpus(Bind::kNuma, 1);
    machine.plan.framework = one.framework;
    machine.plan.processes[0].rank = -1;
    machine.plan.processes[0].argv = one.argv;
    const Plan plan = machine.bound();
    EXPECT_THAT(cpus_of(plan), ElementsAre(""));
    EXPECT_THAT(
        plan.warnings,
        ElementsAre("--bind numa binds nothing: the ranks are started by the launcher, use " +
                    std::string(one.option)));
  }
}

TEST(Binding, OneTaskOfSeveralHasItsOwnDevice) {
  Machine machine = four_gpus(Bind::kCore, 1);
  machine.resolved.platform.own_rank = 10;
  machine.resolved.platform.local_rank = 2;
  Plan plan = machine.bound();
  EXPECT_THAT(cpus_of(plan), ElementsAre("4-7,12-15"));
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("srun --cpu-bind")));
  machine.with_environment({"CUDA_VISIBLE_DEVICES=0"});
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("0-3,8-11")) << "it sees its own alone";
}

// MindSpore's scheduler is no rank.
TEST(Binding, WhatIsNoRankBesideRanksStaysAsItIs) {
  Machine machine = four_gpus(Bind::kNuma, 2);
  machine.plan.framework = "ascend";
  Process scheduler;
  scheduler.name = "scheduler";
  scheduler.argv = machine.request.command;
  machine.plan.processes.push_back(scheduler);
  EXPECT_THAT(cpus_of(machine.bound()), ElementsAre("0-3,8-11", "0-3,8-11", ""));
}

}  // namespace
}  // namespace envgen
