// Volcano: tasks of a job become roles. Its svc plugin lists each task's hosts (VC_<TASK>_HOSTS,
// /etc/volcano/<task>.host). Its env plugin numbers a pod within its task. Its pytorch, tensorflow
// and mpi plugins add the variables for these frameworks. On Ascend, MindCluster's data have
// priority. Source: Volcano's controllers/job/plugins.

#include <algorithm>
#include <map>
#include <set>

#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"
#include "envgen/platform/mindcluster.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading Volcano's variables";
constexpr const char* kHostsDirectory = "/etc/volcano";

// The following functions find the tasks and their hosts.

struct Task {
  std::string name;    // in lower case, with '_' for '-'
  std::string source;  // variable or file that lists its hosts
  std::string role;
  std::vector<std::string> hosts;
};

std::string role_of_task(const std::string& name) {
  if (name == "mpimaster") return "launcher";
  if (name == "mpiworker") return "worker";
  if (name == "eval") return "evaluator";
  return name;
}

// Returns the task in a variable's name: "PS" for VC_PS_HOSTS.
std::string_view task_of_variable(std::string_view entry) {
  constexpr std::string_view kPrefix = "VC_";
  constexpr std::string_view kSuffix = "_HOSTS";
  std::string_view name = entry.substr(0, entry.find('='));
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return {};
  if (name.size() <= kPrefix.size() + kSuffix.size()) return {};
  return name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
}

base::Result<Task> task_of(std::string name, std::string source, std::string_view list) {
  TRY_ASSIGN(auto hosts, parse_host_list(list, source));
  Task task{std::move(name), std::move(source), "", {}};
  task.role = role_of_task(task.name);
  for (HostPort& host : hosts) task.hosts.push_back(std::move(host.host));
  return task;
}

// Returns the tasks in the order of their names, because variables have no fixed order.
std::vector<Task> values_of(std::map<std::string, Task> tasks) {
  std::vector<Task> list;
  list.reserve(tasks.size());
  for (auto& [name, task] : tasks) list.push_back(std::move(task));
  return list;
}

base::Result<std::vector<Task>> tasks_of_variables(const Inputs& inputs) {
  std::map<std::string, Task> tasks;
  for (const std::string& entry : inputs.env().entries()) {
    std::string_view name = task_of_variable(entry);
    if (name.empty() || entry.find('=') == std::string::npos) continue;
    std::string variable = "VC_" + std::string(name) + "_HOSTS";
    std::string_view list = inputs.variable(variable);
    if (list.empty()) continue;  // the task has no replicas
    TRY_ASSIGN(auto task, task_of(base::lowercased(name), variable, list));
    std::string count_name = "VC_" + std::string(name) + "_NUM";
    TRY_ASSIGN(auto count, number_in(inputs, count_name));
    if (count && static_cast<std::size_t>(*count) != task.hosts.size()) {
      return base::fail(kReading, variable + " and " + count_name,
                        std::to_string(task.hosts.size()) + " hosts and " + std::to_string(*count),
                        "both come from the svc plugin: was one of them changed by hand?");
    }
    tasks.emplace(task.name, std::move(task));
  }
  return values_of(std::move(tasks));
}

// Reads the tasks from the files, for jobs without these variables. Returns nullopt while the
// snapshot lacks a path.
base::Result<std::optional<std::vector<Task>>> tasks_of_files(Inputs& inputs) {
  constexpr std::string_view kSuffix = ".host";
  const PathState* directory = inputs.content(kHostsDirectory);
  if (directory == nullptr) return std::nullopt;
  std::map<std::string, Task> tasks;
  bool complete = true;
  for (const std::string& name : directory->entries) {
    if (!name.ends_with(kSuffix) || name.size() == kSuffix.size()) continue;
    std::string path = std::string(kHostsDirectory) + "/" + name;
    const PathState* file = inputs.content(path);
    complete = complete && file != nullptr;
    if (file == nullptr || file->content.empty()) continue;
    TRY_ASSIGN(auto task, task_of(base::lowercased(name.substr(0, name.size() - kSuffix.size())),
                                  path, file->content));
    tasks.emplace(task.name, std::move(task));
  }
  if (!complete) return std::nullopt;
  return values_of(std::move(tasks));
}

