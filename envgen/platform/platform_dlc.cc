// PAI-DLC (Alibaba Cloud). A PyTorch job has MASTER_ADDR, MASTER_PORT, WORLD_SIZE (nodes), RANK (of
// the node) and NPROC_PER_NODE. A TensorFlow job has TF_CONFIG. No variable distinguishes them from
// Kubeflow's jobs, but their job ids and host names begin with "dlc" ("dlc18isgeayd-master-0").
// Source: "Built-in environment variables" in Platform for AI's documentation.

#include "envgen/plan/devices.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr const char* kCodeDir = "/root/code";  // the directory into which DLC clones the job's
                                                // code

// Starts in the code directory if the image chose no directory. Returns false while the snapshot
// lacks the path.
bool choose_start(Inputs& inputs, PlatformFacts& platform) {
  const std::string& cwd = inputs.facts().cwd;
  if (!cwd.empty() && cwd != "/" && cwd != "/root") return true;
  const PathState* state = inputs.kind(kCodeDir);
  if (state == nullptr) return false;
  if (state->kind == PathState::Kind::kDirectory) platform.cwd = kCodeDir;
  return true;
}

// Adds the variables for a command such as `torchrun --nnodes $WORLD_SIZE --node_rank $RANK`.
void promise(const ResolvedCluster& resolved, PlatformFacts& platform) {
  const Cluster& cluster = resolved.cluster;
  const int slots = cluster.nodes[static_cast<std::size_t>(resolved.local_node.node_rank)].slots;
  platform.env = {
      {base::EnvEdit::Kind::kSet, "MASTER_ADDR", cluster.master_addr},
      {base::EnvEdit::Kind::kSet, "MASTER_PORT", std::to_string(cluster.master_port)},
      {base::EnvEdit::Kind::kSet, "WORLD_SIZE", std::to_string(cluster.nodes.size())},
      {base::EnvEdit::Kind::kSet, "RANK", std::to_string(resolved.local_node.node_rank)},
      {base::EnvEdit::Kind::kSet, "NPROC_PER_NODE", std::to_string(slots)},
  };
}

base::Error missing(const char* variable, const char* meaning) {
  return {"finding this node", variable, "that it is not set, and MASTER_ADDR is",
          std::string("DLC sets it to ") + meaning + ": set it, or use --platform local"};
}

Location locate_by_master(Inputs& inputs, PlatformFacts platform) {
  auto count = number_in(inputs, "WORLD_SIZE");
  if (!count) return count.error();
  if (!*count) return missing("WORLD_SIZE", "the number of nodes");
  auto rank = number_in(inputs, "RANK");
  if (!rank) return rank.error();
  if (!*rank && !inputs.request().node_rank) return missing("RANK", "this node's rank");
  auto port = number_in(inputs, "MASTER_PORT", kPorts);
  if (!port) return port.error();
  auto told = number_in(inputs, "NPROC_PER_NODE", kSlots);
  if (!told) return told.error();
  auto slots = slots_of_node(inputs, told->value_or(0));
  if (!slots) return NeedsPaths{};

  auto nodes = nameless_nodes(**count, *slots, "WORLD_SIZE");
  if (!nodes) return nodes.error();
  auto local_node = local_node_by_index(nodes->size(), inputs.request(), rank->value_or(0), "RANK");
  if (!local_node) return local_node.error();
  const std::string_view master = inputs.variable("MASTER_ADDR");
  auto status = check_given_master(master, "MASTER_ADDR", local_node->node_rank, nodes->size());
  if (!status && inputs.request().master_addr.empty()) return status.error();
  constexpr int kMasterPort = 23456;
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  cluster.master_addr =
      inputs.request().master_addr.empty() ? std::string(master) : inputs.request().master_addr;
  cluster.master_port = port->value_or(kMasterPort);
  // Only the master's name is known: other nodes have one only if the job asks for it
  // (createSvcForAllWorkers).
  cluster.nodes[0].host = cluster.master_addr;

  std::string_view own_launcher = inputs.command().framework();
  if (cluster.nodes.size() > 1 && (own_launcher.empty() || own_launcher == "pytorch")) {
    platform.framework = "pytorch";
    platform.framework_reason = "MASTER_ADDR is set";
  }
  ResolvedCluster resolved = make_resolved_cluster(std::move(cluster), std::move(*local_node),
                                                   std::move(platform), inputs);
  promise(resolved, resolved.platform);
  return resolved;
}

std::optional<std::string> detect_dlc(Inputs& inputs) {
  if (!inputs.variable("DLC_JOB_ID").empty()) return "DLC_JOB_ID is set";
  if (inputs.variable("MASTER_ADDR").starts_with("dlc") && !inputs.variable("WORLD_SIZE").empty()) {
    return "MASTER_ADDR is a DLC job's";
  }
  if (inputs.variable("TF_CONFIG").find("\"dlc") != std::string_view::npos) {
    return "TF_CONFIG lists a DLC job's hosts";
  }
  return std::nullopt;
}

Location locate_dlc(Inputs& inputs) {
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("DLC_JOB_ID"));
  if (!choose_start(inputs, platform)) return NeedsPaths{};
  const std::string& wanted = inputs.request().framework;
  const bool tensorflow = wanted.empty() || wanted == "tensorflow";
  if (tensorflow && !inputs.variable("TF_CONFIG").empty()) {
    return locate_by_tf_config(inputs, std::move(platform));
  }
  if (!inputs.variable("MASTER_ADDR").empty()) return locate_by_master(inputs, std::move(platform));
  auto slots = slots_of_node(inputs, 0);
  if (!slots) return NeedsPaths{};
  auto nodes = nameless_nodes(1, *slots, "platform dlc");
  if (!nodes) return nodes.error();
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  platform.alone_by_default = true;
  return make_resolved_cluster(std::move(cluster),
                               {0, "one node: neither MASTER_ADDR nor TF_CONFIG is set"},
                               std::move(platform), inputs);
}

}  // namespace

extern const Platform kDlcPlatform = {"dlc", detect_dlc, locate_dlc};

}  // namespace envgen
