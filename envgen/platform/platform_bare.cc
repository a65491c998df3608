// No platform, but the user names the nodes. The possible sources:
// - Ascend as in the MindSpore document: a rank table file on every machine, physical device ids,
//   ranks in the order of server_id.
// - Ascend without a table: the host's /etc/hccn.conf.
// - The hosts of --hosts.
// - A cluster of --nodes, --node-rank and --master-addr (else MASTER_ADDR), as torchrun's flags of
//   these names make one.

#include "base/text.h"
#include "envgen/plan/devices.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"
#include "envgen/platform/table_location.h"
#include "envgen/ranktable/hccn.h"

namespace envgen {
namespace {

constexpr const char* kHccnConf = "/etc/hccn.conf";

LocalNodeHints hints_of(const Inputs& inputs) {
  LocalNodeHints hints;
  auto add = [&inputs](std::vector<LocalNodeHints::Hint>& list, const char* variable) {
    std::string value(inputs.variable(variable));
    if (!value.empty()) list.push_back({variable, std::move(value)});
  };
  const Facts& facts = inputs.facts();
  add(hints.pod_names, "POD_NAME");
  hints.pod_names.push_back({"the host name", facts.host_name});
  add(hints.container_ips, "POD_IP");
  add(hints.host_ips, "HOST_IP");
  add(hints.server_ids, "POD_UID");
  add(hints.server_ids, "HOST_IP");
  add(hints.server_ids, "POD_IP");
  hints.server_ids.push_back({"the host name", facts.host_name});
  for (const std::string& address : facts.addresses) {
    hints.container_ips.push_back({"an interface address", address});
    hints.host_ips.push_back({"an interface address", address});
    hints.server_ids.push_back({"an interface address", address});
  }
  return hints;
}

// Returns the value that the container runtime uses: the last one of duplicates.
std::optional<std::string> visible_devices(const base::Environ& env) {
  constexpr std::string_view kName = "ASCEND_VISIBLE_DEVICES=";
  std::optional<std::string> value;
  for (const std::string& entry : env.entries()) {
    if (entry.starts_with(kName)) value = entry.substr(kName.size());
  }
  return value;
}

// "Ascend910-0,npu-1,2-3" -> "0,1,2-3".
std::string numbers_of(std::string_view list) {
  std::string numbers;
  while (!list.empty()) {
    std::string_view part = base::take_part(list, ',');
    const bool named = !part.empty() && (part[0] < '0' || part[0] > '9') && part[0] != ' ';
    if (named) part.remove_prefix(part.rfind('-') + 1);
    if (!numbers.empty()) numbers += ',';
    numbers += part;
  }
  return numbers;
}

// Returns the devices to use without a table: those of the user, else of the container runtime,
// else all of hccn.conf.
base::Result<std::vector<int>> devices_of(const Inputs& inputs,
                                          const std::map<int, std::string>& hccn) {
  if (!inputs.request().devices.empty()) {
    return parse_device_list(inputs.request().devices, "--devices");
  }
  if (auto visible = visible_devices(inputs.env())) {
    if (visible->empty() || *visible == "void") {
      return base::fail(
          "finding the Ascend devices", "ASCEND_VISIBLE_DEVICES", base::quoted(*visible),
          "it gives this container no device: change it, or name them with --devices");
    }
    return parse_device_list(numbers_of(*visible), "ASCEND_VISIBLE_DEVICES");
  }
  if (hccn.empty()) {
    return base::fail(
        "finding the Ascend devices", kHccnConf, "no device",
        "name a rank table with RANK_TABLE_FILE, the devices with --devices 0-7, or mount "
        "the host's /etc/hccn.conf");
  }
  std::vector<int> devices;
  devices.reserve(hccn.size());
  for (const auto& [id, address] : hccn) devices.push_back(id);
  return devices;
}

Location locate_by_hccn(Inputs& inputs) {
  const PathState* state = inputs.content(kHccnConf);
  if (state == nullptr) return NeedsPaths{};
  std::map<int, std::string> addresses;
  if (state->kind == PathState::Kind::kFile) {
    auto parsed = parse_hccn_conf(state->content, kHccnConf);
    if (!parsed) return parsed.error();
    addresses = std::move(*parsed);
  }
  auto devices = devices_of(inputs, addresses);
  if (!devices) return devices.error();

  const Facts& facts = inputs.facts();
  std::string server_id = facts.addresses.empty() ? facts.host_name : facts.addresses.front();
  if (server_id.empty()) server_id = "localhost";
  std::string text = generate_rank_table(server_id, *devices, addresses);
  auto parsed = RankTable::parse(text, "the table generated from hccn.conf");
  if (!parsed) return parsed.error().error;
  auto ranked = std::move(*parsed).rank(inputs.request().rank_order.value_or(RankOrder::kServerId));
  if (!ranked) return ranked.error();

  ResolvedCluster resolved;
  resolved.cluster.nodes = ranked->nodes();
  // A text that exists has a size, which the plan shows.
  resolved.cluster.rank_table = ranked->text().text();
  auto warnings = table_warnings(ranked->warnings(), resolved.cluster.nodes, inputs.request(),
                                 "the devices of this host");
  if (!warnings) return warnings.error();
  resolved.warnings = std::move(*warnings);
  resolved.cluster.world_size = static_cast<int>(devices->size());
  resolved.local_node = {0, "no rank table: the devices of this host are the job"};
  const Request& request = inputs.request();
  resolved.platform.alone_by_default = request.devices.empty() || request.nodes.has_value();
  for (int id : *devices) {
    if (addresses.contains(id)) continue;
    resolved.warnings.push_back("device " + std::to_string(id) + " has no address in " + kHccnConf +
                                "; HCCL needs none on a single server");
  }
  return resolved;
}

Location locate_by_hosts(Inputs& inputs) {
  // Hosts with a number of slots do not depend on this node's devices.
  auto nodes = nodes_of_hosts_option(inputs.request(), 0);
  if (!nodes) return nodes.error();
  for (Node& node : *nodes) {
    if (node.slots > 0) continue;
    auto slots = slots_of_node(inputs, 0);
    if (!slots) return NeedsPaths{};
    node.slots = *slots;
  }
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  auto local_node = local_node_by_name(cluster.nodes, inputs, "--hosts");
  if (!local_node) return local_node.error();
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), PlatformFacts{}, inputs);
}