base::Result<std::optional<std::vector<Task>>> tasks_of_job(Inputs& inputs) {
  TRY_ASSIGN(auto tasks, tasks_of_variables(inputs));
  if (tasks.empty()) return tasks_of_files(inputs);
  return tasks;
}

// Sorts the tasks by role. The pytorch plugin's master may have any name: it is the task of
// MASTER_ADDR.
void order_tasks(std::vector<Task>& tasks, const std::string& master) {
  base::stable_sort(tasks, std::less(), [&master](const Task& task) {
    bool leads = !master.empty() && !task.hosts.empty() && task.hosts[0] == master;
    return leads ? -1 : place_of_role(task.role);
  });
}

// The following functions find this node.

// Returns the index within the task, and the variable that gives it.
base::Result<std::optional<std::pair<std::string, int>>> task_index(const Inputs& inputs) {
  TRY_ASSIGN(auto ours, number_in(inputs, "VC_TASK_INDEX"));
  TRY_ASSIGN(auto older, number_in(inputs, "VK_TASK_INDEX"));
  if (ours && older && *ours != *older) {
    return base::fail("finding this node", "VC_TASK_INDEX and VK_TASK_INDEX",
                      std::to_string(*ours) + " and " + std::to_string(*older),
                      "both come from the env plugin and are the same: was one set by hand?");
  }
  if (ours) return std::pair<std::string, int>{"VC_TASK_INDEX", *ours};
  if (older) return std::pair<std::string, int>{"VK_TASK_INDEX", *older};
  return std::nullopt;
}

struct Place {
  std::size_t task = 0;
  std::size_t index = 0;
};

std::vector<Place> places_of(const std::vector<Task>& tasks) {
  std::vector<Place> places;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (std::size_t i = 0; i < tasks[t].hosts.size(); ++i) places.push_back({t, i});
  }
  return places;
}

std::string task_list(const std::vector<Task>& tasks) {
  std::string list;
  for (const Task& task : tasks) {
    list += (list.empty() ? "" : ", ") + task.name + " (" + std::to_string(task.hosts.size()) + ")";
  }
  return list;
}

// Returns the pytorch plugin's RANK, the place among the pods of its master and worker tasks. On
// the host's network only RANK distinguishes the pods of one task from another's. Returns nothing
// if RANK does not decide.
std::optional<int> rank_of_plugin(const Inputs& inputs, const std::vector<Task>& tasks,
                                  const std::vector<Place>& places) {
  const auto world = number_in(inputs, "WORLD_SIZE");
  const auto rank = number_in(inputs, "RANK");
  const auto index = task_index(inputs);
  if (!world || !*world || !rank || !*rank || !index) return std::nullopt;
  if (**rank >= std::min(**world, static_cast<int>(places.size()))) return std::nullopt;
  const bool first =
      tasks[0].hosts.size() == 1 && tasks[0].hosts[0] == inputs.variable("MASTER_ADDR");
  const Place& place = places[static_cast<std::size_t>(**rank)];
  const bool same = !*index || (*index)->second == static_cast<int>(place.index);
  return first && same ? *rank : std::nullopt;
}

// Returns the task that a variable names, or the only task. The index alone does not distinguish ps
// 0 from worker 0.
base::Result<std::size_t> own_task(const Inputs& inputs, const std::vector<Task>& tasks) {
  Variable named = first_set(inputs, {"VC_TASK_NAME", "VOLCANO_TASK_NAME", "TASK_NAME"});
  if (named.name.empty()) {
    if (tasks.size() == 1) return std::size_t{0};
    return base::fail("finding this node", "VC_TASK_INDEX",
                      "no task name; the job has " + task_list(tasks) +
                          ", and none of their hosts is called like this one",
                      "set VC_TASK_NAME from the label volcano.sh/task-spec, or say --node-rank");
  }
  std::string name = base::lowercased(named.value);
  std::ranges::replace(name, '-', '_');
  auto found = std::ranges::find(tasks, name, &Task::name);
  if (found != tasks.end()) return static_cast<std::size_t>(found - tasks.begin());
  return base::fail("finding this node", std::string(named.name), std::string(named.value),
                    "the job has the tasks " + task_list(tasks));
}

