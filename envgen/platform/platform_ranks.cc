#include "envgen/platform/platform_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "envgen/formats/tfconfig.h"
#include "envgen/plan/devices.h"

namespace envgen {
namespace {

constexpr const char* kFinding = "finding this task's rank";

// Sets the master from the platform's variables; options have priority.
base::Status take_master(const Inputs& inputs, GivenMaster master, int node_rank,
                         Cluster& cluster) {
  if (inputs.request().master_addr.empty() && !master.address.empty()) {
    TRY(check_given_master(master.address, master.source, node_rank, cluster.nodes.size()));
  }
  cluster.master_addr = std::move(master.address);
  if (!inputs.request().master_addr.empty()) cluster.master_addr = inputs.request().master_addr;
  cluster.master_port = master.port;
  if (cluster.nodes[0].host.empty()) cluster.nodes[0].host = cluster.master_addr;
  return {};
}

}  // namespace

base::Result<GivenMaster> given_master(const Inputs& inputs) {
  GivenMaster master{std::string(inputs.variable("MASTER_ADDR")), "MASTER_ADDR", 0};
  TRY_ASSIGN(auto port, number_in(inputs, "MASTER_PORT", kPorts));
  master.port = port.value_or(0);
  return master;
}

Location locate_node(Inputs& inputs, std::vector<Node> nodes, const GivenNode& own,
                     GivenMaster master, PlatformFacts platform, int given_slots) {
  const auto asks = [](const Node& node) { return node.slots == 0 && tf_ranks(node.role) > 0; };
  const bool asked = std::ranges::any_of(nodes, asks);
  const auto slots = asked ? slots_of_node(inputs, given_slots) : 0;
  if (!slots) return NeedsPaths{};
  auto local_node = local_node_by_index(nodes.size(), inputs.request(), own.rank, own.source);
  if (!local_node) return local_node.error();
  Cluster cluster;
  cluster.nodes = std::move(nodes);
  for (Node& node : cluster.nodes) {
    if (asks(node)) node.slots = *slots;
  }
  auto status = take_master(inputs, std::move(master), local_node->node_rank, cluster);
  if (!status) return status.error();
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), std::move(platform),
                               inputs);
}

Location locate_task(const Inputs& inputs, const GivenTask& task, GivenMaster master,
                     PlatformFacts platform) {
  auto count =
      node_count_of({"the number of tasks", task.world}, {"the tasks of a node", task.each});
  if (!count) return count.error();
  auto nodes = nameless_nodes(*count, task.each, task.source);
  if (!nodes) return nodes.error();
  if (task.rank >= task.world || task.local_rank >= task.each ||
      task.rank % task.each != task.local_rank) {
    return base::Error{kFinding, task.source,
                       std::to_string(task.rank) + " of " + std::to_string(task.world) +
                           ", and number " + std::to_string(task.local_rank) + " of " +
                           std::to_string(task.each) + " on its node",
                       "ranks count from 0, and those of a node follow one another: was one of the "
                       "variables changed by hand?"};
  }
  if (inputs.request().node_rank && *inputs.request().node_rank != task.rank / task.each) {
    return base::Error{
        kFinding, "--node-rank and " + task.source,
        std::to_string(*inputs.request().node_rank) + " and " + std::to_string(task.rank),
        "each rank is a task of its own here: leave --node-rank away"};
  }
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  LocalNode local_node{task.rank / task.each, task.source + " is " + std::to_string(task.rank)};
  auto status = take_master(inputs, std::move(master), local_node.node_rank, cluster);
  if (!status) return status.error();
  platform.own_rank = task.rank;
  platform.local_rank = task.local_rank;
  return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                               inputs);
}

std::vector<Node> nodes_of_slots(const std::vector<std::string>& hosts) {
  std::vector<Node> nodes;
  std::map<std::string_view, std::size_t> places;
  for (const std::string& host : hosts) {
    auto [place, first] = places.emplace(host, nodes.size());
    if (first) {
      nodes.emplace_back();
      nodes.back().host = host;
    }
    ++nodes[place->second].slots;
  }
  return nodes;
}

Location locate_in_batch(Inputs& inputs, std::vector<Node> nodes, std::string_view where,
                         PlatformFacts platform) {
  auto devices = count_devices(inputs);
  if (!devices) return NeedsPaths{};
  note_uncounted(inputs, *devices);
  const int chosen = inputs.request().slots.value_or(devices->known ? devices->count : 1);
  for (Node& node : nodes) node.slots = chosen > 0 ? chosen : node.slots;
  auto local_node = nodes.size() == 1 ? local_node_by_index(1, inputs.request(), 0, where)
                                      : local_node_by_name(nodes, inputs, where);
  if (!local_node) return local_node.error();
  if (nodes.size() == 1 && !inputs.request().node_rank) {
    local_node->reason = std::string(where) + " has one host";
  }
  Cluster cluster;
  cluster.nodes = std::move(nodes);
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), std::move(platform),
                               inputs);
}

}  // namespace envgen
