#include "envgen/resolve/node_link.h"

#include <algorithm>

#include "envgen/framework/framework.h"
#include "envgen/framework/ssh.h"
#include "envgen/resolve/restart_policy.h"

namespace envgen {
namespace {

constexpr int kMostPort = 65535;

// The next one behind the master's that no node of the job has for itself: tasks on one host may
// have theirs in a row.
int port_behind(int master_port, const Cluster& cluster) {
  int port = master_port;
  const auto taken = [&](int candidate) {
    return candidate == master_port ||
           std::ranges::find(cluster.nodes, candidate, &Node::port) != cluster.nodes.end();
  };
  while (port <= kMostPort && taken(port)) ++port;
  if (port <= kMostPort) return port;
  for (port = master_port; port > 1 && taken(port); --port) {
  }
  return port;
}

// Its processes depend on one another: a collective that one has left never ends on the others.
bool depends(const ResolvedCluster& resolved, const Plan& plan) {
  const FrameworkLauncher& launcher = launcher_of(plan.framework);
  if (launcher.only_starts) return false;
  return launcher.needs_ssh_peers || ranks_everywhere(resolved, plan);
}

}  // namespace

void plan_node_link(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  const Request& request = inputs.request();
  const Participants participants = participants_of(resolved);
  if (participants.count < 2 || participants.rank >= participants.count) return;
  RendezvousAddress master = rendezvous_address(request, resolved);
  if (master.address.empty()) return;
  const bool together = plan.policy.rendezvous_ms > 0;
  const bool stops = request.on_node_failure ? *request.on_node_failure == OnNodeFailure::kStop
                                             : depends(resolved, plan);
  NodeLink link{.address = std::move(master.address),
                .port = request.link_port.value_or(port_behind(master.port, resolved.cluster)),
                .node_rank = participants.rank,
                .node_count = participants.count,
                .master_port = together ? master.port : 0,
                .stops = stops || together,
                .timeout_ms = request.link_timeout_ms};
  // Somebody else answers the loss of a node: an agent that was started for a range of nodes, a
  // launcher that is started again, or the list of nodes, which is about to change.
  const bool alone = plan.policy.max_restarts > 0 && !together;
  const bool listed = plan.policy.elastic && plan.policy.max_restarts == 0;
  link.loss_counts = link.stops && !plan.elastic_launcher && !alone && !listed;
  link.stop_counts = link.stops && !plan.elastic_launcher && !alone && !plan.policy.elastic;
  plan.link = std::move(link);
  tell_workers_by_link(inputs, resolved.cluster, plan);
}

}  // namespace envgen