base::Result<LocalNode> local_node_by_task(const Inputs& inputs, const std::vector<Task>& tasks,
                                           const std::vector<Place>& places) {
  TRY_ASSIGN(auto index, task_index(inputs));
  if (!index) {
    return base::fail("finding this node", "VC_TASK_INDEX", "nothing",
                      "turn Volcano's env plugin on, or say --node-rank");
  }
  const Variable named = first_set(inputs, {"VC_TASK_NAME", "VOLCANO_TASK_NAME", "TASK_NAME"});
  if (const auto rank = rank_of_plugin(inputs, tasks, places); rank && named.name.empty()) {
    return LocalNode{*rank, "RANK is " + std::to_string(*rank)};
  }
  TRY_ASSIGN(auto task, own_task(inputs, tasks));
  const auto& [source, number] = *index;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].task != task || static_cast<int>(places[i].index) != number) continue;
    return LocalNode{static_cast<int>(i),
                     source + " is " + std::to_string(number) + " in task " + tasks[task].name};
  }
  return std::unexpected(
      base::Error{.what = "finding this node",
                  .where = source,
                  .found = std::to_string(number) + ", but " + tasks[task].source + " has " +
                           std::to_string(tasks[task].hosts.size()) + " hosts",
                  .fix = "is the list of another job? Say which node this is with --node-rank",
                  .not_listed = true});
}

base::Result<LocalNode> local_node_of(const Inputs& inputs, const std::vector<Task>& tasks,
                                      const std::vector<Node>& nodes) {
  if (inputs.request().node_rank) return local_node_by_index(nodes.size(), inputs.request(), 0, "");
  std::vector<Place> places = places_of(tasks);
  std::vector<int> like = nodes_like_local(nodes, inputs);
  if (like.size() != 1) return local_node_by_task(inputs, tasks, places);
  auto rank = static_cast<std::size_t>(like[0]);
  TRY_ASSIGN(auto index, task_index(inputs));
  if (index && index->second != static_cast<int>(places[rank].index)) {
    return base::fail("finding this node", index->first,
                      std::to_string(index->second) + ", but " + nodes[rank].host +
                          ", which this host is called like, is number " +
                          std::to_string(places[rank].index) + " of its task",
                      "say which node this is with --node-rank");
  }
  return LocalNode{like[0], nodes[rank].host + " is this container's name or address"};
}

// The following functions make the cluster.

bool is_task(const std::vector<Task>& tasks, std::string_view name) {
  return std::ranges::find(tasks, name, &Task::name) != tasks.end();
}

// Chooses the framework that the job's plugins and tasks ask for. MPI_HOST is only set on the
// master. A worker decides by the names of the tasks, or by the same command or option as its
// master.
void choose_framework(const Inputs& inputs, const std::vector<Task>& tasks,
                      PlatformFacts& platform) {
  const Request& request = inputs.request();
  auto choose = [&platform](const char* framework, std::string reason) {
    platform.framework = framework;
    platform.framework_reason = std::move(reason);
  };
  std::string_view program =
      request.command.empty() ? std::string_view() : base_name(request.command[0]);
  bool mpi_command = program.starts_with("mpirun") || program.starts_with("mpiexec");
  for (const char* name : {"launcher", "mpimaster", "mpiworker"}) {
    if (is_task(tasks, name)) return choose("mpi", "the job has a task " + std::string(name));
  }
  const bool torch =
      !inputs.variable("MASTER_ADDR").empty() && !inputs.variable("WORLD_SIZE").empty();
  if (torch && mpi_command) return choose("mpi", "the command is " + std::string(program));
  // The pytorch plugin sets both on all pods; the mpi plugin sets MPI_HOST only on the master.
  if (torch) return choose("pytorch", "MASTER_ADDR and WORLD_SIZE are set");
  if (!inputs.variable("MPI_HOST").empty()) return choose("mpi", "MPI_HOST is set");
  for (const char* name : {"ps", "chief", "evaluator"}) {
    if (is_task(tasks, name))
      return choose("tensorflow", "the job has a task " + std::string(name));
  }
  if (mpi_command) choose("mpi", "the command is " + std::string(program));
}

const std::string& framework_of(const Request& request, const PlatformFacts& platform) {
  return request.framework.empty() ? platform.framework : request.framework;
}

