#include "tests/envgen/platform/platform_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// What srun sets for the task `proc` of `nodes` nodes.
Container step(int node, int proc, int local, const std::string& tasks, int total) {
  return container(
      "n" + std::to_string(node + 1),
      {"SLURM_JOB_ID=4711", "SLURM_STEP_ID=0", "SLURM_JOB_NODELIST=n[1-3],x",
       "SLURM_JOB_NUM_NODES=4", "SLURM_STEP_NODELIST=n[1-2]", "SLURM_STEP_NUM_NODES=2",
       "SLURM_NNODES=2", "SLURM_STEP_NUM_TASKS=" + std::to_string(total),
       "SLURM_NTASKS=" + std::to_string(total), "SLURM_STEP_TASKS_PER_NODE=" + tasks,
       "SLURM_NODEID=" + std::to_string(node), "SLURM_PROCID=" + std::to_string(proc),
       "SLURM_LOCALID=" + std::to_string(local), "SLURMD_NODENAME=n" + std::to_string(node + 1)},
      8);
}

Container task_per_node(int node) { return step(node, node, 0, "1(x2)", 2); }
Container task_per_device(int node, int local) {
  return step(node, node * 8 + local, local, "8(x2)", 16);
}

TEST(Slurm, IsDetectedByTheJobAndItsNodes) {
  EXPECT_THAT(detected(task_per_node(0)),
              testing::Pair("slurm", AllOf(HasSubstr("SLURM_JOB_ID"), HasSubstr("NODELIST"))));
  // salloc's shell has no list of nodes only when there is no allocation.
  EXPECT_EQ(detected(container("n1", {"SLURM_JOB_ID=1"})).first, "local");
}

TEST(Slurm, OneTaskANodeLeavesTheDevicesToUs) {
  ResolvedCluster first = resolved_in(locate_slurm, task_per_node(0));
  ResolvedCluster last = resolved_in(locate_slurm, task_per_node(1));
  EXPECT_THAT(nodes_of(first), ElementsAre("n1 x8", "n2 x8"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.cluster.world_size, 16);
  EXPECT_EQ(first.cluster.master_addr, "n1");
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 1);
  EXPECT_FALSE(first.platform.own_rank.has_value());
  EXPECT_EQ(first.platform.job_id, "4711");
  EXPECT_THAT(first.warnings, IsEmpty());
}

TEST(Slurm, OneTaskADeviceIsOneRankEach) {
  ResolvedCluster first = resolved_in(locate_slurm, task_per_device(0, 0));
  ResolvedCluster last = resolved_in(locate_slurm, task_per_device(1, 7));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.cluster.world_size, 16);
  EXPECT_EQ(first.platform.own_rank, 0);
  EXPECT_EQ(first.platform.local_rank, 0);
  EXPECT_EQ(last.platform.own_rank, 15);
  EXPECT_EQ(last.platform.local_rank, 7);
}

TEST(Slurm, ACyclicDistributionKeepsSlurmsRanks) {
  ResolvedCluster second = resolved_in(locate_slurm, step(1, 1, 0, "8(x2)", 16));
  EXPECT_EQ(second.local_node.node_rank, 1);
  EXPECT_EQ(second.platform.own_rank, 1);
}

TEST(Slurm, NodesMayHaveDifferentNumbersOfTasks) {
  ResolvedCluster last = resolved_in(locate_slurm, step(1, 2, 0, "2,1", 3));
  EXPECT_THAT(nodes_of(last), ElementsAre("n1 x2", "n2 x1"));
  EXPECT_EQ(last.platform.own_rank, 2);
}

TEST(Slurm, SeveralTasksOnASingleNodeAreRanksToo) {
  ResolvedCluster resolved = resolved_in(
      locate_slurm,
      container("n1", {"SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_NODELIST=n1", "SLURM_NTASKS=4",
                       "SLURM_NODEID=0", "SLURM_PROCID=3", "SLURM_LOCALID=3"}));
  EXPECT_THAT(nodes_of(resolved), ElementsAre("n1 x4"));
  EXPECT_EQ(resolved.platform.own_rank, 3);
}

TEST(Slurm, TheGpusThatSlurmGaveAreTheSlots) {
  Container c = task_per_node(1);
  c.snapshot.env.set("SLURM_GPUS_ON_NODE", "4");
  EXPECT_THAT(nodes_of(resolved_in(locate_slurm, c)), ElementsAre("n1 x4", "n2 x4"));
  c.request.slots = 3;
  EXPECT_THAT(nodes_of(resolved_in(locate_slurm, c)), ElementsAre("n1 x3", "n2 x3"));
}

TEST(Slurm, ABatchScriptsTasksAreNotStartedYet) {
  Container c = container(
      "n1", {"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n1", "SLURM_NTASKS=8", "SLURM_NTASKS_PER_NODE=8",
             "SLURM_TASKS_PER_NODE=8", "SLURM_NODEID=0", "SLURM_PROCID=0", "SLURM_LOCALID=0"});
  ResolvedCluster resolved = resolved_in(locate_slurm, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("n1 x8"));
  EXPECT_FALSE(resolved.platform.own_rank.has_value());
  EXPECT_THAT(resolved.warnings, IsEmpty());

  c.snapshot.env.set("SLURM_JOB_NODELIST", "n[1-2]");
  EXPECT_THAT(resolved_in(locate_slurm, c).warnings, Contains(HasSubstr("srun")));
}

