#include "envgen/resolve/resolve.h"

#include <algorithm>
#include <csignal>

#include "envgen/conda/cann.h"
#include "envgen/conda/conda.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"
#include "envgen/plan/policy_json.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/profile.h"
#include "envgen/resolve/binding.h"
#include "envgen/resolve/course.h"
#include "envgen/resolve/hooks.h"
#include "envgen/resolve/output.h"
#include "envgen/resolve/terminal.h"
#include "envgen/resolve/watches.h"

namespace envgen {
namespace {

// Docker kills 10 s after its TERM, Kubernetes 30 s: the grace must end before.
constexpr std::int64_t kDockerGraceMs = 8000;
constexpr std::int64_t kKubernetesGraceMs = 25000;
constexpr std::int64_t kTerminalHoldMs = 4LL * 60 * 60 * 1000;
constexpr std::int64_t kCheckpointMs = 5LL * 60 * 1000;

std::string known_names(auto entries) {
  std::string list;
  for (const auto& entry : entries) {
    if (!list.empty()) list += ", ";
    list += entry.name;
  }
  return list;
}

Result<const PlatformProfile*> choose_platform(Inputs& inputs, Plan& plan) {
  const std::string& wanted = inputs.request().platform;
  for (const PlatformProfile& profile : platform_profiles()) {
    std::optional<std::string> reason;
    if (wanted.empty()) {
      reason = profile.detect(inputs);
    } else if (wanted == profile.name) {
      reason = "--platform says so";
    }
    if (!reason) continue;
    plan.platform = profile.name;
    plan.platform_reason = *reason;
    return &profile;
  }
  return fail("choosing the platform", "--platform", '"' + wanted + '"',
              "use one of " + known_names(platform_profiles()));
}

std::string wanted_framework(const Request& request, const Located& located, Plan& plan) {
  if (!request.framework.empty()) return request.framework;
  if (!located.site.framework.empty()) return located.site.framework;
  if (!located.site.tf_config.empty()) return "tensorflow";
  // The user's launcher starts the ranks of a node; it must not be started once for each of them.
  const std::vector<Node>& nodes = located.cluster.nodes;
  std::string by_command(framework_of_command(located.site.command));
  bool has_devices =
      std::ranges::any_of(nodes, [](const Node& node) { return !node.devices.empty(); });
  const bool several = nodes.size() > 1 || has_devices || located.site.own_rank;
  if (several && !by_command.empty()) return by_command;
  if (has_devices) return "ascend";
  if (located.site.own_rank) return "pytorch";
  if (nodes.size() < 2) return "single";
  // Alone they choose nothing: an image may set them for whatever platform comes.
  if (request.torch_launcher) return "pytorch";
  if (request.ascend_launcher) return "ascend";
  plan.warnings.push_back(
      "the job has " + std::to_string(nodes.size()) +
      " nodes and nothing says which framework it uses: the command runs once on "
      "each; name one with --framework");
  return "single";
}

Result<const FrameworkLauncher*> choose_framework(const std::string& wanted, Plan& plan) {
  for (const FrameworkLauncher& launcher : framework_launchers()) {
    if (launcher.name != wanted) continue;
    plan.framework = launcher.name;
    return &launcher;
  }
  return fail("choosing the framework", "--framework", '"' + wanted + '"',
              "use one of " + known_names(framework_launchers()));
}

bool has_terminal(const Request& request) {
  return !request.terminal.empty() && request.terminal != "0";
}

PlanPolicy policy_of(const Inputs& inputs) {
  const Request& request = inputs.request();
  PlanPolicy policy;
  bool kubernetes = !inputs.variable("KUBERNETES_SERVICE_HOST").empty();
  policy.grace_ms = request.grace_ms.value_or(kubernetes ? kKubernetesGraceMs : kDockerGraceMs);
  policy.rank_table_timeout_ms = request.rank_table_timeout_ms;
  policy.hold_ms = request.hold_ms.value_or(has_terminal(request) ? kTerminalHoldMs : 0);
  policy.script_timeout_ms = request.script_timeout_ms;
  policy.stop_scope = request.stop_scope;
  policy.escalation = request.escalation;
  policy.exit_codes = request.exit_codes;
  policy.signals = request.signals;
  policy.second_term_kills = request.second_term_kills;
  policy.drain_ms = request.drain_ms;
  policy.checkpoint_ms = request.checkpoint_timeout_ms.value_or(kCheckpointMs);
  policy.checkpoint_signal = request.checkpoint_signal.value_or(SIGUSR1);
  policy.max_restarts = request.max_restarts.value_or(0);
  policy.restart_delay_ms = request.restart_delay_ms.value_or(policy.restart_delay_ms);
  policy.no_restart_on = request.no_restart_on;
  policy.elastic = request.elastic;
  policy.max_duration_ms = request.max_duration_ms.value_or(0);
  return policy;
}

// What the hooks of a stop have of the grace, together: the rest is the job's own, for saving.
std::int64_t hook_share_ms(const Request& request, HookEvent event, Plan& plan) {
  if (!has_hooks(plan, event)) return 0;
  const auto& asked = request.hook_timeouts.at(static_cast<std::size_t>(event));
  if (!asked) return plan.policy.grace_ms / 4;
  const std::int64_t most_ms = plan.policy.grace_ms / 3;
  if (*asked <= most_ms) return *asked;
  plan.warnings.push_back("--hook-timeout gives " + std::string(name_of(event)) + " hooks " +
                          seconds(*asked) + ": within a stop they have " + seconds(most_ms) +
                          " of the grace; raise --grace");
  return most_ms;
}

// Before the launcher: what it plans has to fit the rest.
void share_grace(const Request& request, Plan& plan) {
  plan.policy.pre_stop_ms = hook_share_ms(request, HookEvent::kPreStop, plan);
  plan.policy.post_stop_ms += hook_share_ms(request, HookEvent::kPostStop, plan);
}

// --log-dir, else the platform's, else RUN_DIR/logs.
std::string log_dir_of(Inputs& inputs, const Site& site, Plan& plan) {
  const std::string& cwd = inputs.facts().cwd;
  if (!inputs.request().log_dir.empty()) return join_path(cwd, inputs.request().log_dir);
  std::string own = join_path(inputs.facts().run_dir, "logs");
  if (site.log_dir.empty()) return own;
  std::string platform_dir = join_path(cwd, site.log_dir);
  if (can_be_made(inputs, platform_dir)) return platform_dir;
  plan.warnings.push_back("the log directory " + platform_dir +
                          " cannot be written; logs move to " + own);
  return own;
}

// What no profile can have meant, whichever variable it comes from.
Status check_cluster(const Request& request, const Cluster& cluster) {
  if (!request.master_addr.empty()) {
    if (auto status = check_master(request.master_addr, "--master-addr"); !status) return status;
  }
  std::int64_t ranks = 0;
  for (const Node& node : cluster.nodes) ranks += node.slots;
  if (ranks <= kMostSlots) return {};
  return fail("counting the ranks", std::to_string(cluster.nodes.size()) + " nodes",
              std::to_string(ranks) + " ranks",
              "is there a digit too many in the number of nodes or of ranks per node?");
}

// What the user said about the nodes, and the platform's word counts.
void warn_of_unused(const Request& request, const Located& located, Plan& plan) {
  const std::vector<Node>& nodes = located.cluster.nodes;
  auto warn = [&plan](const std::string& option) {
    plan.warnings.push_back(option + " is not used: platform " + plan.platform +
                            " says by itself which nodes there are");
  };
  const auto count = static_cast<int>(std::max<std::size_t>(nodes.size(), 1));
  if (request.nodes && *request.nodes != count) warn("--nodes");
  if (request.hosts.empty()) return;
  auto listed = nodes_of_hosts_option(request, 1);
  const bool same = listed && std::ranges::equal(*listed, nodes, {}, &Node::host, &Node::host);
  if (!same) warn("--hosts");
}

// How many ranks there are is the framework's to say.
void count_ranks(const FrameworkLauncher& launcher, Located& located) {
  // The tasks that the platform has started are the ranks.
  if (launcher.ranks_of_role == nullptr || located.site.own_rank) return;
  Cluster& cluster = located.cluster;
  cluster.world_size = 0;
  for (Node& node : cluster.nodes) {
    node.slots = launcher.ranks_of_role(node.role);
    cluster.world_size += node.slots;
  }
}

Pending pending_for(Wait wait, Plan plan) {
  Pending pending{.plan = std::move(plan), .path = wait.path, .why = wait.why};
  pending.plan.waits.push_back(std::move(wait));
  return pending;
}

Outcome plan_located(Inputs& inputs, Located located, Plan plan) {
  if (auto status = check_cluster(inputs.request(), located.cluster); !status) {
    return status.error();
  }
  bool has_ranks = !located.cluster.nodes.empty();
  if (located.site.command.empty()) located.site.command = inputs.request().command;
  plan.warnings = located.warnings;
  warn_of_unused(inputs.request(), located, plan);
  plan.waits = located.waits;
  add_watches(inputs.request(), inputs.files_read(), plan);
  plan.env = located.site.env;
  plan.self = located.self;
  // First of all: the command inside of `conda run` tells the framework.
  if (auto status = apply_conda(inputs, located.site, plan); !status) return status.error();
  auto launcher = choose_framework(wanted_framework(inputs.request(), located, plan), plan);
  if (!launcher) return launcher.error();
  if (auto wait = too_few_nodes(inputs.request(), located.cluster.nodes.size())) {
    return pending_for(std::move(*wait), std::move(plan));
  }
  count_ranks(**launcher, located);
  // What is only started stays as it was typed.
  if (plan.framework != "single") {
    located.site.command = with_operand_apart(std::move(located.site.command));
  }
  located.site.log_dir = log_dir_of(inputs, located.site, plan);
  if (auto status = find_hooks(inputs, plan); !status) return status.error();
  share_grace(inputs.request(), plan);
  if (auto status = apply_cann(inputs, plan); !status) return status.error();
  if (auto status = (*launcher)->launch(inputs, located, plan); !status) return status.error();
  plan_binding(inputs, located, plan);
  plan_output(inputs.request(), plan);
  add_terminal(inputs, located.site, plan);
  plan_course(inputs, located, plan);
  plan_watches(inputs.request(), plan);
  add_hook_environment(inputs, located, plan);
  if (has_ranks) {
    plan.node_count = static_cast<int>(located.cluster.nodes.size());
    plan.world_size = located.cluster.world_size;
    plan.cluster = std::move(located.cluster);
  }
  return Planned{std::move(plan)};
}

Outcome outcome_of(Inputs& inputs) {
  Plan plan;
  if (inputs.request().command.empty()) {
    return Error{"reading the command line", "", "no command",
                 "name the program to run: trainit -- python train.py"};
  }
  auto profile = choose_platform(inputs, plan);
  if (!profile) return profile.error();
  plan.policy = policy_of(inputs);
  plan.observe = inputs.request().observe;
  auto datasets = datasets_of(inputs.request().data);
  if (!datasets) return datasets.error();
  plan.datasets = std::move(*datasets);
  plan.data = inputs.request().data;

  Location location = (*profile)->locate(inputs);
  if (auto* error = std::get_if<Error>(&location)) return std::move(*error);
  if (auto* located = std::get_if<Located>(&location)) {
    return plan_located(inputs, std::move(*located), std::move(plan));
  }
  // Only a rank table is waited for.
  auto launcher = choose_framework(
      inputs.request().framework.empty() ? "ascend" : inputs.request().framework, plan);
  if (!launcher) return launcher.error();
  if (auto* not_yet = std::get_if<NotYet>(&location)) {
    return pending_for(std::move(not_yet->wait), std::move(plan));
  }
  return Pending{.plan = std::move(plan), .path = "", .why = ""};
}

}  // namespace

Answer resolve(const Snapshot& snapshot, const Request& request) {
  Inputs inputs(snapshot, request);
  Answer answer;
  answer.outcome = outcome_of(inputs);
  answer.wants.assign(inputs.wants().begin(), inputs.wants().end());
  return answer;
}

PlanPolicy early_policy(const Environ& env, const Request& request) {
  Snapshot snapshot;
  snapshot.env = env;
  return policy_of(Inputs(snapshot, request));
}

bool is_pass_through(const Environ& env, const Request& request) {
  if (!request.platform.empty() && request.platform != "local") return false;
  if (!request.framework.empty() && request.framework != "single") return false;
  // Users are looked up and profiles compiled in the resolver.
  if (request.sandbox != SandboxRequest{}) return false;
  // Directories are listed, the program of a terminal is looked for, the nodes are watched.
  if (!request.hooks_dir.empty() || !request.lifecycle_script.empty()) return false;
  if (request.elastic || has_terminal(request)) return false;
  // A restart's start is planned anew, and has more variables than the first.
  if (request.max_restarts.value_or(0) > 0) return false;
  if (request.observe != Observation{} || request.command.empty()) return false;
  if (!request.data.specs.empty()) return false;
  if (request.output == Output::kFiles || request.output == Output::kTee) return false;
  if (request.log_prefix.value_or(false)) return false;
  Snapshot snapshot;
  snapshot.env = env;
  snapshot.paths[kHooksDirectory] = {};  // the caller's to look at
  Inputs inputs(snapshot, request);
  Plan plan;
  auto profile = choose_platform(inputs, plan);
  // What locates a node parses lists, tables and JSON: that is the resolver's work.
  if (!profile || plan.platform != "local" || !inputs.wants().empty()) return false;
  Answer answer = resolve(snapshot, request);
  return answer.wants.empty() && std::holds_alternative<Planned>(answer.outcome);
}

}  // namespace envgen