bool has_launcher(const Request& request, const PlatformFacts& platform) {
  const std::string& framework = framework_of(request, platform);
  return framework == "mpi" || framework == "horovod";
}

std::vector<Node> nodes_of_tasks(const std::vector<Task>& tasks, bool with_launcher, int slots) {
  std::vector<Node> nodes;
  std::map<std::string, int> counts;
  // A job with a single task, whatever its name, is a job without roles.
  bool has_roles = tasks.size() > 1 || place_of_role(tasks[0].role) != 2;
  for (const Task& task : tasks) {
    bool launcher = task.role == "launcher" || (with_launcher && task.role == "master");
    for (const std::string& host : task.hosts) {
      Node node;
      node.host = host;
      if (has_roles) node.role = launcher ? "launcher" : task.role;
      node.role_index = counts[node.role]++;
      bool idle = launcher || node.role == "ps" || node.role == "evaluator";
      node.slots = idle ? 0 : slots;
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

// Checks the hosts on which the mpi plugin's master may start ranks.
base::Status check_mpi_hosts(const Inputs& inputs, const std::vector<Node>& nodes) {
  TRY_ASSIGN(auto hosts, parse_host_list(inputs.variable("MPI_HOST"), "MPI_HOST"));
  std::set<std::string> known;
  for (const Node& node : nodes) known.insert(node.host);
  for (const HostPort& host : hosts) {
    if (known.contains(host.host)) continue;
    return base::fail(kReading, "MPI_HOST", host.host + ", which is in no VC_<TASK>_HOSTS",
                      "both come from Volcano: was one of them changed by hand?");
  }
  return {};
}

// Returns the tasks of a job without the svc plugin: MPI_HOST lists the workers, and this node is
// their master.
std::vector<Task> tasks_of_mpi_plugin(const Inputs& inputs, const std::vector<HostPort>& hosts) {
  Task master{"master", "the host name", "launcher", {inputs.facts().host_name}};
  Task worker{"worker", "MPI_HOST", "worker", {}};
  for (const HostPort& host : hosts) worker.hosts.push_back(host.host);
  return {std::move(master), std::move(worker)};
}

// Checks that MASTER_ADDR is not another host of the job, because the ranks rendezvous at node 0.
base::Status check_volcano_master(const Inputs& inputs, const std::vector<Node>& nodes,
                                  const LocalNode& local_node) {
  if (!inputs.request().master_addr.empty()) return {};
  const std::string master(inputs.variable("MASTER_ADDR"));
  TRY(check_given_master(master, "MASTER_ADDR", local_node.node_rank, nodes.size()));
  for (std::size_t rank = 1; rank < nodes.size(); ++rank) {
    if (nodes[rank].host != master || nodes[0].host == master) continue;
    return base::fail(
        kReading, "MASTER_ADDR", master + ", which is node " + std::to_string(rank),
        "the ranks meet at node 0, which is " + nodes[0].host + ": was it changed by hand?");
  }
  return {};
}

// Checks the pytorch plugin's numbers, which count pods. With `counts_all`, WORLD_SIZE includes
// pods beside the job. A worker's rank is its index + 1; the master's is 0.
base::Status check_pytorch(const Inputs& inputs, Cluster& cluster, const LocalNode& local_node,
                           bool counts_all = false) {
  TRY_ASSIGN(auto world, number_in(inputs, "WORLD_SIZE"));
  TRY_ASSIGN(auto rank, number_in(inputs, "RANK"));
  if (world && static_cast<std::size_t>(*world) != cluster.nodes.size() && !counts_all) {
    return base::fail(kReading, "WORLD_SIZE",
                      std::to_string(*world) + ", but the task lists have " +
                          std::to_string(cluster.nodes.size()) + " pods",
                      "Volcano's pytorch plugin counts pods: was it changed by hand?");
  }
  if (rank && *rank != local_node.node_rank && !inputs.request().node_rank) {
    return base::fail(kReading, "RANK",
                      std::to_string(*rank) + ", but this is node " +
                          std::to_string(local_node.node_rank) + ": " + local_node.reason,
                      "say which node this is with --node-rank");
  }
  TRY_ASSIGN(auto port, number_in(inputs, "MASTER_PORT", kPorts));
  TRY(check_volcano_master(inputs, cluster.nodes, local_node));
  cluster.master_addr = std::string(inputs.variable("MASTER_ADDR"));
  cluster.master_port = port.value_or(0);
  return {};
}

// Returns the pod's own task: by its name, else by the variable that names it.
std::optional<std::string> name_of_own_task(const Inputs& inputs, const std::vector<Task>& tasks) {
  const std::vector<int> like = nodes_like_local(nodes_of_tasks(tasks, false, 0), inputs);
  if (like.size() == 1) return tasks[places_of(tasks)[static_cast<std::size_t>(like[0])].task].name;
  const auto task = own_task(inputs, tasks);
  return task ? std::optional(tasks[*task].name) : std::nullopt;
}

// Returns the pytorch plugin's worker task, which may have any name; `leader` is its master. RANK
// identifies a pod of it. In newer plugins WORLD_SIZE counts only its pods and the master.
std::vector<Task>::const_iterator worker_task(const Inputs& inputs, const std::vector<Task>& tasks,
                                              const Task& leader, int world) {
  const auto rank = number_in(inputs, "RANK");
  const auto index = task_index(inputs);
  if (rank && *rank && index && *index && **rank == (*index)->second + 1) {
    const auto own = name_of_own_task(inputs, tasks);
    if (own && *own != leader.name) return std::ranges::find(tasks, *own, &Task::name);
  }
  const auto another = [&](const Task& task) { return task.name != leader.name; };
  const auto counted = [&](const Task& task) {
    return another(task) &&
           leader.hosts.size() + task.hosts.size() == static_cast<std::size_t>(world);
  };
  if (std::ranges::count_if(tasks, counted) == 1) return std::ranges::find_if(tasks, counted);
  if (tasks.size() == 2) return std::ranges::find_if(tasks, another);
  return leader.name == "worker" ? tasks.end() : std::ranges::find(tasks, "worker", &Task::name);
}

// Keeps the two tasks whose pods the pytorch plugin numbers. All others are beside the job (a
// TensorBoard). Until 2025 the plugin counted them in WORLD_SIZE. Returns a warning about that, or
// "".
base::Result<std::string> keep_pytorch_tasks(const Inputs& inputs, std::vector<Task>& tasks) {
  TRY_ASSIGN(auto world, number_in(inputs, "WORLD_SIZE"));
  const std::string master(inputs.variable("MASTER_ADDR"));
  auto leader = std::ranges::find_if(tasks, [&master](const Task& task) {
    return !task.hosts.empty() && task.hosts[0] == master;
  });
  if (leader == tasks.end()) leader = std::ranges::find(tasks, "master", &Task::name);
  if (!world || leader == tasks.end() || tasks.size() < 2) return std::string();
  const auto told = static_cast<std::size_t>(*world);
  const std::size_t all = places_of(tasks).size();
  std::vector<Task> kept = {*leader};
  if (leader->hosts.size() != told) {
    const auto worker = worker_task(inputs, tasks, *leader, *world);
    if (worker == tasks.end()) {
      return base::fail(kReading, "WORLD_SIZE", task_list(tasks) + ", and no task worker",
                        "call the task that trains beside " + leader->name + " worker");
    }
    kept.push_back(*worker);
  }
  tasks = std::move(kept);
  if (told != all || told == places_of(tasks).size()) return std::string();
  return "WORLD_SIZE counts all pods of the job, as Volcano's older pytorch plugins do: the ranks "
         "are "
         "those of " +
         task_list(tasks);
}

// Keeps the tasks with these roles, for launchers that know their roles by name. A job without a
// role "worker" or "chief" among them keeps all of its tasks.
void keep_roles(std::initializer_list<std::string_view> roles, std::vector<Task>& tasks) {
  auto has_role = [](const std::vector<Task>& list, std::string_view role) {
    return std::ranges::find(list, role, &Task::role) != list.end();
  };
  std::vector<Task> kept;
  std::ranges::copy_if(tasks, std::back_inserter(kept), [roles](const Task& task) {
    return std::ranges::find(roles, task.role) != roles.end();
  });
  if (has_role(kept, "worker") || has_role(kept, "chief")) tasks = std::move(kept);
}

// Finds this node among all tasks, then its place among the tasks that take part.
base::Result<LocalNode> local_node_in_kept(const Inputs& inputs, const std::vector<Task>& all,
                                           const std::vector<Task>& kept,
                                           const std::vector<Node>& nodes) {
  if (inputs.request().node_rank || all.size() == kept.size())
    return local_node_of(inputs, kept, nodes);
  auto local_node = local_node_of(inputs, all, nodes_of_tasks(all, false, 0));
  if (!local_node) return local_node;
  const Place place = places_of(all)[static_cast<std::size_t>(local_node->node_rank)];
  const std::vector<Place> places = places_of(kept);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (kept[places[i].task].name != all[place.task].name || places[i].index != place.index) {
      continue;
    }
    local_node->node_rank = static_cast<int>(i);
    return local_node;
  }
  return base::fail("finding this node", all[place.task].source,
                    "this pod in task " + all[place.task].name + ", which is beside the job of " +
                        task_list(kept),
                    "its command needs no launcher: --platform local");
}

Location locate_in_tasks(Inputs& inputs, std::vector<Task> tasks, PlatformFacts platform) {
  choose_framework(inputs, tasks, platform);
  bool pytorch = platform.framework == "pytorch";
  order_tasks(tasks, pytorch ? std::string(inputs.variable("MASTER_ADDR")) : "");
  std::vector<Task> all = tasks;
  bool with_launcher = has_launcher(inputs.request(), platform);
  bool tensorflow = framework_of(inputs.request(), platform) == "tensorflow";
  auto warning = pytorch ? keep_pytorch_tasks(inputs, tasks) : std::string();
  if (!warning) return warning.error();
  if (with_launcher) keep_roles({"launcher", "master", "worker"}, tasks);
  if (tensorflow) keep_roles({"chief", "master", "worker", "ps", "evaluator"}, tasks);
  base::stable_sort(all, std::greater(),
                    [&tasks](const Task& task) { return is_task(tasks, task.name); });
  // If a node is a separate launcher, no node counts its devices: the launcher has none, and all
  // nodes must get the same number.
  bool idle_launcher = with_launcher && std::ranges::any_of(tasks, [](const Task& task) {
                         return task.role == "launcher" || task.role == "master";
                       });
  std::optional<int> slots = idle_launcher ? std::optional(inputs.request().slots.value_or(1))
                             : tensorflow  ? std::optional(1)
                                           : slots_of_node(inputs, 0);
  if (!slots) return NeedsPaths{};

  Cluster cluster;
  cluster.nodes = nodes_of_tasks(tasks, with_launcher, *slots);
  auto local_node = local_node_in_kept(inputs, all, tasks, cluster.nodes);
  if (!local_node) return local_node.error();
  if (pytorch) {
    auto status = check_pytorch(inputs, cluster, *local_node, !warning->empty());
    if (!status) return status.error();
  }
  if (!pytorch && !inputs.variable("MPI_HOST").empty()) {
    if (auto status = check_mpi_hosts(inputs, cluster.nodes); !status) return status.error();
  }
  bool guessed = idle_launcher && !inputs.request().slots;
  ResolvedCluster resolved = make_resolved_cluster(std::move(cluster), std::move(*local_node),
                                                   std::move(platform), inputs);
  if (!warning->empty()) resolved.warnings.push_back(std::move(*warning));
  if (guessed) {
    resolved.warnings.push_back(
        "Volcano does not tell how many ranks an MPI worker runs: 1 each; say it with --slots");
  }
  return resolved;
}

// Locates a job of the pytorch plugin without the svc plugin's lists.
Location locate_by_pytorch_plugin(Inputs& inputs) {
  auto world = number_in(inputs, "WORLD_SIZE");
  if (!world) return world.error();
  auto rank = number_in(inputs, "RANK");
  if (!rank) return rank.error();
  if (!*rank && !inputs.request().node_rank) {
    return base::Error{"finding this node", "RANK", "nothing",
                       "this task is not the pytorch plugin's master or worker: say --node-rank"};
  }
  auto slots = slots_of_node(inputs, 0);
  if (!slots) return NeedsPaths{};
  auto nodes = nameless_nodes(world->value_or(0), *slots, "WORLD_SIZE");
  if (!nodes) return nodes.error();
  PlatformFacts platform;
  platform.framework = "pytorch";
  platform.framework_reason = "MASTER_ADDR and WORLD_SIZE are set";
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  cluster.nodes[0].host = std::string(inputs.variable("MASTER_ADDR"));
  auto local_node =
      local_node_by_index(cluster.nodes.size(), inputs.request(), rank->value_or(0), "RANK");
  if (!local_node) return local_node.error();
  if (auto status = check_pytorch(inputs, cluster, *local_node); !status) return status.error();
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), std::move(platform),
                               inputs);
}

