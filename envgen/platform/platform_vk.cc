// A task-training platform on Volcano. It has VK_TASK_INDEX, PS_HOST, WORKER_HOST and SLOTS, four
// distributed modes, and commands that run without a shell. A mode is --framework horovod,
// tensorflow, pytorch or deepspeed. Source: that platform's user manual, "distributed modes" and
// "run command"; Volcano's env and svc plugins for the host lists.

#include <algorithm>
#include <array>

#include "envgen/formats/hosts.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"
#include "envgen/plan/launch.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr const char* kFinding = "finding this node";
constexpr int kMasterPort = 2222;

// The variables in the command lines of the platform's documents (`torchrun --node_rank ${RANK}`).
// The platform starts commands without a shell, so trainit replaces them.
constexpr std::array<std::string_view, 6> kFilled = {"WORLD_SIZE",  "RANK",        "SLOTS",
                                                     "MASTER_ADDR", "MASTER_PORT", "VK_TASK_INDEX"};

// A list of hosts and its source. It is empty if no such list exists.
struct HostList {
  std::string source;
  std::vector<HostPort> hosts;
};

std::string upper_case(std::string_view task) {
  std::string name(task);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

base::Result<HostList> list_in(std::string_view text, std::string source) {
  TRY_ASSIGN(auto hosts, parse_host_list(text, source));
  return HostList{std::move(source), std::move(hosts)};
}

// Reads `variable`, else the variable and the file of Volcano's svc plugin for a task of that name.
// Returns nothing while the file is not in the snapshot. The lists of a large job are only in the
// files.
std::optional<base::Result<HostList>> hosts_of(Inputs& inputs, std::string_view variable,
                                               std::string_view task, bool try_file) {
  const std::string by_task = "VC_" + upper_case(task) + "_HOSTS";
  const Variable set = first_set(inputs, {variable, by_task});
  if (!set.value.empty()) return list_in(set.value, std::string(set.name));
  if (!try_file) return HostList{};
  const std::string path = "/etc/volcano/" + std::string(task) + ".host";
  const PathState* state = inputs.content(path);
  if (state == nullptr) return std::nullopt;
  if (state->kind != PathState::Kind::kFile) return HostList{};
  return list_in(state->content, path);
}

struct Lists {
  HostList workers;
  HostList ps;
};

std::optional<base::Result<Lists>> lists_of(Inputs& inputs) {
  // A ps knows the name of the training task only from WORKER_HOST; it may differ from the usual
  // one.
  std::string_view task = inputs.variable("VC_TASK_NAME");
  if (task.empty() || task == "ps") task = "worker";
  const bool by_variable = !first_set(inputs, {"WORKER_HOST", "VC_WORKER_HOSTS"}).value.empty();
  auto workers = hosts_of(inputs, "WORKER_HOST", task, !by_variable);
  auto ps = hosts_of(inputs, "PS_HOST", "ps", !by_variable);
  if (!workers || !ps) return std::nullopt;
  if (!*workers) return std::unexpected(workers->error());
  if (!*ps) return std::unexpected(ps->error());
  Lists lists{std::move(**workers), std::move(**ps)};
  if (lists.workers.hosts.empty() && !lists.ps.hosts.empty()) {
    return base::fail(kFinding, "WORKER_HOST",
                      "no workers, and parameter servers in " + lists.ps.source,
                      "set WORKER_HOST to the workers' hosts");
  }
  TRY_ASSIGN(auto told, number_in(inputs, "VC_" + upper_case(task) + "_NUM"));
  const std::size_t count = lists.workers.hosts.size();
  if (told && static_cast<std::size_t>(*told) != std::max<std::size_t>(count, 1)) {
    return base::fail(kFinding, "VC_" + upper_case(task) + "_NUM",
                      std::to_string(*told) + ", and " + std::to_string(count) + " hosts" +
                          (count > 0 ? " in " + lists.workers.source : ""),
                      "they have to agree: set WORKER_HOST to the hosts of all workers");
  }
  return lists;
}

std::vector<std::string> own_names(const Inputs& inputs) {
  std::vector<std::string> names = {inputs.facts().host_name};
  for (const char* variable : {"POD_NAME", "HOSTNAME", "POD_IP"}) {
    names.emplace_back(inputs.variable(variable));
  }
  names.insert(names.end(), inputs.facts().addresses.begin(), inputs.facts().addresses.end());
  return names;
}

std::vector<Node> nodes_of(const Lists& lists, int worker_slots) {
  std::vector<Node> nodes;
  nodes.reserve(lists.workers.hosts.size() + lists.ps.hosts.size());
  auto add = [&nodes](const HostList& list, const char* role, int slots) {
    for (std::size_t i = 0; i < list.hosts.size(); ++i) {
      Node node;
      node.host = list.hosts[i].host;
      node.port = list.hosts[i].port;
      node.role = role;
      node.role_index = static_cast<int>(i);
      node.slots = slots;
      nodes.push_back(std::move(node));
    }
  };
  add(lists.workers, lists.ps.hosts.empty() ? "" : "worker", worker_slots);
  add(lists.ps, "ps", 0);
  return nodes;
}

// Returns whether this node is a parameter server. VK_TASK_INDEX counts within a task, so it is the
// same for ps-0 and worker-0. The task's name decides, else the list that has this node's name,
// else a name like "job-ps-0".
base::Result<bool> is_parameter_server(const Inputs& inputs, const Lists& lists,
                                       const std::vector<Node>& nodes) {
  if (lists.ps.hosts.empty()) return false;
  if (auto task = inputs.variable("VC_TASK_NAME"); !task.empty()) return task == "ps";
  bool listed[2] = {};
  for (int rank : nodes_like_local(nodes, inputs)) {
    listed[nodes[static_cast<std::size_t>(rank)].role == "ps" ? 1 : 0] = true;
  }
  if (listed[0] != listed[1]) return listed[1];
  for (std::string_view name :
       {inputs.variable("POD_NAME"), std::string_view(inputs.facts().host_name)}) {
    const bool ps = name.find("-ps-") != std::string_view::npos;
    const bool worker = name.find("-worker-") != std::string_view::npos;
    if (ps != worker) return ps;
  }
  return base::fail(kFinding, lists.workers.source + " and " + lists.ps.source,
                    "nothing that tells whether " + inputs.facts().host_name +
                        " is a worker or a parameter server",
                    "set VC_TASK_NAME to ps or worker, or give --node-rank");
}

base::Result<LocalNode> local_node_in(const Inputs& inputs, const Lists& lists,
                                      const std::vector<Node>& nodes) {
  if (inputs.request().node_rank) return local_node_by_index(nodes.size(), inputs.request(), 0, "");
  TRY_ASSIGN(auto ps, is_parameter_server(inputs, lists, nodes));
  TRY_ASSIGN(auto index, number_in(inputs, "VK_TASK_INDEX"));
  const HostList& list = ps ? lists.ps : lists.workers;
  const std::string where = "VK_TASK_INDEX";
  if (!index) {
    return base::fail(kFinding, where,
                      "that it is not set, and " + list.source + " lists " +
                          std::to_string(list.hosts.size()) + " hosts",
                      "set it to this node's place in the list, from 0, or give --node-rank");
  }
  const auto place = static_cast<std::size_t>(*index);
  if (place >= list.hosts.size()) {
    return std::unexpected(
        base::Error{.what = kFinding,
                    .where = where,
                    .found = std::to_string(place) + ", and " + list.source + " lists " +
                             std::to_string(list.hosts.size()) + " hosts",
                    .fix = "the index counts from 0 within the list: give it all hosts of the job",
                    .not_listed = true});
  }
  TRY(check_own_place(list.hosts, place, own_names(inputs), list.source));
  const std::size_t rank = place + (ps ? lists.workers.hosts.size() : 0);
  return LocalNode{static_cast<int>(rank),
                   "VK_TASK_INDEX is " + std::to_string(place) + " in " + list.source};
}

// Chooses the mode by the variables of the job.
void choose_mode(const Inputs& inputs, const Lists& lists, PlatformFacts& platform) {
  auto choose = [&platform](const char* framework, std::string_view variable) {
    if (!platform.framework.empty()) return;
    platform.framework = framework;
    platform.framework_reason = std::string(variable) + " is set";
  };
  if (!lists.ps.hosts.empty()) choose("tensorflow", lists.ps.source);
  const bool deepspeed = platform.command.framework() == "deepspeed";
  if (!inputs.variable("MASTER_ADDR").empty()) {
    choose(deepspeed ? "deepspeed" : "pytorch", "MASTER_ADDR");
  }
  auto mpi = first_set(inputs, {"OMPI_MCA_orte_default_hostfile", "HYDRA_HOST_FILE"});
  if (!mpi.name.empty()) choose("horovod", mpi.name);
}

std::string_view mode_of(const Inputs& inputs, const PlatformFacts& platform) {
  if (!inputs.request().framework.empty()) return inputs.request().framework;
  if (!platform.framework.empty()) return platform.framework;
  return platform.command.framework();
}

// Returns the facts of the platform's documents that do not depend on the mode.
PlatformFacts site_of(std::vector<std::string> command) {
  PlatformFacts platform;
  platform.command = std::move(command);
  platform.torch_launcher = TorchLauncher::kLaunch;
  platform.master_is_localhost = true;
  platform.prefix_bare_python_only = true;
  platform.tf_index_text = true;
  platform.openmpi_hostfile = "/etc/mpi/hostfile";
  platform.mpich_hostfile = "/etc/mpi/mpich_hostfile";
  platform.mpirun_prefix = openmpi_training_flags();
  return platform;
}

// Uses the hostfile that the platform itself wrote. Returns false while the snapshot lacks its
// path.
bool find_hostfile(Inputs& inputs, PlatformFacts& platform) {
  const std::string path(inputs.variable("OMPI_MCA_orte_default_hostfile"));
  if (path.empty()) return true;
  const PathState* state = inputs.kind(path);
  if (state == nullptr) return false;
  if (state->kind != PathState::Kind::kFile) return true;
  platform.hostfiles_given = true;
  platform.openmpi_hostfile = path;
  const std::string_view mpich = inputs.variable("HYDRA_HOST_FILE");
  if (!mpich.empty()) platform.mpich_hostfile = std::string(mpich);
  return true;
}

// Replaces each ${RANK} of the command by the value that the process will find in that variable.
void fill_in(const Inputs& inputs, ResolvedCluster& resolved) {
  auto value = [&](std::string_view name) -> std::optional<std::string> {
    if (std::ranges::find(kFilled, name) == kFilled.end()) return std::nullopt;
    const std::vector<base::EnvEdit>& env = resolved.platform.env;
    auto promised = std::ranges::find(env, name, &base::EnvEdit::name);
    if (promised != env.end()) return promised->value;
    const std::string_view set = inputs.variable(name);
    return set.empty() ? std::nullopt : std::optional(std::string(set));
  };
  ExpandedCommand expanded = expand_variables(resolved.platform.command, value);
  resolved.platform.command = std::move(expanded.command);
  for (const std::string& name : expanded.unknown) {
    resolved.warnings.push_back("$" + name +
                                " stays in the command as it is: no shell reads it. For a shell, "
                                "use bash -c \"...\"");
  }
}

// Adds variables for modes in which the user's command may contain ${WORLD_SIZE}, which here counts
// nodes.
void promise(std::string_view mode, ResolvedCluster& resolved) {
  using Kind = base::EnvEdit::Kind;
  const Cluster& cluster = resolved.cluster;
  const Node& node = cluster.nodes[static_cast<std::size_t>(resolved.local_node.node_rank)];
  std::vector<base::EnvEdit>& env = resolved.platform.env;
  if (mode == "horovod" || mode == "mpi") env.push_back({Kind::kSetDefault, "HYDRA_IFACE", "eth0"});
  if (mode != "pytorch" && mode != "deepspeed") return;
  const std::string& master = cluster.master_addr;
  env.push_back({Kind::kSet, "MASTER_ADDR", master.empty() ? "localhost" : master});
  env.push_back({Kind::kSet, "MASTER_PORT", std::to_string(cluster.master_port)});
  env.push_back({Kind::kSet, "WORLD_SIZE", std::to_string(cluster.nodes.size())});
  env.push_back({Kind::kSet, "RANK", std::to_string(resolved.local_node.node_rank)});
  env.push_back({Kind::kSet, "SLOTS", std::to_string(node.slots)});
}

// Locates a job without lists: by the PyTorch mode's own variables, else as one node.
base::Result<ResolvedCluster> locate_without_lists(const Inputs& inputs, int slots,
                                                   PlatformFacts platform) {
  const Request& request = inputs.request();
  TRY_ASSIGN(auto index, number_in(inputs, "VK_TASK_INDEX"));
  TRY_ASSIGN(auto count, number_in(inputs, "WORLD_SIZE"));
  TRY_ASSIGN(auto rank, number_in(inputs, "RANK"));
  const std::string_view master = inputs.variable("MASTER_ADDR");
  const bool by_master = !master.empty() && count && (rank || request.node_rank);
  if (!by_master && !master.empty() && count.value_or(1) > 1) {
    return base::fail(kFinding, "RANK",
                      "nothing, and MASTER_ADDR and WORLD_SIZE say that there are " +
                          std::to_string(*count) + " nodes",
                      "set it to this node's rank from 0, or give --node-rank");
  }
  if (!by_master && index.value_or(0) > 0) {
    return base::fail(kFinding, "WORKER_HOST",
                      "no hosts, and VK_TASK_INDEX is " + std::to_string(*index),
                      "set WORKER_HOST to the hosts of all nodes, separated by commas");
  }
  TRY_ASSIGN(auto nodes, nameless_nodes(by_master ? *count : 1, slots, "WORLD_SIZE"));
  TRY_ASSIGN(auto local_node,
             local_node_by_index(nodes.size(), request, by_master ? rank.value_or(0) : 0, "RANK"));
  if (!by_master) {
    local_node.reason = "no WORKER_HOST, nor MASTER_ADDR with WORLD_SIZE and RANK: one node";
    platform.alone_by_default = true;
  }
  if (by_master && request.master_addr.empty()) {
    TRY(check_given_master(master, "MASTER_ADDR", local_node.node_rank, nodes.size()));
  }
  Cluster cluster;
  cluster.nodes = std::move(nodes);
  if (by_master) cluster.master_addr = cluster.nodes[0].host = std::string(master);
  return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                               inputs);
}

