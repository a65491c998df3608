// Azure Machine Learning. With the distribution "pytorch" each process has MASTER_ADDR, MASTER_PORT
// (6105), WORLD_SIZE, NODE_RANK, RANK and LOCAL_RANK. With "mpi" it has OpenMPI's variables and
// AZ_BATCH_MASTER_NODE ("address:port"). That port belongs to Azure Batch and is not for ranks
// ("Azure Batch runtime environment variables").
// Either distribution starts one process on each node, whose ranks trainit starts, or one process
// for each device. Source: "Distributed GPU training guide" of Azure Machine Learning's documents
// (how-to-train-distributed-gpu.md). The guide does not say that AZUREML_NODE_COUNT counts nodes;
// public jobs use it so.

#include "envgen/formats/hosts.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

constexpr const char* kCounting = "counting the nodes";
constexpr int kAzureMasterPort = 6105;

// Requires a variable of the service and a number of this process.
std::optional<std::string> detect_azureml(Inputs& inputs) {
  const Variable site = first_set(
      inputs, {"AZUREML_NODE_COUNT", "AZ_BATCH_MASTER_NODE", "AZ_BATCHAI_MPI_MASTER_NODE"});
  const Variable number = first_set(inputs, {"NODE_RANK", "RANK", "OMPI_COMM_WORLD_RANK"});
  if (site.name.empty() || number.name.empty()) return std::nullopt;
  return std::string(site.name) + " and " + std::string(number.name) + " are set";
}

base::Result<GivenMaster> master_of(const Inputs& inputs) {
  TRY_ASSIGN(auto master, given_master(inputs));
  const std::string_view batch = inputs.variable("AZ_BATCH_MASTER_NODE");
  if (master.address.empty() && !batch.empty()) {
    const auto endpoint = parse_host_port(batch);
    if (!endpoint) {
      return base::fail("finding the master", "AZ_BATCH_MASTER_NODE", std::string(batch),
                        "it has to be address:port; or say --master-addr");
    }
    master.address = endpoint->host;
    master.source = "AZ_BATCH_MASTER_NODE";
  }
  if (master.address.empty()) {
    master.address = std::string(inputs.variable("AZ_BATCHAI_MPI_MASTER_NODE"));
    master.source = "AZ_BATCHAI_MPI_MASTER_NODE";
  }
  if (master.port == 0) master.port = kAzureMasterPort;
  return master;
}

// Returns the started processes: how many in total and on a node, and which one this is. If the
// number of nodes is not known, returns nothing and sets `uncounted` to the reason.
base::Result<std::optional<GivenTask>> task_of(const Inputs& inputs,
                                               std::optional<base::Error>& uncounted) {
  const bool mpi = !inputs.variable("OMPI_COMM_WORLD_RANK").empty();
  TRY_ASSIGN(auto count, number_in(inputs, "AZUREML_NODE_COUNT", {.least = 1}));
  if (!count) count = inputs.request().nodes;
  const char* world_name = mpi ? "OMPI_COMM_WORLD_SIZE" : "WORLD_SIZE";
  const char* each_name = mpi ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "LOCAL_WORLD_SIZE";
  TRY_ASSIGN(auto world, number_in(inputs, world_name, {.least = 1}));
  TRY_ASSIGN(auto each, number_in(inputs, each_name, {.least = 1, .most = kMaxSlots}));
  if (!world) world = count;  // one on each node
  if (!world) {
    uncounted = base::Error{kCounting, std::string(world_name) + " and AZUREML_NODE_COUNT",
                            "nothing", "say how many nodes the job has with --nodes"};
    return std::nullopt;
  }
  if (!each) {
    if (!count) {
      uncounted = base::Error{kCounting, "AZUREML_NODE_COUNT",
                              "nothing, and " + std::to_string(*world) + " processes",
                              "say how many nodes the job has with --nodes"};
      return std::nullopt;
    }
    TRY_ASSIGN(each, node_count_of({world_name, *world}, {"AZUREML_NODE_COUNT", *count}));
  }
  TRY_ASSIGN(auto rank, number_in(inputs, mpi ? "OMPI_COMM_WORLD_RANK" : "RANK"));
  TRY_ASSIGN(auto local, number_in(inputs, mpi ? "OMPI_COMM_WORLD_LOCAL_RANK" : "LOCAL_RANK"));
  TRY_ASSIGN(auto node, number_in(inputs, "NODE_RANK"));
  if (!rank && !node && !inputs.request().node_rank) {
    return base::fail("finding this node", "NODE_RANK and RANK", "nothing",
                      "choose the job's distribution pytorch, which sets them, or say --node-rank");
  }
  GivenTask task{.rank = rank.value_or(node.value_or(0)),
                 .world = *world,
                 .each = *each,
                 .source = mpi    ? "OMPI_COMM_WORLD_RANK"
                           : rank ? "RANK"
                                  : "NODE_RANK"};
  task.local_rank = local.value_or(task.rank % task.each);
  if (!rank && task.each > 1) {
    return base::fail("finding this task's rank", "RANK",
                      "nothing, while each node has " + std::to_string(task.each) + " processes",
                      "Azure ML sets it for each process: was it unset on the way?");
  }
  if (!mpi && node && *node != task.rank / task.each && !inputs.request().node_rank) {
    return base::fail("finding this node", "NODE_RANK and RANK",
                      std::to_string(*node) + " and " + std::to_string(task.rank) + " with " +
                          std::to_string(task.each) + " processes on a node",
                      "both come from Azure ML: was one of them changed by hand?");
  }
  return task;
}

// Programs under mpirun read its own variables. They are ranks only if the user asks for ranks.
Location locate_started(const Inputs& inputs, const GivenTask& task, GivenMaster master) {
  Location location = locate_task(inputs, task, std::move(master), PlatformFacts{});
  auto* resolved = std::get_if<ResolvedCluster>(&location);
  const bool mpi = task.source == "OMPI_COMM_WORLD_RANK";
  if (resolved != nullptr && mpi && !asks_for_ranks(inputs.request())) {
    resolved->platform.own_rank.reset();
    resolved->platform.framework = "single";
  }
  return location;
}

Location locate_azureml(Inputs& inputs) {
  PlatformFacts platform;
  auto told = task_of(inputs, platform.uncounted);
  if (!told) return told.error();
  if (!*told) {
    return ResolvedCluster{.cluster = {},
                           .local_node = {0, "one process"},
                           .platform = std::move(platform),
                           .waits = {},
                           .warnings = {}};
  }
  const GivenTask& task = **told;
  auto master = master_of(inputs);
  if (!master) return master.error();
  if (task.each > 1) return locate_started(inputs, task, std::move(*master));
  auto nodes = nameless_nodes(task.world, 0, "the number of nodes");
  if (!nodes) return nodes.error();
  return locate_node(inputs, std::move(*nodes), {task.rank, task.source}, std::move(*master),
                     std::move(platform), 0);
}

}  // namespace

extern const Platform kAzureMlPlatform = {"azureml", detect_azureml, locate_azureml};

}  // namespace envgen
