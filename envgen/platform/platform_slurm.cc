// Slurm. Every task gets a compressed list of the nodes, and its place in SLURM_NODEID and
// SLURM_PROCID. The program srun may start one task per node, whose ranks trainit starts, or one
// task per device. Sources: srun(1) and sbatch(1), "output environment variables".

#include <algorithm>
#include <numeric>
#include <set>

#include "envgen/formats/nodelist.h"
#include "envgen/plan/devices.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading Slurm's variables";

// The range is below the ephemeral ports of Linux, and above the ports of common services.
constexpr int kFirstPort = 15000;
constexpr int kPortCount = 15000;

// Returns whether this process is in a step, which srun starts. A batch script runs only on the
// first node and sees the job's variables. Its SLURM_NTASKS is the number that its steps will have.
bool in_step(const Inputs& inputs) {
  return !first_set(inputs, {"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NODELIST",
                             "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"})
              .name.empty();
}

Variable nodelist_of(const Inputs& inputs) {
  return first_set(inputs, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
}

// Returns a port that is the same on every node of the job. It differs between two jobs, or two
// steps of a job, that share a host.
int port_of(const Inputs& inputs) {
  auto remainder = [](std::string_view digits) {
    int value = 0;
    for (char c : digits) {
      if (c >= '0' && c <= '9') value = (value * 10 + (c - '0')) % kPortCount;
    }
    return value;
  };
  constexpr int kStride = 1009;  // a prime, which separates the steps of a job from the next jobs
  int job = remainder(first_set(inputs, {"SLURM_JOB_ID", "SLURM_JOBID"}).value);
  int step = remainder(first_set(inputs, {"SLURM_STEP_ID", "SLURM_STEPID"}).value);
  return kFirstPort + (job + step * kStride) % kPortCount;
}

base::Result<std::vector<Node>> nodes_of(const Inputs& inputs) {
  Variable list = nodelist_of(inputs);
  if (list.name.empty()) {
    return base::fail(kReading, "SLURM_JOB_NODELIST", "nothing",
                      "start trainit inside a Slurm job, or choose another --platform");
  }
  TRY_ASSIGN(auto hosts, expand_nodelist(list.value, list.name));
  std::vector<Node> nodes;
  std::set<std::string> seen;
  for (std::string& host : hosts) {
    if (!seen.insert(host).second) {
      return base::fail(kReading, std::string(list.name), host + " twice",
                        "a job has each node once: was the variable set by hand?");
    }
    Node node;
    node.host = std::move(host);
    nodes.push_back(std::move(node));
  }
  bool step = list.name == "SLURM_STEP_NODELIST";
  Variable count = step ? first_set(inputs, {"SLURM_STEP_NUM_NODES"})
                        : first_set(inputs, {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"});
  TRY_ASSIGN(auto told, number_in(inputs, count.name));
  if (told && static_cast<std::size_t>(*told) != nodes.size()) {
    return base::fail(kReading, std::string(list.name) + " and " + std::string(count.name),
                      std::to_string(nodes.size()) + " hosts and " + std::to_string(*told),
                      "both come from Slurm: which one was changed by hand?");
  }
  return nodes;
}

base::Result<LocalNode> local_node_of(const Inputs& inputs, const std::vector<Node>& nodes) {
  TRY_ASSIGN(auto node_id, number_in(inputs, "SLURM_NODEID"));
  std::string name(inputs.variable("SLURMD_NODENAME"));
  if (node_id || inputs.request().node_rank) {
    auto local_node =
        local_node_by_index(nodes.size(), inputs.request(), node_id.value_or(0), "SLURM_NODEID");
    if (!local_node || inputs.request().node_rank || name.empty()) return local_node;
    const std::string& host = nodes[static_cast<std::size_t>(local_node->node_rank)].host;
    if (host == name) return local_node;
    return base::fail(
        "finding this node", "SLURM_NODEID and SLURMD_NODENAME",
        std::to_string(local_node->node_rank) + ", which is " + host + ", and " + name,
        "start trainit with srun, or say which node this is with --node-rank");
  }
  for (std::size_t i = 0; i < nodes.size() && !name.empty(); ++i) {
    if (nodes[i].host == name) return LocalNode{static_cast<int>(i), "SLURMD_NODENAME is " + name};
  }
  return local_node_by_name(nodes, inputs, nodelist_of(inputs).name);
}

// Returns the number of tasks that srun started on each node. Returns nothing outside a step, if
// Slurm does not give it, or if each node has one task.
base::Result<std::vector<int>> tasks_of(const Inputs& inputs, std::size_t node_count) {
  std::vector<int> none;
  if (!in_step(inputs)) return none;
  Variable total_name = first_set(inputs, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  TRY_ASSIGN(auto total, number_in(inputs, total_name.name));
  Variable list = first_set(inputs, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  if (list.name.empty()) {
    if (!total || *total == static_cast<int>(node_count)) return none;
    TRY_ASSIGN(auto each, node_count_of({total_name.name, *total},
                                        {"the number of nodes", static_cast<int>(node_count)}));
    return std::vector<int>(node_count, each);
  }
  auto counts = expand_counts(list.value, list.name);
  if (!counts) return std::unexpected(counts.error());
  if (counts->size() != node_count) {
    return base::fail(
        kReading, std::string(list.name),
        std::to_string(counts->size()) + " counts for " + std::to_string(node_count) + " nodes",
        "both come from Slurm: was one of them changed by hand?");
  }
  auto sum = std::accumulate(counts->begin(), counts->end(), std::int64_t{0});
  if (total && *total != sum) {
    return base::fail(kReading, std::string(list.name) + " and " + std::string(total_name.name),
                      std::to_string(sum) + " tasks and " + std::to_string(*total),
                      "both come from Slurm: was one of them changed by hand?");
  }
  if (std::ranges::all_of(*counts, [](int count) { return count == 1; })) return none;
  return counts;
}

// Returns a number of this task. Fails if it is not below `limit`.
base::Result<int> task_number(const Inputs& inputs, std::string_view variable, std::int64_t limit) {
  TRY_ASSIGN(auto value, number_in(inputs, variable));
  if (value && *value < limit) return *value;
  return base::fail(
      "finding this task's rank", std::string(variable),
      value ? std::to_string(*value) + " of " + std::to_string(limit) + " tasks" : "nothing",
      "start trainit with srun, which numbers its tasks");
}

// Locates this task as one of the ranks.
base::Status take_own_rank(const Inputs& inputs, const std::vector<int>& tasks, int node_rank,
                           PlatformFacts& platform) {
  auto world = std::accumulate(tasks.begin(), tasks.end(), std::int64_t{0});
  TRY_ASSIGN(auto rank, task_number(inputs, "SLURM_PROCID", world));
  TRY_ASSIGN(auto local,
             task_number(inputs, "SLURM_LOCALID", tasks[static_cast<std::size_t>(node_rank)]));
  TRY_ASSIGN(auto node_id, number_in(inputs, "SLURM_NODEID"));
  if (inputs.request().node_rank && node_id.value_or(node_rank) != node_rank) {
    return base::fail(
        "finding this task's rank", "--node-rank and SLURM_NODEID",
        std::to_string(node_rank) + " and " + std::to_string(*node_id),
        "each rank is a task of srun here, and SLURM_PROCID and SLURM_LOCALID are of this "
        "one: leave --node-rank away");
  }
  // Slurm numbers the tasks of a node in the order of their ranks, for any distribution.
  const std::int64_t behind = tasks[static_cast<std::size_t>(node_rank)] - 1 - local;
  if (rank < local || world - 1 - rank < behind) {
    return base::fail("finding this task's rank", "SLURM_PROCID and SLURM_LOCALID",
                      std::to_string(rank) + " of " + std::to_string(world) + " and " +
                          std::to_string(local) + " of " +
                          std::to_string(tasks[static_cast<std::size_t>(node_rank)]),
                      "both come from srun: was one of them changed by hand?");
  }
  platform.own_rank = rank;
  platform.local_rank = local;
  return {};
}

// Returns the slots of a node with one task: the devices that Slurm gave it, else those that the
// container shows.
base::Result<std::optional<int>> slots_of(Inputs& inputs) {
  TRY_ASSIGN(auto gpus, number_in(inputs, "SLURM_GPUS_ON_NODE", kSlots));
  TRY_ASSIGN(auto tasks, number_in(inputs, "SLURM_NTASKS_PER_NODE", kSlots));
  int told = gpus.value_or(0);
  // In a batch script, this value is what the user requested. In a step with one task per node it
  // is 1.
  if (told == 0 && !in_step(inputs)) told = tasks.value_or(0);
  return slots_of_node(inputs, told);
}

std::optional<std::string> detect_slurm(Inputs& inputs) {
  Variable job = first_set(inputs, {"SLURM_JOB_ID", "SLURM_JOBID"});
  Variable list = nodelist_of(inputs);
  if (job.name.empty() || list.name.empty()) return std::nullopt;
  return std::string(job.name) + " and " + std::string(list.name) + " are set";
}

Location locate_slurm(Inputs& inputs) {
  auto components = number_in(inputs, "SLURM_HET_SIZE");
  if (!components) return components.error();
  if (components->value_or(1) > 1) {
    return base::Error{
        kReading, "SLURM_HET_SIZE", std::to_string(**components) + " components",
        "heterogeneous jobs have a list for each: give all nodes with --platform bare "
        "--hosts a:8,b:8"};
  }
  Cluster cluster;
  auto nodes = nodes_of(inputs);
  if (!nodes) return nodes.error();
  cluster.nodes = std::move(*nodes);
  auto local_node = local_node_of(inputs, cluster.nodes);
  if (!local_node) return local_node.error();
  auto tasks = tasks_of(inputs, cluster.nodes.size());
  if (!tasks) return tasks.error();

  PlatformFacts platform;
  platform.job_id = std::string(first_set(inputs, {"SLURM_JOB_ID", "SLURM_JOBID"}).value);
  if (!tasks->empty()) {
    if (auto status = take_own_rank(inputs, *tasks, local_node->node_rank, platform); !status) {
      return status.error();
    }
    for (std::size_t i = 0; i < tasks->size(); ++i) cluster.nodes[i].slots = (*tasks)[i];
  } else {
    auto slots = slots_of(inputs);
    if (!slots) return slots.error();
    if (!*slots) return NeedsPaths{};
    for (Node& node : cluster.nodes) node.slots = **slots;
  }
  cluster.master_addr = cluster.nodes[0].host;
  cluster.master_port = port_of(inputs);
  bool alone_on_first = !in_step(inputs) && cluster.nodes.size() > 1;
  ResolvedCluster resolved = make_resolved_cluster(std::move(cluster), std::move(*local_node),
                                                   std::move(platform), inputs);
  if (alone_on_first) {
    resolved.warnings.push_back(
        "SLURM_STEP_ID is not set: a batch script runs on the job's first node only; start trainit "
        "with srun, one task a node");
  }
  return resolved;
}

}  // namespace

extern const Platform kSlurmPlatform = {"slurm", detect_slurm, locate_slurm};

}  // namespace envgen