// Locates a job that only has the env plugin: the user must give the number of nodes.
Location locate_by_nodes_option(Inputs& inputs) {
  const Request& request = inputs.request();
  if (!request.nodes && request.hosts.empty()) {
    PlatformFacts platform;
    platform.uncounted =
        base::Error{"finding the nodes", std::string("VC_<TASK>_HOSTS and ") + kHostsDirectory,
                    "no list of hosts",
                    "turn Volcano's svc plugin on, or say how many nodes there are with --nodes"};
    return ResolvedCluster{.cluster = {},
                           .local_node = {0, "one process"},
                           .platform = std::move(platform),
                           .waits = {},
                           .warnings = {}};
  }
  auto index = task_index(inputs);
  if (!index) return index.error();
  auto slots = slots_of_node(inputs, 0);
  if (!slots) return NeedsPaths{};
  auto nodes = request.hosts.empty() ? nameless_nodes(*request.nodes, *slots, "--nodes")
                                     : nodes_of_hosts_option(request, *slots);
  if (!nodes) return nodes.error();
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  if (!*index && !request.node_rank) {
    return base::Error{"finding this node", "VC_TASK_INDEX", "nothing",
                       "turn Volcano's env plugin on, or say --node-rank"};
  }
  std::pair<std::string, int> own = index->value_or(std::pair<std::string, int>{"", 0});
  auto local_node = local_node_by_index(cluster.nodes.size(), request, own.second, own.first);
  if (!local_node) return local_node.error();
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), PlatformFacts{}, inputs);
}

