#include "envgen/resolve/node_link.h"

#include <algorithm>

#include "envgen/framework/framework.h"
#include "envgen/framework/ssh.h"
#include "envgen/resolve/restart_policy.h"

namespace envgen {
namespace {

// No master of another job on the same host has one of these ports: frameworks' defaults are others
// (1234 JAX, 2222 TensorFlow and the Ascend operator, 6379 Ray, 8118 MindSpore, 29500 PyTorch), and
// ports that are drawn or made of a job's id begin at 5000. A prime number of them: the ports of
// masters in a row, or at round distances, have different ones.
constexpr int kFirstPort = 3400;
constexpr int kPorts = 599;

// The link's port: it follows from the master's, unless a node of the job has that one for itself.
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
  if (resolved.local_node.unnumbered) return;  // each would be node 0
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