Location locate_by_count(Inputs& inputs) {
  const Request& request = inputs.request();
  auto nodes = nameless_nodes(request.nodes.value_or(1), 0, "--nodes");
  if (!nodes) return nodes.error();
  auto master = given_master(inputs);
  if (!master) return master.error();
  return locate_node(inputs, std::move(*nodes), {request.node_rank.value_or(0), "--node-rank"},
                     std::move(*master), PlatformFacts{}, 0);
}

std::optional<std::string> detect_bare(Inputs& inputs) {
  if (!inputs.request().rank_table.empty()) return "--rank-table is given";
  if (!inputs.request().hosts.empty()) return "--hosts is given";
  const Variable table = rank_table_variable(inputs);
  if (!table.name.empty()) return std::string(table.name) + " names a file";
  if (!inputs.request().devices.empty()) return "--devices is given";
  if (inputs.request().nodes && inputs.request().node_rank) {
    return "--nodes and --node-rank are given";
  }
  if (inputs.request().framework == "ascend") return "--framework ascend without a platform";
  return std::nullopt;
}

Location locate_bare(Inputs& inputs) {
  const Request& request = inputs.request();
  if (!request.hosts.empty() && !request.rank_table.empty()) {
    return base::Error{"finding the nodes", "--hosts and --rank-table", "both",
                       "give the rank table alone: it has the nodes"};
  }
  // RANK_TABLE_FILE may be an image's default, but --hosts belongs to this job.
  if (!request.hosts.empty()) return locate_by_hosts(inputs);
  auto path = find_rank_table(inputs);
  if (!path) return NeedsPaths{};
  if (path->empty()) {
    const bool counted = request.devices.empty() && request.nodes && request.node_rank;
    return counted ? locate_by_count(inputs) : locate_by_hccn(inputs);
  }
  return locate_by_table(inputs, *path, RankOrder::kServerId, hints_of(inputs), PlatformFacts{});
}

}  // namespace

extern const Platform kBarePlatform = {"bare", detect_bare, locate_bare};

}  // namespace envgen