TEST(Slurm, ThePortFollowsFromTheJobAndTheStep) {
  auto port = [](const char* job, const char* step_id) {
    Container c = task_per_node(0);
    c.snapshot.env.set("SLURM_JOB_ID", job);
    c.snapshot.env.set("SLURM_STEP_ID", step_id);
    return resolved_in(locate_slurm, c).cluster.master_port;
  };
  EXPECT_EQ(port("4711", "0"), port("4711", "0"));
  EXPECT_NE(port("4711", "0"), port("4712", "0"));
  EXPECT_NE(port("4711", "0"), port("4711", "1"));
  for (const char* job : {"0", "14999", "15000", "4294967295", "99999999999999999999"}) {
    EXPECT_GE(port(job, "4294967290"), 15000);
    EXPECT_LT(port(job, "4294967290"), 30000);
  }
}

TEST(Slurm, AMasterThatTheUserNamesWins) {
  Container c = task_per_node(0);
  c.request.master_addr = "n1-ib";
  c.request.master_port = 1234;
  ResolvedCluster resolved = resolved_in(locate_slurm, c);
  EXPECT_EQ(resolved.cluster.master_addr, "n1-ib");
  EXPECT_EQ(resolved.cluster.master_port, 1234);
}

TEST(Slurm, WithoutANodeIdTheNameTells) {
  Container c = task_per_node(1);
  c.snapshot.env.unset("SLURM_NODEID");
  EXPECT_EQ(resolved_in(locate_slurm, c).local_node.node_rank, 1);
  c.snapshot.env.unset("SLURMD_NODENAME");
  EXPECT_EQ(resolved_in(locate_slurm, c).local_node.node_rank, 1);
  c.snapshot.facts.host_name = "elsewhere";
  EXPECT_THAT(error_in(locate_slurm, c), AllOf(HasSubstr("elsewhere"), HasSubstr("--node-rank")));
  c.request.node_rank = 0;
  EXPECT_EQ(resolved_in(locate_slurm, c).local_node.node_rank, 0);
}

struct Fault {
  const char* variable;
  const char* value;  // nullptr: unset
  std::vector<const char*> told;
};

TEST(Slurm, ContradictionsAreErrorsThatNameTheVariables) {
  const Fault faults[] = {
      {"SLURM_STEP_NODELIST", "n[1-", {"SLURM_STEP_NODELIST", "a [ without"}},
      {"SLURM_STEP_NODELIST", "n1,n1", {"SLURM_STEP_NODELIST", "n1 twice"}},
      {"SLURM_STEP_NUM_NODES", "3", {"SLURM_STEP_NUM_NODES", "2 hosts and 3"}},
      {"SLURM_STEP_NUM_NODES", "two", {"SLURM_STEP_NUM_NODES", "whole number"}},
      {"SLURM_NODEID", "2", {"SLURM_NODEID", "from 0 to 1"}},
      {"SLURM_NODEID", "-1", {"SLURM_NODEID", "whole number"}},
      {"SLURM_NODEID", "0", {"SLURMD_NODENAME", "which is n1, and n2"}},
      {"SLURM_STEP_TASKS_PER_NODE", "8(x3)", {"3 counts for 2 nodes"}},
      {"SLURM_STEP_TASKS_PER_NODE", "8(y2)", {"SLURM_STEP_TASKS_PER_NODE"}},
      {"SLURM_STEP_NUM_TASKS", "15", {"16 tasks and 15"}},
      {"SLURM_STEP_TASKS_PER_NODE", nullptr, {}},
      {"SLURM_PROCID", "16", {"SLURM_PROCID", "16 of 16 tasks"}},
      {"SLURM_PROCID", nullptr, {"SLURM_PROCID", "nothing", "srun"}},
      {"SLURM_LOCALID", "8", {"SLURM_LOCALID", "8 of 8 tasks"}},
      {"SLURM_HET_SIZE", "2", {"SLURM_HET_SIZE", "--hosts"}},
  };
  for (const Fault& fault : faults) {
    Container c = task_per_device(1, 7);
    if (fault.value == nullptr) {
      c.snapshot.env.unset(fault.variable);
    } else {
      c.snapshot.env.set(fault.variable, fault.value);
    }
    SCOPED_TRACE(std::string(fault.variable) + "=" + (fault.value ? fault.value : "(unset)"));
    // The total alone tells as much when it divides.
    if (fault.told.empty()) {
      EXPECT_EQ(resolved_in(locate_slurm, c).platform.own_rank, 15);
      c.snapshot.env.set("SLURM_STEP_NUM_TASKS", "15");
      EXPECT_THAT(error_in(locate_slurm, c), HasSubstr("multiple"));
      continue;
    }
    std::string line = error_in(locate_slurm, c);
    for (const char* text : fault.told) EXPECT_THAT(line, HasSubstr(text));
  }
}

TEST(Slurm, TenThousandNodes) {
  Container c = container("n10000", {"SLURM_JOB_ID=1", "SLURM_STEP_ID=0",
                                     "SLURM_STEP_NODELIST=n[1-10000]", "SLURM_NODEID=9999"});
  ResolvedCluster resolved = resolved_in(locate_slurm, c);
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(10000));
  EXPECT_EQ(resolved.cluster.world_size, 20000);
}

}  // namespace
}  // namespace envgen
