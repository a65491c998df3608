// TensorFlow: one process per node, or per task that the platform started on it. TF_CONFIG tells
// the process its role and index (tfconfig.h).
//
// Some platforms require ModelArts' flags (--task_index N --ps_hosts a,b --worker_hosts c,d
// --job_name worker). These flags are inserted directly after the script, before the user's own
// arguments. There the user's arguments take precedence in parsers that take the last duplicate. A
// "--" or a subcommand in the user's arguments does not hide the flags either. A script that
// already gets one of the four flags keeps its own.

#include <algorithm>
#include <array>
#include <utility>

#include "envgen/formats/tfconfig.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

using Kind = base::EnvEdit::Kind;

constexpr const char* kPlanning = "planning a TensorFlow job";

// Checks the kernel's limit, which applies to "NAME=value" and to an argument alike, with the final
// NUL.
base::Status fits_in_one_string(std::string_view name, std::size_t bytes) {
  if (bytes < kMaxVariableBytes) return {};
  return base::fail(
      kPlanning, std::string(name),
      std::to_string(bytes) + " bytes, where the kernel takes less than " +
          std::to_string(kMaxVariableBytes),
      "use shorter host names (names of the headless service without the cluster's domain, "
      "or addresses) or fewer tasks");
}

struct Config {
  std::optional<TfConfig> value;    // nullopt: a job with a single replica
  std::optional<std::string> text;  // the TF_CONFIG that trainit sets; nullopt: none
};

// The tasks that the platform started, each as a node. Tasks on the same host have different ports.
struct Tasks {
  Cluster cluster;
  int self = 0;
};
Tasks started_tasks(const ResolvedCluster& resolved) {
  Tasks tasks;
  for (int rank = 0; rank < static_cast<int>(resolved.cluster.nodes.size()); ++rank) {
    const Node& node = resolved.cluster.nodes[static_cast<std::size_t>(rank)];
    // The task's place in the list decides, because the platform does not say how it distributed
    // its ranks.
    if (rank == resolved.local_node.node_rank) {
      tasks.self = static_cast<int>(tasks.cluster.nodes.size()) + resolved.platform.local_rank;
    }
    for (int local_rank = 0; local_rank < node.slots; ++local_rank) {
      Node task;
      task.host = node.host;
      task.port = (node.port > 0 ? node.port : kTfPort) + local_rank;
      tasks.cluster.nodes.push_back(std::move(task));
    }
  }
  return tasks;
}

base::Result<std::optional<TfConfig>> made_config(const ResolvedCluster& resolved) {
  const bool index_text = resolved.platform.tf_index_text;
  if (!resolved.platform.own_rank) {
    return tf_config_of(resolved.cluster, resolved.local_node.node_rank, index_text);
  }
  const Tasks tasks = started_tasks(resolved);
  return tf_config_of(tasks.cluster, tasks.self, index_text);
}

base::Result<Config> config_of(const ResolvedCluster& resolved, const Inputs& inputs) {
  const std::string& injected = resolved.platform.tf_config;
  Config config;
  if (!injected.empty()) {
    TRY_ASSIGN(config.value, parse_tf_config(injected, "TF_CONFIG"));
    if (inputs.variable("TF_CONFIG") != injected) config.text = injected;
    return config;
  }
  TRY_ASSIGN(config.value, made_config(resolved));
  if (config.value) config.text = render_tf_config(*config.value);
  return config;
}

std::string hosts_of(const TfConfig& config, const char* role) {
  std::string list;
  auto tasks = config.cluster.find(role);
  if (tasks == config.cluster.end()) return list;
  for (const auto& [index, address] : tasks->second) list += (list.empty() ? "" : ",") + address;
  return list;
}

bool gives_flag(const std::vector<std::string>& command, std::size_t from, std::string_view name) {
  return std::any_of(command.begin() + static_cast<std::ptrdiff_t>(from), command.end(),
                     [name](std::string_view word) {
                       word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
                       return word.substr(0, word.find('=')) == name;
                     });
}

// Returns the command with the flags of this task after its script.
base::Result<std::vector<std::string>> with_flags(const ParsedCommand& typed,
                                                  const TfConfig& config, Plan& plan) {
  std::vector<std::string> command = typed;
  const auto& python = typed.python();
  if (!python) {
    plan.warnings.push_back("--task_index and its like go behind a Python script, and " +
                            command[0] + " is none: they are left out");
    return command;
  }
  const std::size_t behind = python->operand + 1;
  const std::array<std::pair<const char*, std::string>, 4> flags = {{
      {"task_index", std::to_string(config.index)},
      {"ps_hosts", hosts_of(config, "ps")},
      {"worker_hosts", hosts_of(config, "worker")},
      {"job_name", config.type},
  }};
  std::vector<std::string> added;
  for (const auto& [name, value] : flags) {
    if (value.empty() || gives_flag(command, behind, name)) continue;
    TRY(fits_in_one_string(name, value.size()));
    added.push_back(std::string("--") + name);
    added.push_back(value);
  }
  command.insert(command.begin() + static_cast<std::ptrdiff_t>(behind), added.begin(), added.end());
  return command;
}

base::Status launch_tensorflow(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  constexpr std::string_view kVariable = "TF_CONFIG";
  TRY_ASSIGN(auto config, config_of(resolved, inputs));

  std::vector<std::string> command = resolved.platform.command;
  // A job with a single replica has no cluster, so it gets no flags either.
  const bool flags = inputs.request().tf_flags.value_or(resolved.platform.tf_flags);
  if (flags && config.value && !config.value->cluster.empty()) {
    TRY_ASSIGN(command, with_flags(std::move(command), *config.value, plan));
  }
  Process process = main_process(inputs, resolved.platform, std::move(command), plan);
  if (config.text) {
    const std::size_t bytes = kVariable.size() + 1 + config.text->size();
    TRY(fits_in_one_string(kVariable, bytes));
    process.env.push_back({Kind::kSet, std::string(kVariable), *config.text});
  } else if (!config.value && inputs.env().get(kVariable)) {
    process.env.push_back({Kind::kUnset, std::string(kVariable), ""});
    plan.warnings.push_back(
        "TF_CONFIG is set, but not by the platform, and the job has one node: it is removed");
  }
  std::ranges::move(unset_stale(inputs, plan, rank_variables()), std::back_inserter(process.env));
  // A parameter server never exits on its own: the job is over when its workers have exited.
  if (config.value && config.value->type == "ps") plan.policy.success = base::SuccessPolicy::kServe;
  plan.processes.push_back(std::move(process));
  return {};
}

constexpr ChosenBy kChosenBy[] = {ChosenBy::kTfConfig};

}  // namespace

extern const FrameworkLauncher kTensorFlowLauncher = {.name = "tensorflow",
                                                      .launch = launch_tensorflow,
                                                      .ranks_of_role = tf_ranks,
                                                      .chosen_by = kChosenBy,
                                                      .on_every_node = true};

}  // namespace envgen
