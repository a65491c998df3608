#include "envgen/resolve/resolve.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <tuple>

#include "base/text.h"
#include "envgen/conda/cann.h"
#include "envgen/conda/conda.h"
#include "envgen/formats/tfconfig.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"
#include "envgen/plan/policy_json.h"
#include "envgen/platform/cluster_signs.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/resolve/binding.h"
#include "envgen/resolve/hooks.h"
#include "envgen/resolve/identity.h"
#include "envgen/resolve/launched.h"
#include "envgen/resolve/node_link.h"
#include "envgen/resolve/output.h"
#include "envgen/resolve/rank_devices.h"
#include "envgen/resolve/restart_policy.h"
#include "envgen/resolve/sign_shapes.h"
#include "envgen/resolve/terminal.h"
#include "envgen/resolve/warm.h"
#include "envgen/resolve/watches.h"

namespace envgen {
namespace {

// Returns advice that lists names, of platforms or of launchers: "use one of a, b".
std::string use_one_of(const auto& names) {
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return "use one of " + list;
}

std::string chosen_by(ChosenBy reason) { return std::string(launcher_chosen_by(reason).name); }

std::string wanted_framework(const Request& request, const ResolvedCluster& resolved, Plan& plan) {
  if (!request.framework.empty()) return request.framework;
  // If the command contains a launcher, which starts the ranks of a node itself, it must not be
  // started once for each rank.
  std::string by_command(resolved.platform.command.framework());
  if (const std::string& by_platform = resolved.platform.framework; !by_platform.empty()) {
    const bool each_device = launcher_of(by_platform).needs_cann;
    return each_device && !by_command.empty() ? by_command : by_platform;
  }
  if (!resolved.platform.tf_config.empty()) return chosen_by(ChosenBy::kTfConfig);
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  bool has_devices =
      std::ranges::any_of(nodes, [](const Node& node) { return !node.devices.empty(); });
  const bool several = nodes.size() > 1 || has_devices || resolved.platform.own_rank;
  if (several && !by_command.empty()) return by_command;
  if (has_devices) return chosen_by(ChosenBy::kDevices);
  if (resolved.platform.own_rank) return chosen_by(ChosenBy::kOwnRank);
  if (nodes.size() < 2) {
    // A launcher in the command may need the number of --slots, which its framework passes on by
    // variables.
    const ParsedCommand& command = resolved.platform.command;
    const bool reads = command.launcher() && command.launcher()->reads != LauncherReads::kOther;
    const bool needs = request.slots.value_or(1) > 1 && !gives_ranks(command);
    const bool passes_on = reads && needs && launcher_of(by_command).on_every_node;
    return passes_on ? by_command : chosen_by(ChosenBy::kNobody);
  }
  // These options do not choose a framework alone, because an image may set them for any platform.
  if (request.torch_launcher) return chosen_by(ChosenBy::kTorchLauncher);
  if (request.ascend_launcher) return chosen_by(ChosenBy::kAscendLauncher);
  plan.warnings.push_back(
      "the job has " + std::to_string(nodes.size()) +
      " nodes and nothing says which framework it uses: the command runs once on "
      "each; name one with --framework");
  return chosen_by(ChosenBy::kNobody);
}

base::Result<const FrameworkLauncher*> choose_framework(const std::string& wanted, Plan& plan) {
  const FrameworkLauncher& launcher = launcher_of(wanted);
  if (launcher.launch != nullptr) {
    plan.framework = launcher.name;
    return &launcher;
  }
  return base::fail(
      "choosing the framework", "--framework", base::quoted(wanted),
      use_one_of(std::views::transform(framework_launchers(), &FrameworkLauncher::name)));
}

// Returns the part of the grace period that the hooks of a stop may use together. The rest belongs
// to the job, for saving.
std::int64_t hook_share_ms(const Request& request, HookEvent event, const Plan& plan) {
  if (!has_hooks(plan, event)) return 0;
  const auto& asked = request.hook_timeouts.at(static_cast<std::size_t>(event));
  if (!asked) return plan.policy.grace_ms / 4;
  const bool post_stop = event == HookEvent::kPostStop;
  return std::min(post_stop ? base::post_stop_share_ms(*asked) : *asked, plan.policy.grace_ms / 3);
}

// Divides the grace period. Must run before the launcher, whose plan has to fit into the rest.
void share_grace(const Request& request, Plan& plan) {
  plan.policy.pre_stop_ms = hook_share_ms(request, HookEvent::kPreStop, plan);
  plan.policy.post_stop_ms += hook_share_ms(request, HookEvent::kPostStop, plan);
}

// Warns of hooks that a stop cuts short. Must run after the launcher, which may reserve a part of
// the grace period.
void warn_of_cut_hooks(const Request& request, Plan& plan) {
  const base::Budget stop = stop_budget(plan);
  for (const auto& [event, has_ms] : {std::pair{HookEvent::kPreStop, stop.notify_at},
                                      {HookEvent::kPostStop, stop.post_stop_run_ms}}) {
    const auto& asked = request.hook_timeouts.at(static_cast<std::size_t>(event));
    if (!asked || *asked <= has_ms || !has_hooks(plan, event)) continue;
    plan.warnings.push_back("--hook-timeout gives " + std::string(name_of(event)) + " hooks " +
                            base::seconds(*asked) + ": within a stop they have " +
                            (event == HookEvent::kPostStop ? "at least " : "") +
                            base::seconds(has_ms) + " of the grace; raise --grace");
  }
}

// Returns the log directory: --log-dir, otherwise the platform's, otherwise RUN_DIR/logs. It is
// absolute, because hooks and `trainit status` have other working directories.
std::string log_dir_of(Inputs& inputs, const PlatformFacts& platform, Plan& plan) {
  const std::string& cwd = inputs.facts().cwd;
  if (!inputs.request().log_dir.empty()) return join_path(cwd, inputs.request().log_dir);
  const std::string& run_dir = inputs.facts().run_dir;
  std::string own = join_path(run_dir.empty() ? cwd : run_dir, "logs");
  if (platform.log_dir.empty()) return own;
  std::string platform_dir = join_path(cwd, platform.log_dir);
  if (can_be_made(inputs, platform_dir)) return platform_dir;
  plan.warnings.push_back("the log directory " + platform_dir +
                          " cannot be written; logs move to " + own);
  return own;
}

// Refuses values that no platform can mean, whatever variable they come from.
base::Status check_cluster(const Request& request, const Cluster& cluster) {
  if (!request.master_addr.empty()) {
    TRY(check_master(request.master_addr, "--master-addr"));
  }
  std::int64_t ranks = 0;
  for (const Node& node : cluster.nodes) ranks += node.slots;
  if (ranks <= kMaxSlots) return {};
  return base::fail("counting the ranks", std::to_string(cluster.nodes.size()) + " nodes",
                    std::to_string(ranks) + " ranks",
                    "is there a digit too many in the number of nodes or of ranks per node?");
}

// Warns of the user's options about nodes that the platform's data overrides.
void warn_of_unused(const Request& request, const ResolvedCluster& resolved, Plan& plan) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
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

// Returns whether the user gave the launcher the number of nodes, or the launcher does not need it.
bool tells_its_nodes(const Inputs& inputs, const ParsedCommand& command) {
  const Launcher& typed = *command.launcher();
  if (typed.framework == "single") return true;
  if (typed.reads == LauncherReads::kPet && !inputs.variable("PET_NNODES").empty()) return true;
  constexpr std::string_view kFlags =
      "--nnodes --num_machines --num_nodes --standalone --worker_num --host -host -H -hosts "
      "--hosts "
      "-hostfile --hostfile -f --machinefile -machinefile";
  return find_flag(command, command.launcher_name(), kFlags).has_value();
}

// Checks a job whose number of nodes is not known. A command that runs once needs no number: it
// gets the platform's own variables and nothing else.
base::Status check_count(const Inputs& inputs, ResolvedCluster& resolved, Plan& plan) {
  const std::optional<base::Error>& uncounted = resolved.platform.uncounted;
  if (!uncounted) return {};
  const Request& request = inputs.request();
  const ParsedCommand& command = resolved.platform.command;
  const bool asked = !request.framework.empty() && request.framework != "single";
  const bool launches = request.torch_launcher || request.ascend_launcher;
  const std::optional<Launcher>& typed = command.launcher();
  const bool told = !typed || tells_its_nodes(inputs, command);
  // A PyTorch operator has set this variable, but its count of nodes is missing, so this is an
  // error.
  const bool torch = !inputs.variable("PET_NODE_RANK").empty();
  if (asked || launches || torch || !told) return std::unexpected(*uncounted);
  if (request.framework.empty() && !typed) {
    plan.warnings.push_back("the command runs once and for itself: " + uncounted->where + ": " +
                            uncounted->found + "; where the pods are one job, " + uncounted->fix);
  }
  resolved.platform.framework = "single";
  return {};
}

// Sets the number of ranks, which the framework decides.
void count_ranks(const Request& request, const FrameworkLauncher& launcher,
                 ResolvedCluster& resolved) {
  // The tasks that the platform has started are the ranks, so their number does not change.
  if (resolved.platform.own_rank) return;
  const bool one = launcher.one_per_node && !request.slots;
  if (launcher.ranks_of_role == nullptr && !one) return;
  Cluster& cluster = resolved.cluster;
  cluster.world_size = 0;
  for (Node& node : cluster.nodes) {
    const bool idle = node.slots == 0 && tf_ranks(node.role) == 0;
    node.slots = !one ? launcher.ranks_of_role(node.role) : idle ? 0 : 1;
    cluster.world_size += node.slots;
  }
}

// Returns how many ranks trainit itself starts on this node.
int started_ranks(const Plan& plan) {
  return static_cast<int>(std::ranges::count_if(
      plan.processes, [](const Process& process) { return process.rank >= 0; }));
}

// Returns how many times this node starts the command: once for each rank that trainit or a
// launcher starts that trainit has put before the command.
int starts_of_command(const ResolvedCluster& resolved, const Plan& plan) {
  const int ranks = started_ranks(plan);
  const bool by_launcher = ranks == 0 && !resolved.platform.command.launcher() &&
                           std::ranges::any_of(plan.processes, [](const Process& process) {
                             return ParsedCommand(process.argv).is_launcher();
                           });
  if (!by_launcher) return ranks;
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  const auto at = static_cast<std::size_t>(std::max(resolved.local_node.node_rank, 0));
  return at < nodes.size() ? std::max(nodes[at].slots, static_cast<int>(nodes[at].devices.size()))
                           : plan.world_size;
}

// Fails if a program that starts another command would be started for each rank. That program may
// start all ranks itself, so that each rank would start the whole job. Only warns if a user has
// asked for ranks, as the program may be a wrapper of a rank.
base::Status check_started_once(const Request& request, const ResolvedCluster& resolved,
                                Plan& plan) {
  const ParsedCommand& command = resolved.platform.command;
  const std::string& inner = command.inner_command();
  const int starts = inner.empty() ? 0 : starts_of_command(resolved, plan);
  if (starts < 2) return {};
  const auto& python = command.python();
  const std::string program = command[python ? python->operand : 0];
  const std::string times = std::to_string(starts) + " times, once for each rank";
  const std::string fix =
      "if it starts the ranks by itself, name the training script alone: " + inner +
      "; to start it once as it is, give --framework single";
  const bool asked = request.torch_launcher.has_value() ||
                     (!request.framework.empty() && !launcher_of(request.framework).needs_cann);
  if (!asked) {
    return base::fail(
        "planning the ranks of this node", "the command",
        program + ", which starts \"" + inner + "\" and would itself be started " + times, fix);
  }
  plan.warnings.push_back(program + ", which starts \"" + inner + "\", is started " + times + ": " +
                          fix);
  return {};
}

// Warns of scripts that start launchers, and of a number of ranks that no process uses.
void warn_of_counts(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  const ParsedCommand& command = resolved.platform.command;
  const std::string& doubt = command.in_doubt();
  // A script behind the mpirun of --framework mpi is a wrapper of a rank.
  const Request& request = inputs.request();
  const bool wrapper = !command.shell_script().empty() && !request.framework.empty() &&
                       launcher_of(request.framework).needs_ssh_peers;
  const int starts = doubt.empty() ? 0
                     : wrapper     ? started_ranks(plan)
                                   : starts_of_command(resolved, plan);
  if (starts > 1) {
    const std::string& script = command.shell_script();
    const std::string what = script.empty() ? command[0] + " (with " + doubt + ")" : script;
    plan.warnings.push_back(
        what + " is started " + std::to_string(starts) +
        " times on this node, once for each rank: if it starts torchrun, msrun, mpirun or another "
        "launcher by itself, give --framework single, which starts it once");
  }
  const bool plain = plan.framework == "single" && !resolved.platform.own_rank &&
                     !command.launcher() && request.framework.empty();
  const bool python = command.python().has_value() || command.wraps_python();
  // A launcher that an option names is not used without a framework.
  for (const auto& [given, option, reason] :
       {std::tuple(request.ascend_launcher.has_value(), "--ascend-launcher",
                   ChosenBy::kAscendLauncher),
        std::tuple(request.torch_launcher.has_value(), "--torch-launcher",
                   ChosenBy::kTorchLauncher)}) {
    // An image may set these options for any command, such as nvidia-smi.
    if (!plain || !python || !given) continue;
    plan.warnings.push_back(std::string(option) +
                            " is not used: one process is started, for nothing says that the "
                            "command is a job of its framework; add --framework " +
                            chosen_by(reason));
  }
  const std::optional<int>& slots = request.slots;
  if (plain && slots && *slots > 1) {
    plan.warnings.push_back("--slots " + std::to_string(*slots) +
                            ": one process is started, for nothing says what its ranks are; add "
                            "--fan-out for PyTorch, or --framework");
  }
}

// Looks for signs that a job of one node is a part of a larger job.
base::Status check_lone_node(Inputs& inputs, Plan& plan) {
  if (is_said_to_be_alone(inputs.request())) return {};
  TRY(check_alone(inputs));
  TRY_ASSIGN(auto warning, check_shapes(inputs));
  if (is_counted_one(inputs)) return {};
  if (warning.empty() && plan.platform == "local") {
    TRY_ASSIGN(warning, check_replica_name(inputs));
  }
  if (!warning.empty()) plan.warnings.push_back(std::move(warning));
  return {};
}

Pending pending_for(Wait wait, Plan plan) {
  Pending pending{.plan = std::move(plan), .path = wait.path, .why = wait.why};
  pending.plan.waits.push_back(std::move(wait));
  return pending;
}

Outcome plan_located(Inputs& inputs, ResolvedCluster resolved, Plan plan) {
  if (auto status = check_cluster(inputs.request(), resolved.cluster); !status) {
    return status.error();
  }
  bool has_ranks = !resolved.cluster.nodes.empty();
  if (resolved.platform.command.empty()) resolved.platform.command = inputs.command();
  plan.warnings = resolved.warnings;
  warn_of_unused(inputs.request(), resolved, plan);
  plan.waits = resolved.waits;
  add_membership_watch(inputs.request(), inputs.files_read(), plan);
  plan.env = resolved.platform.env;
  plan.local_node = resolved.local_node;
  // apply_conda() must be the first step: the command inside `conda run` decides the framework.
  if (auto status = apply_conda(inputs, resolved.platform, plan); !status) return status.error();
  if (auto status = check_count(inputs, resolved, plan); !status) return status.error();
  auto launcher = choose_framework(wanted_framework(inputs.request(), resolved, plan), plan);
  if (!launcher) return launcher.error();
  // Two kinds of commands need no check, as it does no harm to run them on several nodes: a command
  // that is only started, as the user typed it, and a launcher that knows its nodes.
  const ParsedCommand& command = resolved.platform.command;
  const bool told = command.launcher() && tells_its_nodes(inputs, command);
  if (resolved.platform.alone_by_default && !(*launcher)->only_starts && !told) {
    if (auto status = check_lone_node(inputs, plan); !status) return status.error();
  }
  if (!(*launcher)->only_starts) {
    auto warning = check_identity(inputs, resolved);
    if (!warning) return warning.error();
    if (!warning->empty()) plan.warnings.push_back(std::move(*warning));
  }
  if (auto wait = too_few_nodes(inputs.request(), resolved.cluster.nodes.size())) {
    return pending_for(std::move(*wait), std::move(plan));
  }
  if (!(*launcher)->only_starts && !resolved.platform.own_rank) {
    const auto nodes = static_cast<int>(std::max<std::size_t>(resolved.cluster.nodes.size(), 1));
    auto status = check_launched_once(inputs, nodes, resolved.local_node.node_rank);
    if (!status) return status.error();
  }
  count_ranks(inputs.request(), **launcher, resolved);
  resolved.platform.log_dir = log_dir_of(inputs, resolved.platform, plan);
  if (auto status = find_hooks(inputs, plan); !status) return status.error();
  share_grace(inputs.request(), plan);
  if ((*launcher)->needs_cann) {
    if (auto status = apply_cann(inputs, plan); !status) return status.error();
  }
  if (auto status = (*launcher)->launch(inputs, resolved, plan); !status) return status.error();
  if (auto status = check_counted(inputs, **launcher, resolved, plan); !status) {
    return status.error();
  }
  if (auto status = check_started_once(inputs.request(), resolved, plan); !status)
    return status.error();
  warn_of_cut_hooks(inputs.request(), plan);
  warn_of_devices(inputs, **launcher, resolved, plan);
  warn_of_slots(inputs, **launcher, resolved, plan);
  warn_of_counts(inputs, resolved, plan);
  plan_binding(inputs, resolved, plan);
  plan_output(inputs.request(), plan);
  add_terminal(inputs, resolved.platform, plan);
  plan_restart_policy(inputs, resolved, plan);
  plan_node_link(inputs, resolved, plan);
  add_hook_environment(inputs, resolved, plan);
  if (has_ranks) {
    plan.node_count = static_cast<int>(resolved.cluster.nodes.size());
    plan.world_size = resolved.cluster.world_size;
    plan.cluster = std::move(resolved.cluster);
  }
  plan_watches(inputs, plan);
  plan_warm(inputs, plan);
  return Planned{std::move(plan)};
}

// Adds a message for each variable that was ignored because it is a link to a Service. An error
// gets them too: a variable that it calls missing may be such a link.
void tell_ignored_links(const Inputs& inputs, Outcome& outcome) {
  for (const std::string& link : inputs.ignored_links()) {
    if (auto* error = std::get_if<base::Error>(&outcome)) {
      error->fix += (error->fix.empty() ? "" : "; ") + link;
    } else if (auto* pending = std::get_if<Pending>(&outcome)) {
      pending->plan.warnings.push_back(link);
    } else {
      std::get<Planned>(outcome).plan.warnings.push_back(link);
    }
  }
}

}  // namespace

Answer resolve(const Snapshot& snapshot, const Request& request, TableMemo* memo) {
  Inputs inputs(snapshot, request, memo);
  // Every answer needs the wants, or the snapshot would never get the paths.
  const auto answer = [&inputs](Outcome outcome) {
    tell_ignored_links(inputs, outcome);
    return Answer{.outcome = std::move(outcome),
                  .wants = {inputs.wants().begin(), inputs.wants().end()}};
  };
  if (request.command.empty()) {
    return answer(base::Error{"reading the command line", "", "no command",
                              "name the program to run: trainit -- python train.py"});
  }
  auto chosen = choose_platform(inputs);
  if (!chosen) return answer(chosen.error());
  Plan plan;
  plan.platform = chosen->platform->name;
  plan.platform_reason = std::move(chosen->reason);
  plan.policy = policy_of(inputs.env(), request);
  plan.observe = request.observe;
  auto datasets = datasets_of(request.data);
  if (!datasets) return answer(datasets.error());
  plan.datasets = std::move(*datasets);
  plan.data = request.data;

  Location location = chosen->platform->locate(inputs);
  if (auto* error = std::get_if<base::Error>(&location)) return answer(std::move(*error));
  if (auto* resolved = std::get_if<ResolvedCluster>(&location)) {
    return answer(plan_located(inputs, std::move(*resolved), std::move(plan)));
  }
  // Only a rank table causes a wait here.
  auto launcher = choose_framework(
      request.framework.empty() ? chosen_by(ChosenBy::kDevices) : request.framework, plan);
  if (!launcher) return answer(launcher.error());
  if (auto* not_yet = std::get_if<NotYet>(&location)) {
    return answer(pending_for(std::move(not_yet->wait), std::move(plan)));
  }
  return answer(Pending{.plan = std::move(plan), .path = "", .why = ""});
}

bool is_pass_through(const base::Environ& env, const Request& request) {
  if (!request.platform.empty() && request.platform != "local") return false;
  if (!request.framework.empty() && !launcher_of(request.framework).only_starts) return false;
  // Users are looked up, and profiles compiled, in the resolver.
  if (request.sandbox != SandboxRequest{}) return false;
  // Directories are listed, the terminal's program is searched, and nodes are watched, in the
  // resolver.
  if (!request.hooks_dir.empty() || !request.lifecycle_script.empty()) return false;
  if (request.policy.elastic || has_terminal(request)) return false;
  // A restart needs a new plan, which has more variables than the first one.
  if (request.max_restarts.value_or(0) > 0) return false;
  if (request.observe != Observation{} || request.command.empty()) return false;
  if (!request.data.specs.empty()) return false;
  if (request.output == Output::kFiles || request.output == Output::kTee) return false;
  if (request.log_prefix.value_or(false)) return false;
  Snapshot snapshot;
  snapshot.env = env;
  snapshot.paths[kHooksDirectory] = {};  // the caller has looked at it
  Inputs inputs(snapshot, request);
  const auto chosen = choose_platform(inputs);
  // A platform's lists, tables and JSON are parsed in the resolver.
  if (!chosen || chosen->platform->name != "local" || !inputs.wants().empty()) return false;
  Answer answer = resolve(snapshot, request);
  return answer.wants.empty() && std::holds_alternative<Planned>(answer.outcome);
}

}  // namespace envgen
