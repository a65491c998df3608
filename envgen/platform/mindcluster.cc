#include "envgen/platform/mindcluster.h"

#include <algorithm>

#include "envgen/platform/table_location.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading the Ascend operator's variables";

// The names of five variables of the operator, which differ between frameworks.
struct OperatorNames {
  const char* master_addr;
  const char* master_port;
  const char* world;
  const char* local;
  const char* node_rank;
};
constexpr OperatorNames kPyTorch = {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                                    "RANK"};
constexpr OperatorNames kMindSpore = {"MS_SCHED_HOST", "MS_SCHED_PORT", "MS_WORKER_NUM",
                                      "MS_LOCAL_WORKER", "MS_NODE_RANK"};
constexpr OperatorNames kTensorFlow = {"CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_WORKER_SIZE",
                                       "CM_LOCAL_WORKER", "CM_RANK"};

bool has_all(const Inputs& inputs, const OperatorNames& names) {
  if (mindcluster_variable(inputs).name.empty()) return false;
  for (const char* name : {names.master_addr, names.world, names.local}) {
    if (inputs.variable(name).empty()) return false;
  }
  return true;
}

base::Result<int> needed(const Inputs& inputs, const char* variable) {
  TRY_ASSIGN(auto value, number_in(inputs, variable));
  if (value) return *value;
  return base::fail(kReading, variable, "nothing",
                    "the operator sets it; was it unset on the way?");
}

// Checks LOCAL_RANK, which the operator sets to a list: "0,1,2,3".
base::Status check_local_ranks(const Inputs& inputs, int local) {
  std::string_view list = inputs.variable("LOCAL_RANK");
  if (list.find(',') == std::string_view::npos) return {};
  auto count = static_cast<int>(std::ranges::count(list, ',')) + 1;
  if (count == local) return {};
  return base::fail(kReading, "LOCAL_RANK and LOCAL_WORLD_SIZE",
                    std::to_string(count) + " ranks and " + std::to_string(local),
                    "both come from the operator: was one of them changed by hand?");
}

// Returns whether this is the scheduler's pod without a chip. The operator's numbers do not count
// it as a node.
bool is_bare_scheduler(const Inputs& inputs) {
  return inputs.variable("MS_ROLE") == "MS_SCHED" && inputs.variable("NPU_POD") != "true";
}

Location locate_by_operator(const Inputs& inputs, const OperatorNames& names,
                            PlatformFacts platform) {
  auto world = needed(inputs, names.world);
  if (!world) return world.error();
  auto local = needed(inputs, names.local);
  if (!local) return local.error();
  auto count = node_count_of({names.world, *world}, {names.local, *local});
  if (!count) return count.error();
  if (auto status = check_local_ranks(inputs, *local); !status) return status.error();
  auto nodes = nameless_nodes(*count, *local, names.world);
  if (!nodes) return nodes.error();

  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  cluster.master_addr = std::string(inputs.variable(names.master_addr));
  auto port = number_in(inputs, names.master_port, kPorts);
  if (!port) return port.error();
  cluster.master_port = port->value_or(0);
  if (is_bare_scheduler(inputs)) {
    LocalNode local_node{*count, "MS_ROLE is MS_SCHED and NPU_POD is not true"};
    Node scheduler;
    scheduler.role = "scheduler";
    scheduler.host = cluster.master_addr;
    cluster.nodes.push_back(std::move(scheduler));
    return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                                 inputs);
  }
  auto rank = needed(inputs, names.node_rank);
  if (!rank) return rank.error();
  auto local_node =
      local_node_by_index(cluster.nodes.size(), inputs.request(), *rank, names.node_rank);
  if (!local_node) return local_node.error();
  // The master of a PyTorch job is its first node. MindSpore's scheduler may be a pod of its own.
  if (&names == &kPyTorch) cluster.nodes[0].host = cluster.master_addr;
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), std::move(platform),
                               inputs);
}

