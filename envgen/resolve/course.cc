#include "envgen/resolve/course.h"

#include <algorithm>
#include <csignal>

#include "base/signal_name.h"
#include "envgen/formats/hosts.h"
#include "envgen/formats/tfconfig.h"
#include "envgen/framework/ssh.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

constexpr int kMasterPort = 29500;              // PyTorch's, which the other launchers use as well
constexpr std::int64_t kAscendLeastMs = 10000;  // a device takes that long to forget a process

std::string address_of(const Node& node) {
  for (const std::string* address : {&node.host, &node.container_ip, &node.host_ip}) {
    if (!address->empty()) return *address;
  }
  // A host's address, or any other text.
  const bool address = node.server_id.find_first_not_of("0123456789.") == std::string::npos ||
                       node.server_id.find(':') != std::string::npos;
  return address ? node.server_id : std::string();
}

// The ranks of other nodes stand behind ssh clients, which take no signal for them.
bool ranks_behind_ssh(const Located& located, const Plan& plan) {
  return plan.framework == "deepspeed" && located.cluster.nodes.size() > 1 &&
         !located.site.own_rank;
}

// Or anything that only makes sense with them; restarts then are the platform's.
bool wants_checkpoints(const Request& request) {
  return request.checkpoint_signal.value_or(0) != 0 || asks_for_checkpoint(request.signals);
}

// What is allowed, and hardly meant.
void warn_of_signals(const Request& request, Plan& plan, bool saved_by_hooks) {
  if (asks_for_checkpoint(request.signals) && plan.policy.checkpoint_signal == 0 &&
      !saved_by_hooks) {
    plan.warnings.push_back(
        "a checkpoint saves nothing: --checkpoint-signal is none and there are no checkpoint "
        "hooks");
  }
  for (const SignalRule& rule : request.signals) {
    using Kind = SignalRule::Kind;
    const bool stops = rule.from == SIGTERM || rule.from == SIGINT;
    if (!stops || rule.kind == Kind::kSignal) continue;
    // Platforms stop with TERM.
    if (rule.kind == Kind::kForward && rule.from != SIGTERM) continue;
    plan.warnings.push_back(
        "--signal: " + signal_name(rule.from) + " stops the job no more" +
        (rule.kind == Kind::kCheckpoint
             ? ", but asks for a checkpoint, which may take --checkpoint-timeout: the platform "
               "must not kill before"
         : rule.kind == Kind::kForward
             ? ", but is forwarded: what does not end by it the platform will kill"
             : ": the platform will kill it"));
  }
}

void plan_checkpoint(const Request& request, const Located& located, Plan& plan) {
  PlanPolicy& policy = plan.policy;
  const bool saved_by_hooks = has_own_hooks(plan, HookEvent::kCheckpoint);
  policy.checkpoint_signal = request.checkpoint_signal.value_or(saved_by_hooks ? 0 : SIGUSR1);
  warn_of_signals(request, plan, saved_by_hooks);
  // Its launcher's node asks all ranks.
  if (is_worker(plan)) policy.checkpoint_signal = 0;
  if (policy.checkpoint_signal == 0 || !ranks_behind_ssh(located, plan)) return;
  policy.checkpoint_signal = 0;
  if (saved_by_hooks || !wants_checkpoints(request)) return;
  plan.warnings.push_back(
      "no checkpoint signal reaches deepspeed's ranks on other nodes, which stand behind ssh: let "
      "the job poll for a file (--signal USR1=file:PATH), or save with a checkpoint hook");
}

bool uses_ascend(const Located& located, const Plan& plan) {
  if (plan.framework == "ascend") return true;
  return std::ranges::any_of(located.cluster.nodes,
                             [](const Node& node) { return !node.devices.empty(); });
}

// Containers that end when one of them ends: each has its own trainit.
struct Party {
  int rank = 0;
  int count = 1;
};
Party party_of(const Located& located) {
  if (located.site.own_rank) return {*located.site.own_rank, located.cluster.world_size};
  // An evaluator talks to nobody. It stands behind all others.
  const auto count = std::ranges::count_if(
      located.cluster.nodes, [](const Node& node) { return node.role != "evaluator"; });
  return {located.self.node_rank, std::max(static_cast<int>(count), 1)};
}