// Returns the number of ranks of a worker: its cards. One TensorFlow process uses all cards.
std::optional<base::Result<int>> slots_of(Inputs& inputs, std::string_view mode) {
  TRY_ASSIGN(auto told, number_in(inputs, "SLOTS", kSlots));
  if (told && *told == 0) {
    return base::fail("counting this node's cards", "SLOTS", "0",
                      "set it to the number of cards of one node, 1 on a CPU node");
  }
  if (mode == "tensorflow") return 1;
  auto slots = slots_of_node(inputs, told.value_or(0));
  if (!slots) return std::nullopt;
  return *slots;
}

std::optional<std::string> detect_vk(Inputs& inputs) {
  // Volcano's env plugin sets VK_TASK_INDEX in all its jobs, so that alone does not show this
  // platform.
  const bool index = !inputs.variable("VK_TASK_INDEX").empty();
  const Variable hosts = first_set(inputs, {"WORKER_HOST", "PS_HOST"});
  const bool slots = !inputs.variable("SLOTS").empty();
  if (index && !hosts.name.empty()) {
    return "VK_TASK_INDEX and " + std::string(hosts.name) + " are set";
  }
  if (index && slots) return "VK_TASK_INDEX and SLOTS are set";
  if (slots && !hosts.name.empty()) return std::string(hosts.name) + " and SLOTS are set";
  return std::nullopt;
}