LocalNodeHints table_hints(const Inputs& inputs) {
  LocalNodeHints hints;
  const struct {
    const char* variable;
    std::vector<LocalNodeHints::Hint>& list;
  } variables[] = {
      // In Huawei's examples, XDL_IP is the address of the host.
      {"POD_NAME", hints.pod_names}, {"POD_IP", hints.container_ips}, {"HOST_IP", hints.host_ips},
      {"XDL_IP", hints.host_ips},    {"POD_UID", hints.server_ids},   {"POD_IP", hints.server_ids},
      {"HOST_IP", hints.server_ids}, {"XDL_IP", hints.server_ids},
  };
  for (const auto& [variable, list] : variables) {
    std::string value(inputs.variable(variable));
    if (!value.empty()) list.push_back({variable, std::move(value)});
  }
  const Facts& facts = inputs.facts();
  hints.pod_names.push_back({"the host name", facts.host_name});
  hints.server_ids.push_back({"the host name", facts.host_name});
  for (const std::string& address : facts.addresses) {
    for (auto* list : {&hints.container_ips, &hints.host_ips, &hints.server_ids}) {
      list->push_back({"an interface address", address});
    }
  }
  return hints;
}

Location locate_by_named_table(Inputs& inputs, const std::string& path, PlatformFacts platform) {
  // A template 2 does not state the order of ranks; HCCL orders by server_id.
  Location location =
      locate_by_table(inputs, path, RankOrder::kServerId, table_hints(inputs), std::move(platform));
  auto* resolved = std::get_if<ResolvedCluster>(&location);
  if (resolved == nullptr) return location;
  Cluster& cluster = resolved->cluster;
  if (!has_all(inputs, kPyTorch)) return location;
  auto world = needed(inputs, kPyTorch.world);
  if (!world) return world.error();
  if (*world != cluster.world_size) {
    return base::Error{
        "comparing the rank table with the operator's variables", path + " and WORLD_SIZE",
        std::to_string(cluster.world_size) + " devices and " + std::to_string(*world),
        "is it the table of another job?"};
  }
  auto port = number_in(inputs, "MASTER_PORT", kPorts);
  if (!port) return port.error();
  cluster.master_addr = std::string(inputs.variable("MASTER_ADDR"));
  cluster.master_port = port->value_or(0);
  return location;
}

}  // namespace

Variable mindcluster_variable(const Inputs& inputs) {
  Variable found = first_set(inputs, {"NPU_POD", "MINDX_TASK_ID", "MINDX_SERVER_IP",
                                      "MS_LOCAL_WORKER", "CM_LOCAL_WORKER"});
  std::string_view local = inputs.variable("LOCAL_RANK");
  bool is_list = local.find(',') != std::string_view::npos;
  return found.name.empty() && is_list ? Variable{"LOCAL_RANK", local} : found;
}

std::optional<Location> locate_by_mindcluster(Inputs& inputs) {
  PlatformFacts platform;
  bool pytorch = has_all(inputs, kPyTorch);
  if (pytorch) {
    platform.framework = "pytorch";
    platform.framework_reason = "LOCAL_WORLD_SIZE is set";
  }
  auto path = find_rank_table(inputs);
  if (!path) return NeedsPaths{};
  if (!path->empty()) return locate_by_named_table(inputs, *path, std::move(platform));
  if (pytorch) return locate_by_operator(inputs, kPyTorch, std::move(platform));
  // MindSpore uses these variables instead of a rank table, if both exist.
  bool wants_table = inputs.request().ascend_launcher == AscendLauncher::kRankTable;
  if (has_all(inputs, kMindSpore) && !wants_table) {
    platform.framework = "ascend";
    platform.framework_reason = "MS_WORKER_NUM is set";
    platform.ascend_launcher = AscendLauncher::kDynamic;
    platform.mindspore_scheduler = inputs.variable("MS_ROLE") == "MS_SCHED";
    return locate_by_operator(inputs, kMindSpore, std::move(platform));
  }
  const PathState* table = inputs.kind(kMountedRankTable);
  if (table == nullptr) return NeedsPaths{};
  if (table->kind != PathState::Kind::kAbsent || wants_table) {
    return locate_by_named_table(inputs, kMountedRankTable, std::move(platform));
  }
  if (has_all(inputs, kTensorFlow))
    return locate_by_operator(inputs, kTensorFlow, std::move(platform));
  return std::nullopt;
}

}  // namespace envgen
