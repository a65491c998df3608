#include "envgen/resolve/node_link.h"

#include <algorithm>

#include "envgen/framework/framework.h"
#include "envgen/framework/ssh.h"
#include "envgen/resolve/restart_policy.h"

namespace envgen {
namespace {

// The range of ports for links. No master of another job on the same host uses one of them. The
// defaults of frameworks are outside (1234 JAX, 2222 TensorFlow and the Ascend operator, 6379 Ray,
// 8118 MindSpore, 29500 PyTorch). Ports that are random or made from a job's id begin at 5000. The
// number of ports is a prime, so masters with consecutive ports, or with ports at round distances,
// get different link ports.
constexpr int kFirstPort = 3400;
constexpr int kPorts = 599;

// Returns the link's port, derived from the master's. A port that a node of the job uses itself is
// skipped.
int link_port(int master_port, const Cluster& cluster) {
  const auto port_at = [&](int i) { return kFirstPort + (master_port + i) % kPorts; };
  const auto taken = [&](int candidate) {
    return candidate == master_port ||
           std::ranges::find(cluster.nodes, candidate, &Node::port) != cluster.nodes.end();
  };
  int i = 0;
  while (i < kPorts && taken(port_at(i))) ++i;
  return port_at(i);
}

// Returns whether the processes need each other: if one leaves a collective, the collective never
// ends on the others.
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
  if (resolved.local_node.unnumbered) return;  // without node ranks, each node would be node 0
  RendezvousAddress master = rendezvous_address(request, resolved);
  if (master.address.empty()) return;
  const bool together = plan.policy.rendezvous_ms > 0;
  const bool stops = request.on_node_failure ? *request.on_node_failure == OnNodeFailure::kStop
                                             : depends(resolved, plan);
  NodeLink link{.address = std::move(master.address),
                .port = request.link_port.value_or(link_port(master.port, resolved.cluster)),
                .node_rank = participants.rank,
                .node_count = participants.count,
                .master_port = together ? master.port : 0,
                .stops = stops || together,
                .timeout_ms = request.link_timeout_ms,
                .secret_file = request.job_secret.empty() ? request.ssh_key : request.job_secret};
  // In three cases another part handles the loss of a node:
  // - An agent was started for a range of nodes.
  // - A launcher is started again.
  // - The list of nodes is about to change.
  const bool alone = plan.policy.max_restarts > 0 && !together;
  const bool listed = plan.policy.elastic && plan.policy.max_restarts == 0;
  link.loss_counts = link.stops && !plan.elastic_launcher && !alone && !listed;
  link.stop_counts = link.stops && !plan.elastic_launcher && !alone && !plan.policy.elastic;
  plan.link = std::move(link);
  tell_workers_by_link(inputs, resolved.cluster, plan);
}

}  // namespace envgen