Location locate_vk(Inputs& inputs) {
  auto command = without_shell_syntax(inputs.request().command, "vk", kFilled);
  if (!command) return command.error();
  PlatformFacts platform = site_of(std::move(*command));
  const std::string& wanted = inputs.request().framework;
  if (!inputs.variable("TF_CONFIG").empty() && (wanted.empty() || wanted == "tensorflow")) {
    Location location = locate_by_tf_config(inputs, std::move(platform));
    if (auto* resolved = std::get_if<ResolvedCluster>(&location)) fill_in(inputs, *resolved);
    return location;
  }
  auto lists = lists_of(inputs);
  if (!lists) return NeedsPaths{};
  if (!*lists) return lists->error();
  choose_mode(inputs, **lists, platform);
  const std::string mode(mode_of(inputs, platform));
  auto slots = slots_of(inputs, mode);
  const bool hostfile_known = find_hostfile(inputs, platform);
  if (!slots || !hostfile_known) return NeedsPaths{};
  if (!*slots) return slots->error();
  auto port = number_in(inputs, "MASTER_PORT", kPorts);
  if (!port) return port.error();

  base::Result<ResolvedCluster> resolved = std::unexpected(base::Error());
  if ((*lists)->workers.hosts.empty()) {
    resolved = locate_without_lists(inputs, **slots, std::move(platform));
  } else {
    Cluster cluster;
    cluster.nodes = nodes_of(**lists, **slots);
    auto local_node = local_node_in(inputs, **lists, cluster.nodes);
    if (!local_node) return local_node.error();
    resolved = make_resolved_cluster(std::move(cluster), std::move(*local_node),
                                     std::move(platform), inputs);
  }
  if (!resolved) return resolved.error();
  if (resolved->cluster.master_port == 0) {
    resolved->cluster.master_port = port->value_or(kMasterPort);
  }
  promise(mode, *resolved);
  fill_in(inputs, *resolved);
  return std::move(*resolved);
}

}  // namespace

extern const Platform kVkPlatform = {"vk", detect_vk, locate_vk};

}  // namespace envgen
