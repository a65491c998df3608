#include "envgen/framework/node_job.h"

#include "envgen/plan/devices.h"

namespace envgen {
namespace {

int slots_of(const Node& node) {
  return node.slots > 0 ? node.slots : static_cast<int>(node.devices.size());
}

std::string master_of(const Request& request, const ResolvedCluster& resolved, bool alone) {
  if (!request.master_addr.empty()) return request.master_addr;
  if (alone) return "127.0.0.1";
  if (!resolved.cluster.master_addr.empty()) return resolved.cluster.master_addr;
  const Node& first = resolved.cluster.nodes[0];
  if (!first.host.empty()) return first.host;
  if (!first.container_ip.empty()) return first.container_ip;
  if (!first.host_ip.empty()) return first.host_ip;
  // Tasks of one node without an address from the platform use the loopback address.
  return resolved.cluster.nodes.size() == 1 ? "127.0.0.1" : "";
}

}  // namespace

base::Result<std::optional<NodeJob>> node_job_of(Inputs& inputs, const ResolvedCluster& resolved,
                                                 const char* planning, int default_port) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  NodeJob job;
  job.is_task = resolved.platform.own_rank.has_value();
  if (nodes.empty()) {
    auto slots = slots_of_node(inputs, 0);
    if (!slots) return std::nullopt;
    job.slots = job.world_size = *slots;
  } else {
    job.node_rank = resolved.local_node.node_rank;
    job.node_count = static_cast<int>(nodes.size());
    job.world_size = 0;
    for (int rank = 0; rank < job.node_count; ++rank) {
      const int slots = slots_of(nodes[static_cast<std::size_t>(rank)]);
      if (slots < 1) {
        return base::fail(planning, "node " + std::to_string(rank), "no ranks on it",
                          "say how many ranks a node runs with --slots");
      }
      if (rank == job.node_rank) {
        job.slots = slots;
        job.first_rank = job.world_size;
      }
      job.mixed_slots = job.mixed_slots || slots != slots_of(nodes[0]);
      job.world_size += slots;
    }
  }
  const int told = inputs.request().master_port.value_or(resolved.cluster.master_port);
  job.port_given = told > 0;
  job.port = job.port_given ? told : default_port;
  job.address = master_of(inputs.request(), resolved, job.alone());
  job.min_nodes = resolved.platform.min_nodes;
  return job;
}

base::Status needs_master(const NodeJob& job, const char* planning) {
  if (!job.address.empty()) return {};
  return base::fail(planning, "the master's address",
                    "neither MASTER_ADDR nor the first node's host", "name it with --master-addr");
}

std::string flag_address(const std::string& address) {
  const bool bare_v6 = address.find(':') != std::string::npos && !address.starts_with('[');
  return bare_v6 ? "[" + address + "]" : address;
}

std::string endpoint_of(const NodeJob& job) {
  return flag_address(job.address) + ":" + std::to_string(job.port);
}

}  // namespace envgen
