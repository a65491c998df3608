#include "envgen/resolve/restart_policy.h"

#include <algorithm>
#include <csignal>

#include "base/signal_name.h"
#include "envgen/formats/hosts.h"
#include "envgen/formats/tfconfig.h"
#include "envgen/framework/framework.h"
#include "envgen/framework/ssh.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"
#include "envgen/resolve/locality.h"
#include "envgen/resolve/terminal.h"

namespace envgen {
namespace {

constexpr int kMasterPort = 29500;  // PyTorch's default, which the other launchers use as well
// Default grace on Kubernetes, which sends KILL 30 s after its TERM.
constexpr std::int64_t kKubernetesGraceMs = 25000;
constexpr std::int64_t kTerminalHoldMs = 4LL * 60 * 60 * 1000;
constexpr std::int64_t kMinDelayMs = 100;  // minimum delay, because a start costs a resolver and
                                           // all forks

std::string address_of(const Node& node) {
  for (const std::string* address : {&node.host, &node.container_ip, &node.host_ip}) {
    if (!address->empty()) return *address;
  }
  // A server_id is an address of the host only if it has that form; it may be any text.
  const bool address = node.server_id.find_first_not_of("0123456789.") == std::string::npos ||
                       node.server_id.find(':') != std::string::npos;
  return address ? node.server_id : std::string();
}

// Returns whether a signal to this node's process cannot reach the ranks of other nodes.
bool hides_ranks(const ResolvedCluster& resolved, const Plan& plan) {
  return !launcher_of(plan.framework).passes_signals && resolved.cluster.nodes.size() > 1 &&
         !resolved.platform.own_rank;
}

// Returns whether the user asks for checkpoints, or for an option that makes sense only with them.
// The platform then does the restarts.
bool wants_checkpoints(const Request& request) {
  return request.checkpoint_signal.value_or(0) != 0 ||
         base::asks_for_checkpoint(request.policy.signals);
}

// Warns of settings that are allowed but probably not intended.
void warn_of_signals(const Request& request, Plan& plan, bool saved_by_hooks) {
  if (base::asks_for_checkpoint(request.policy.signals) && plan.policy.checkpoint_signal == 0 &&
      !saved_by_hooks) {
    plan.warnings.push_back(
        "a checkpoint saves nothing: --checkpoint-signal is none and there are no checkpoint "
        "hooks");
  }
  for (const base::SignalRule& rule : request.policy.signals) {
    using Kind = base::SignalRule::Kind;
    const bool stops = rule.from == SIGTERM || rule.from == SIGINT;
    if (!stops || rule.kind == Kind::kSignal) continue;
    // Only forwarding TERM is suspicious, because platforms stop a job with TERM.
    if (rule.kind == Kind::kForward && rule.from != SIGTERM) continue;
    plan.warnings.push_back(
        "--signal: " + base::signal_name(rule.from) + " stops the job no more" +
        (rule.kind == Kind::kCheckpoint
             ? ", but asks for a checkpoint, which may take --checkpoint-timeout: the platform "
               "must not kill before"
         : rule.kind == Kind::kForward
             ? ", but is forwarded: what does not end by it the platform will kill"
             : ": the platform will kill it"));
  }
}

void plan_checkpoint(const Request& request, const ResolvedCluster& resolved, Plan& plan) {
  base::Policy& policy = plan.policy;
  const bool saved_by_hooks = has_own_hooks(plan, HookEvent::kCheckpoint);
  policy.checkpoint_signal = request.checkpoint_signal.value_or(saved_by_hooks ? 0 : SIGUSR1);
  warn_of_signals(request, plan, saved_by_hooks);
  // A worker does not signal ranks: the node with the launcher signals all of them.
  if (is_worker(plan)) policy.checkpoint_signal = 0;
  if (policy.checkpoint_signal == 0 || !hides_ranks(resolved, plan)) return;
  policy.checkpoint_signal = 0;
  if (saved_by_hooks || !wants_checkpoints(request)) return;
  plan.warnings.push_back(
      "no checkpoint signal reaches " + plan.framework +
      "'s ranks on other nodes, which stand behind ssh: let "
      "the job poll for a file (--signal USR1=file:PATH), or save with a checkpoint hook");
}

void plan_restart(const Request& request, const ResolvedCluster& resolved, Plan& plan) {
  base::Policy& policy = plan.policy;
  // A worker does not restart ranks: the node with the launcher starts them again, over this node's
  // sshd.
  if (is_worker(plan)) {
    policy.max_restarts = 0;
    policy.elastic = false;
    return;
  }
  const Participants participants = participants_of(resolved);
  if (participants.count < 2) return;
  const bool together = request.restart_across_nodes || policy.elastic;
  if (!together && policy.max_restarts > 0) {
    policy.max_restarts = 0;
    plan.warnings.push_back("--max-restarts is not used: the job runs in " +
                            std::to_string(participants.count) +
                            " containers, and the others would not start again with this one; "
                            "see --restart-across-nodes");
  }
  if (!together || (policy.max_restarts == 0 && !policy.elastic)) return;
  if (!ranks_everywhere(resolved, plan) || participants.rank >= participants.count) return;
  const bool unnumbered = resolved.local_node.unnumbered;
  if (unnumbered || rendezvous_address(request, resolved).address.empty()) {
    policy.max_restarts = 0;
    policy.elastic = false;
    plan.warnings.push_back(
        std::string("no restart: the nodes have to meet before each start, and ") +
        (unnumbered ? "no variable numbers them; say which node this is with --node-rank"
                    : "nobody told the first one's address; name it with --master-addr"));
    return;
  }
  policy.rendezvous_ms = request.restart_window_ms;
}

// Plans the wait for devices before a restart. It covers all devices and not only those that the
// platform gave, because a command that is only started can use all of them.
void plan_device_wait(Inputs& inputs, Plan& plan) {
  const std::int64_t timeout_ms = inputs.request().device_wait_ms;
  const bool restarts = plan.policy.max_restarts > 0 || plan.policy.elastic;
  if (timeout_ms == 0 || !restarts) return;
  std::vector<int> npus;
  for (const Process& process : plan.processes) {
    if (process.device >= 0) npus.push_back(process.device);
  }
  auto devices = find_devices(inputs, planned_environment(inputs, plan), npus);
  if (!devices.empty()) plan.device_wait = DeviceWait{std::move(devices), timeout_ms};
}

// Warns of failures that a lost node causes. It recommends only restarts, as restarts and
// checkpoints exclude each other.
void warn_of_lost_nodes(const Request& request, Plan& plan) {
  if (!plan.policy.elastic || request.max_restarts || wants_checkpoints(request)) return;
  plan.warnings.push_back(
      "--elastic: when a node vanishes, the ranks of the others fail before the list of nodes "
      "changes, and a failure ends the job: give --max-restarts too");
}

// Sets the time for post-stop hooks of a job that ends without a stop request, so that no platform
// waits. It is twice the hooks' own limits: their worker enforces these, and the rest is for a
// worker that hangs.
void plan_post_stop(Plan& plan) {
  base::Policy& policy = plan.policy;
  for (const HookGroup& group : plan.hooks) {
    if (group.event != HookEvent::kPostStop) continue;
    const auto count = static_cast<std::int64_t>(group.paths.size());
    policy.post_stop_alone_ms = policy.post_stop_ms + 2 * count * group.timeout_ms;
  }
}

// Returns whether the job may wait for peers' sshd, which only ssh launchers do. The framework may
// be known only after planning.
bool may_wait_for_peers(const std::string& framework) {
  return framework.empty() || launcher_of(framework).needs_ssh_peers;
}

// Returns PID 1's time-out for the resolver, which only ends a resolver that hangs. The resolver
// has its own deadlines for its waits, and work after them: a large table, device directories to
// empty, scripts to source.
std::int64_t resolve_timeout_ms(const Request& request) {
  constexpr std::int64_t kMinMs = 2000;
  constexpr std::int64_t kMaxMs = 60'000;
  constexpr std::int64_t kLongestWaitMs = 1'000'000'000;  // maximum of the lifecycle's own times
  std::int64_t wait_ms = std::min(request.rank_table_timeout_ms, kLongestWaitMs);
  if (may_wait_for_peers(request.framework)) {
    wait_ms += std::min(request.peer_timeout_ms, kLongestWaitMs);
  }
  // Additional time for a last look at the devices.
  constexpr std::int64_t kDeviceLookMs = 10'000;
  if (request.max_restarts.value_or(0) > 0 || request.policy.elastic) {
    wait_ms += std::min(request.device_wait_ms, kLongestWaitMs) + kDeviceLookMs;
  }
  constexpr std::int64_t kPreflightMs = 40'000;
  if (request.observe.preflight != Preflight::kOff) wait_ms += kPreflightMs;
  return std::min(request.script_timeout_ms, kLongestWaitMs) + wait_ms +
         std::clamp(wait_ms / 10, kMinMs, kMaxMs);
}

}  // namespace

base::Policy policy_of(const base::Environ& env, const Request& request) {
  const bool kubernetes = !env.get_or("KUBERNETES_SERVICE_HOST", "").empty();
  base::Policy policy = request.policy;
  policy.grace_ms =
      request.grace_ms.value_or(kubernetes ? kKubernetesGraceMs : base::Policy().grace_ms);
  policy.failure_grace_ms = request.failure_grace_ms.value_or(0);
  policy.hold_ms = request.hold_ms.value_or(has_terminal(request) ? kTerminalHoldMs : 0);
  policy.checkpoint_signal = request.checkpoint_signal.value_or(SIGUSR1);
  policy.max_restarts = request.max_restarts.value_or(0);
  if (policy.max_restarts > 0) {
    policy.restart_verdict = request.restart_verdict.value_or(base::RestartVerdict::kEnforce);
  }
  policy.restart_delay_ms = std::max(policy.restart_delay_ms, kMinDelayMs);
  policy.resolve_timeout_ms = resolve_timeout_ms(request);
  return policy;
}

RendezvousAddress rendezvous_address(const Request& request, const ResolvedCluster& resolved) {
  const Cluster& cluster = resolved.cluster;
  RendezvousAddress address;
  address.address = request.master_addr.empty() ? cluster.master_addr : request.master_addr;
  address.port = request.master_port.value_or(cluster.master_port);
  if (!cluster.nodes.empty()) {
    const Node& first = cluster.nodes[0];
    if (address.address.empty()) address.address = address_of(first);
    // A task of TensorFlow has its own port, which is used if no other one is given.
    if (address.port == 0) address.port = first.port;
  }
  address.port_given = address.port != 0;
  if (!address.port_given) address.port = kMasterPort;
  return address;
}

Participants participants_of(const ResolvedCluster& resolved) {
  if (resolved.platform.own_rank) return {*resolved.platform.own_rank, resolved.cluster.world_size};
  // An evaluator does not communicate with other nodes, and is numbered after all others.
  const auto count = std::ranges::count_if(
      resolved.cluster.nodes, [](const Node& node) { return node.role != "evaluator"; });
  return {resolved.local_node.node_rank, std::max(static_cast<int>(count), 1)};
}

bool ranks_everywhere(const ResolvedCluster& resolved, const Plan& plan) {
  const FrameworkLauncher& launcher = launcher_of(plan.framework);
  return launcher.on_every_node &&
         std::ranges::none_of(resolved.cluster.nodes, [&launcher](const Node& node) {
           return launcher.ranks_of_role != nullptr && node.role != "evaluator" &&
                  launcher.ranks_of_role(node.role) == 0;
         });
}

std::optional<Wait> too_few_nodes(const Request& request, std::size_t nodes) {
  const std::size_t found = std::max<std::size_t>(nodes, 1);
  const int least = request.min_nodes.value_or(1);
  if (least < 1 || found >= static_cast<std::size_t>(least)) return std::nullopt;
  return Wait{"the job's nodes",
              std::to_string(found) + " of at least " + std::to_string(least) + " (--min-nodes)",
              request.rank_table_timeout_ms};
}

void add_membership_watch(const Request& request, const std::set<std::string>& files, Plan& plan) {
  if (!request.policy.elastic) return;
  for (const std::string& path : files) {
    if (std::ranges::find(plan.waits, path, &Wait::path) != plan.waits.end()) continue;
    plan.waits.push_back({path, "", request.rank_table_timeout_ms});
  }
  if (!files.empty()) return;
  plan.warnings.push_back("--elastic: platform " + plan.platform +
                          " tells its nodes by variables, which do not change while the job runs");
}

// Sets the grace after a failure, for ranks that communicate and have lost a peer. Not for a
// launcher, which ends its own ranks in its own time, and not for a server or a job with an
// escalation, whose times were chosen.
void plan_failure_grace(const Request& request, const ResolvedCluster& resolved, Plan& plan) {
  constexpr std::int64_t kLostPeersMs = 3000;
  if (request.failure_grace_ms) return;
  const bool ranks =
      !plan.processes.empty() &&
      std::ranges::all_of(plan.processes, [](int rank) { return rank >= 0; }, &Process::rank);
  const bool peers = plan.processes.size() > 1 || resolved.cluster.nodes.size() > 1;
  const bool chosen =
      plan.policy.success == base::SuccessPolicy::kServe || !plan.policy.escalation.empty();
  plan.policy.failure_grace_ms = ranks && peers && !chosen ? kLostPeersMs : 0;
}

void plan_restart_policy(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  plan_failure_grace(inputs.request(), resolved, plan);
  plan_checkpoint(inputs.request(), resolved, plan);
  plan_restart(inputs.request(), resolved, plan);
  set_of_processes(plan, "TORCHELASTIC_MAX_RESTARTS", std::to_string(plan.policy.max_restarts));
  plan_device_wait(inputs, plan);
  warn_of_lost_nodes(inputs.request(), plan);
  plan_post_stop(plan);
}

}  // namespace envgen