bool has_role(const Cluster& cluster, std::string_view role) {
  return std::ranges::find(cluster.nodes, role, &Node::role) != cluster.nodes.end();
}

// The frameworks whose nodes all run ranks. Behind parameter servers each worker is for itself.
bool ranks_everywhere(const Located& located, const Plan& plan) {
  if (plan.framework == "tensorflow") return !has_role(located.cluster, "ps");
  return plan.framework == "pytorch" || plan.framework == "ascend";
}

void plan_restart(const Request& request, const Located& located, Plan& plan) {
  PlanPolicy& policy = plan.policy;
  if (uses_ascend(located, plan)) policy.restart_least_ms = kAscendLeastMs;
  // Its launcher's node starts the ranks again, over this node's sshd.
  if (is_worker(plan)) {
    policy.max_restarts = 0;
    policy.elastic = false;
    return;
  }
  const Party party = party_of(located);
  if (party.count < 2) return;
  const bool together = request.restart_across_nodes || policy.elastic;
  if (!together && policy.max_restarts > 0) {
    policy.max_restarts = 0;
    plan.warnings.push_back("--max-restarts is not used: the job runs in " +
                            std::to_string(party.count) +
                            " containers, and the others would not start again with this one; "
                            "see --restart-across-nodes");
  }
  if (!together || (policy.max_restarts == 0 && !policy.elastic)) return;
  if (!ranks_everywhere(located, plan) || party.rank >= party.count) return;
  Meeting meeting = meeting_of(request, located);
  if (meeting.address.empty()) {
    policy.max_restarts = 0;
    policy.elastic = false;
    plan.warnings.push_back(
        "no restart: the nodes have to meet before each start, and nobody told the first one's "
        "address; name it with --master-addr");
    return;
  }
  plan.rendezvous = Rendezvous{.address = std::move(meeting.address),
                               .port = meeting.port,
                               .node_rank = party.rank,
                               .node_count = party.count,
                               .window_ms = request.restart_window_ms};
}

// Restarts and checkpoints exclude each other, so that only one of them can be recommended.
void warn_of_lost_nodes(const Request& request, Plan& plan) {
  if (!plan.policy.elastic || request.max_restarts || wants_checkpoints(request)) return;
  plan.warnings.push_back(
      "--elastic: when a node vanishes, the ranks of the others fail before the list of nodes "
      "changes, and a failure ends the job: give --max-restarts too");
}

}  // namespace

Meeting meeting_of(const Request& request, const Located& located) {
  const Cluster& cluster = located.cluster;
  Meeting meeting;
  meeting.address = request.master_addr.empty() ? cluster.master_addr : request.master_addr;
  meeting.port = request.master_port.value_or(cluster.master_port);
  if (!cluster.nodes.empty()) {
    const Node& first = cluster.nodes[0];
    if (meeting.address.empty()) meeting.address = address_of(first);
    // A TensorFlow task has a port of its own.
    if (meeting.port == 0) meeting.port = first.port;
  }
  meeting.port_told = meeting.port != 0;
  if (!meeting.port_told) meeting.port = kMasterPort;
  return meeting;
}

std::optional<Wait> too_few_nodes(const Request& request, std::size_t nodes) {
  const std::size_t found = std::max<std::size_t>(nodes, 1);
  const int least = request.min_nodes.value_or(1);
  if (least < 1 || found >= static_cast<std::size_t>(least)) return std::nullopt;
  return Wait{"the job's nodes",
              std::to_string(found) + " of at least " + std::to_string(least) + " (--min-nodes)",
              request.rank_table_timeout_ms};
}

void add_watches(const Request& request, const std::set<std::string>& files, Plan& plan) {
  if (!request.elastic) return;
  for (const std::string& path : files) {
    if (std::ranges::find(plan.waits, path, &Wait::path) != plan.waits.end()) continue;
    plan.waits.push_back({path, "", request.rank_table_timeout_ms});
  }
  if (!files.empty()) return;
  plan.warnings.push_back("--elastic: platform " + plan.platform +
                          " tells its nodes by variables, which do not change while the job runs");
}

void plan_course(const Inputs& inputs, const Located& located, Plan& plan) {
  plan_checkpoint(inputs.request(), located, plan);
  plan_restart(inputs.request(), located, plan);
  warn_of_lost_nodes(inputs.request(), plan);
}

}  // namespace envgen