std::optional<std::string> detect_volcano(Inputs& inputs) {
  Variable found = first_set(inputs, {"VC_TASK_INDEX", "VK_TASK_INDEX", "MPI_HOST"});
  if (found.name.empty()) found = mindcluster_variable(inputs);
  if (!found.name.empty()) {
    return std::string(found.name) + (found.name == "LOCAL_RANK" ? " is a list" : " is set");
  }
  for (const std::string& entry : inputs.env().entries()) {
    std::string task(task_of_variable(entry));
    if (!task.empty()) return "VC_" + task + "_HOSTS is set";
  }
  // Looking for the table costs one more round, so it is done only if a table is needed and none is
  // named.
  if (inputs.request().framework == "ascend" && !names_nodes(inputs)) {
    const PathState* table = inputs.kind(kMountedRankTable);
    if (table != nullptr && table->kind != PathState::Kind::kAbsent) {
      return std::string(kMountedRankTable) + " is there";
    }
  }
  return std::nullopt;
}

Location locate_volcano(Inputs& inputs) {
  if (auto location = locate_by_mindcluster(inputs)) return std::move(*location);
  if (!inputs.variable("TF_CONFIG").empty()) return locate_by_tf_config(inputs, PlatformFacts{});
  auto tasks = tasks_of_job(inputs);
  if (!tasks) return tasks.error();
  if (!*tasks) return NeedsPaths{};
  if (!(*tasks)->empty()) return locate_in_tasks(inputs, std::move(**tasks), PlatformFacts{});
  if (!inputs.variable("MPI_HOST").empty()) {
    auto hosts = parse_host_list(inputs.variable("MPI_HOST"), "MPI_HOST");
    if (!hosts) return hosts.error();
    return locate_in_tasks(inputs, tasks_of_mpi_plugin(inputs, *hosts), PlatformFacts{});
  }
  if (!inputs.variable("MASTER_ADDR").empty() && !inputs.variable("WORLD_SIZE").empty()) {
    return locate_by_pytorch_plugin(inputs);
  }
  return locate_by_nodes_option(inputs);
}

}  // namespace

extern const Platform kVolcanoPlatform = {"volcano", detect_volcano, locate_volcano};

}  // namespace envgen
