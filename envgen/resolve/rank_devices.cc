#include "envgen/resolve/rank_devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"

namespace envgen {
namespace {

struct TypedRanks {
  int ranks = 0;         // 0: the flag's value is not a number
  bool of_node = false;  // true = ranks of a node; false = ranks of the job
};

// Returns a launcher's flag for the ranks of a node or of the job; nothing without such a flag.
std::optional<TypedRanks> typed_ranks(const ParsedCommand& command) {
  if (!command.launcher() || command.framework() == "single") return std::nullopt;
  for (const bool of_node : {true, false}) {
    const auto flag =
        find_flag(command, command.launcher_name(),
                  of_node ? "--nproc_per_node --nproc --local_worker_num --num_gpus"
                          : "--num_processes --num_proc --worker_num --np -np --n -n");
    if (flag) return TypedRanks{base::parse_count<int>(flag->text).value_or(0), of_node};
  }
  return std::nullopt;
}

bool starts_ranks(const Plan& plan) {
  return std::ranges::any_of(plan.processes,
                             [](const Process& process) { return process.rank >= 0; });
}

// Returns whether the plan gives a launcher the number of ranks of a node. It does so by a flag, or
// by a variable that the user has not set.
bool tells_ranks(const Inputs& inputs, const Plan& plan) {
  const auto told_by = [&inputs](const base::EnvEdit& edit) {
    return edit.kind != base::EnvEdit::Kind::kUnset && edit.name.ends_with("NPROC_PER_NODE") &&
           inputs.variable(edit.name).empty();
  };
  if (std::ranges::any_of(plan.env, told_by)) return true;
  return std::ranges::any_of(plan.processes, [&](const Process& process) {
    return typed_ranks(process.argv) || std::ranges::any_of(process.env, told_by);
  });
}

// Returns the highest LOCAL_RANK of this node's ranks, as far as it is known here; -1 if no rank
// runs.
int last_local_rank(const Inputs& inputs, const FrameworkLauncher& launcher,
                    const ResolvedCluster& resolved, const Plan& plan) {
  if (resolved.platform.own_rank) return resolved.platform.local_rank;
  const auto started = std::ranges::count_if(
      plan.processes, [](const Process& process) { return process.rank >= 0; });
  if (started > 0) return static_cast<int>(started) - 1;
  const ParsedCommand& command = resolved.platform.command;
  const auto typed = command.launcher() ? typed_ranks(command) : std::nullopt;
  const bool alone = resolved.cluster.nodes.size() < 2;
  if (typed && (typed->of_node || alone)) return typed->ranks - 1;
  // If a launcher has started trainit for one of its ranks, that rank's number counts.
  if (launcher.only_starts)
    return base::parse_count<int>(inputs.variable("LOCAL_RANK")).value_or(-1);
  const bool agent = launcher.needs_ssh_peers || command.launcher() || tells_ranks(inputs, plan);
  if (!agent) return -1;
  const auto at = static_cast<std::size_t>(std::max(resolved.local_node.node_rank, 0));
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  return (at < nodes.size() ? nodes[at].slots : plan.world_size) - 1;
}

// Returns the devices that the ranks see. Devices of a rank table belong to its ranks, whatever
// /dev contains. For a command that is only started, /dev is not looked at.
DeviceCount devices_seen(Inputs& inputs, const FrameworkLauncher& launcher, const Plan& plan) {
  const bool of_table = std::ranges::any_of(
      plan.processes, [](const Process& process) { return process.device >= 0; });
  if (!of_table && !launcher.only_starts) {
    const auto count = count_known_kinds(inputs);
    if (count && count->known && count->count > 0) return *count;
  }
  return devices_listed(inputs);
}

// Returns the variable by which the plan gives a launcher the number of a node's ranks. "" = none.
std::string ranks_variable(const Plan& plan) {
  for (const Process& process : plan.processes) {
    for (const base::EnvEdit& edit : process.env) {
      const bool sets = edit.kind != base::EnvEdit::Kind::kUnset;
      if (sets && edit.name.ends_with("NPROC_PER_NODE")) return edit.name;
    }
  }
  return "";
}

// Returns why the launcher in the command does not start `slots` ranks on this node. "" = it does,
// or only the launcher can tell.
std::string why_other_ranks(const Inputs& inputs, const ResolvedCluster& resolved, const Plan& plan,
                            int slots) {
  const ParsedCommand& command = resolved.platform.command;
  const std::string& name = command.launcher_name();
  if (const auto typed = typed_ranks(command)) {
    const bool of_node = typed->of_node || resolved.cluster.nodes.size() < 2;
    const int expected = of_node ? slots : resolved.cluster.world_size;
    if (typed->ranks == 0 || typed->ranks == expected) return "";
    return "the flag of " + name + " in the command says " + std::to_string(typed->ranks) +
           ", and is used; for this job it would be " + std::to_string(expected);
  }
  const std::string variable = ranks_variable(plan);
  const auto elsewhere = find_flag(
      command, name, "--config_file --config-file --hostfile --include --host -H -c -ppn");
  if (variable.empty() && elsewhere) return "";
  if (variable.empty()) {
    return name + " does not get this number from trainit; give it with a flag of " + name;
  }
  const std::string_view given = inputs.variable(variable);
  // torchrun takes words too, such as "gpu", and counts the devices itself.
  if (!base::parse_count<int>(given) || given == std::to_string(slots)) return "";
  return base::concat({variable, "=", given, " is used; make them equal, or unset ", variable});
}

// Warns of an order that CANN refuses. CANN takes ids in ascending order, each once, and otherwise
// shows no device at all ("it must be configured in ascending order", EE1001).
void warn_of_order(const Inputs& inputs, Plan& plan) {
  constexpr const char* kVariable = "ASCEND_RT_VISIBLE_DEVICES";
  const std::string_view text = inputs.variable(kVariable);
  std::string_view list = text;
  int last = -1;
  while (!list.empty()) {
    const auto id = base::parse_count<int>(base::trimmed(base::take_part(list, ',')));
    if (!id) return;
    if (*id <= last) {
      plan.warnings.push_back(base::concat(
          {kVariable, "=", text,
           ": CANN refuses a list that is not in ascending order, each device once, and the "
           "ranks would find no device; sort it"}));
      return;
    }
    last = *id;
  }
}

}  // namespace

base::Status check_counted(const Inputs& inputs, const FrameworkLauncher& launcher,
                           const ResolvedCluster& resolved, Plan& plan) {
  if (!inputs.uncounted() || inputs.request().slots) return {};
  if (launcher.only_starts || launcher.one_per_node || launcher.ranks_of_role != nullptr) return {};
  if (typed_ranks(resolved.platform.command)) return {};
  const bool hosts = launcher.needs_ssh_peers && !resolved.platform.hostfiles_given;
  if (!starts_ranks(plan) && !hosts && !tells_ranks(inputs, plan)) return {};
  if (inputs.uncounted_surely()) return std::unexpected(*inputs.uncounted());
  plan.warnings.push_back(to_line(*inputs.uncounted()));
  return {};
}

bool gives_ranks(const ParsedCommand& command) { return typed_ranks(command).has_value(); }

void warn_of_slots(const Inputs& inputs, const FrameworkLauncher& launcher,
                   const ResolvedCluster& resolved, Plan& plan) {
  const Request& request = inputs.request();
  const int slots = request.slots.value_or(1);
  if (slots < 2 || resolved.platform.own_rank || !resolved.platform.command.launcher()) return;
  // Such a launcher needs nothing from trainit: srun, vllm, ray.
  if (resolved.platform.command.framework() == "single") return;
  // The hostfile has the number. It is a limit for mpirun, whose flag may be below it.
  if (launcher.needs_ssh_peers) return;
  if (launcher.only_starts && !request.framework.empty()) return;
  const std::string why = why_other_ranks(inputs, resolved, plan, slots);
  if (!why.empty()) plan.warnings.push_back("--slots " + std::to_string(slots) + ": " + why);
}

void warn_of_devices(Inputs& inputs, const FrameworkLauncher& launcher,
                     const ResolvedCluster& resolved, Plan& plan) {
  warn_of_order(inputs, plan);
  const int last = last_local_rank(inputs, launcher, resolved, plan);
  if (last < 1) return;
  const DeviceCount seen = devices_seen(inputs, launcher, plan);
  if (!seen.known || last < seen.count) return;
  const bool one = resolved.platform.own_rank || launcher.only_starts;
  const std::string count = std::to_string(seen.count);
  const std::string number = std::to_string(one ? last : last + 1);
  std::string text = base::concat({seen.source, ": a process sees ", count,
                                   seen.count == 1 ? " device, and " : " devices, and "});
  if (one) {
    text +=
        base::concat({"this one is LOCAL_RANK ", number,
                      ": a script that takes the device of that number fails; give each task all "
                      "devices of its node (srun --gpus-per-node, not --gpus-per-task), or take "
                      "device 0"});
  } else {
    text += base::concat({"this node runs ", number, " ranks: those from LOCAL_RANK ", count,
                          " on have no device of their own; see --slots"});
  }
  plan.warnings.push_back(std::move(text));
}

}  // namespace envgen
