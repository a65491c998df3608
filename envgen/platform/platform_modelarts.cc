// Huawei ModelArts: RANK_TABLE_FILE names a directory. Its own launcher (run_ascend) numbers the
// pods by their index and the devices by their index in the pod. Jobs without a table use
// TF_PS_HOSTS and TF_WORKER_HOSTS, or VC_WORKER_HOSTS. Sources: ModelArts' documents of its
// engines, of custom images and of a training container's variables, and its run_ascend scripts.
//
// The start directory: a preset engine's job starts in its code directory, JOB_DIR/NAME, and a
// custom image's job in /home/ma-user. A caller that is in one of them stays there. MA_JOB_DIR is
// set in both cases, so otherwise the script decides:
// - A relative script runs in the directory that contains it: the home, else the code directory,
//   else the caller's directory.
// - An absolute script runs in the code directory that its path names.
// - All other commands run in the home.
// If the caller is in the home and a relative script is not there, it also runs in the code
// directory.

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/table_location.h"

namespace envgen {
namespace {

constexpr const char* kFinding = "finding this node";
constexpr const char* kDefaultTableDir = "/user/config";
constexpr const char* kHome = "/home/ma-user";
// a directory that is empty in every job
constexpr const char* kWritable = "/home/ma-user/modelarts";
constexpr RankOrder kTableOrder = RankOrder::kPodIndex;
constexpr int kPeerPort = 6666;  // the platform's port for the rendezvous of its jobs

// Returns the job's name as ModelArts' launcher gives it to CANN.
std::string job_id_of(const Inputs& inputs) {
  std::string name(inputs.variable("MA_VJ_NAME"));
  constexpr std::string_view kPrefix = "ma-job";
  if (std::size_t at = name.find(kPrefix); at != std::string::npos) {
    name.replace(at, kPrefix.size(), "modelarts-job");
  }
  return name;
}

LocalNodeHints hints_of(const Inputs& inputs) {
  LocalNodeHints hints;
  auto add = [&inputs](std::vector<LocalNodeHints::Hint>& list, const char* variable,
                       bool definite = false) {
    std::string value(inputs.variable(variable));
    if (!value.empty()) list.push_back({variable, std::move(value), definite});
  };
  add(hints.pod_names, "MA_CURRENT_INSTANCE_NAME", true);
  add(hints.pod_names, "BATCH_TASK_CURRENT_INSTANCE", true);
  add(hints.pod_names, "POD_NAME");
  hints.pod_names.push_back({"the host name", inputs.facts().host_name});
  add(hints.container_ips, "POD_IP");
  add(hints.container_ips, "MA_CURRENT_IP");
  add(hints.host_ips, "MA_CURRENT_HOST_IP");
  add(hints.host_ips, "HOST_IP");
  add(hints.server_ids, "MA_CURRENT_HOST_IP");
  add(hints.server_ids, "HOST_IP");
  add(hints.server_ids, "MA_CURRENT_IP");
  for (const std::string& address : inputs.facts().addresses) {
    hints.container_ips.push_back({"an interface address", address});
    hints.host_ips.push_back({"an interface address", address});
    hints.server_ids.push_back({"an interface address", address});
  }
  return hints;
}

// Returns the platform's directory if it can be written, otherwise the one that ModelArts reserves
// for such files.
std::string writable_place(Inputs& inputs, const std::string& place, const char* below,
                           std::vector<std::string>& warnings) {
  if (place.empty() || can_be_made(inputs, place)) return place;
  const PathState* kept = inputs.kind(kWritable);
  if (kept == nullptr || kept->kind != PathState::Kind::kDirectory || !kept->writable) return place;
  std::string other = join_path(kWritable, below);
  warnings.push_back(place + " cannot be written; " + other + " takes its place");
  return other;
}

PlatformFacts site_of(Inputs& inputs, std::vector<std::string> command, std::string start,
                      std::vector<std::string>& warnings) {
  PlatformFacts platform;
  platform.command = std::move(command);
  platform.cwd = std::move(start);
  platform.job_id = job_id_of(inputs);
  const std::string& cwd = inputs.facts().cwd;
  std::string work_dir = platform.cwd;
  if (auto mount = inputs.variable("MA_MOUNT_PATH"); !mount.empty()) {
    work_dir = join_path(mount, "workspace");
  } else if (work_dir.empty() && !cwd.empty() && !can_be_made(inputs, cwd)) {
    work_dir = cwd;
  }
  platform.work_dir = writable_place(inputs, work_dir, "workspace", warnings);
  platform.log_dir =
      writable_place(inputs, std::string(inputs.variable("MA_LOG_DIR")), "log", warnings);
  platform.log_suffix = ".txt";  // the platform itself collects *.log
  platform.device_ids = DeviceIds::kLogical;
  return platform;
}

// The following functions find the command and its start directory.

base::Result<std::vector<std::string>> command_of(const Inputs& inputs) {
  TRY_ASSIGN(auto command, without_shell_syntax(inputs.request().command, "modelarts"));
  const std::string interpreter(inputs.variable("MA_SCRIPT_INTERPRETER"));
  return with_interpreter(command, interpreter.empty() ? "python" : interpreter);
}

// Returns the directories into which the code directory may be downloaded: MA_JOB_DIR, and the
// paths of the documents.
std::vector<std::string> job_directories(const Inputs& inputs) {
  std::string named(inputs.variable("MA_JOB_DIR"));
  while (named.size() > 1 && named.ends_with('/')) named.pop_back();
  std::vector<std::string> roots = {named};
  for (const char* known : {"/home/ma-user/modelarts/user-job-dir", "/home/ma-user/user-job-dir"}) {
    if (named != known) roots.emplace_back(known);
  }
  return roots;
}

// Returns "train" for an argument ROOT/train/main.py; "" without such an argument.
std::string code_directory_in(const std::vector<std::string>& command,
                              const std::vector<std::string>& roots) {
  for (const std::string& argument : command) {
    for (const std::string& root : roots) {
      if (!argument.starts_with(root + '/')) continue;
      const std::size_t begin = root.size() + 1;
      const std::size_t end = argument.find('/', begin);
      if (end != std::string::npos && end > begin) return argument.substr(begin, end - begin);
    }
  }
  return "";
}

// Returns the script that the command runs if its path is relative, else "".
std::string relative_script_in(const ParsedCommand& command) {
  const auto& python = command.python();
  if (python && python->text) return "";
  if (python && !python->module) {
    const std::string& script = command[python->operand];
    return script.starts_with('/') ? "" : script;
  }
  for (const std::string& word : command.words()) {
    if (word == "-c") return "";
    if (word.starts_with('-') || !(word.ends_with(".py") || word.ends_with(".sh"))) continue;
    return word.starts_with('/') ? "" : word;
  }
  return "";
}

// Returns the candidates for the code directory below ROOT: those that contain the relative script,
// else all. Returns nothing while the snapshot lacks a path for that.
std::optional<std::vector<std::string>> code_directories_below(Inputs& inputs,
                                                               const std::string& root,
                                                               const std::string& script) {
  constexpr std::size_t kMax = 32;
  const PathState* state = inputs.content(root);
  if (state == nullptr) return std::nullopt;
  std::vector<std::string> found;
  bool known = true;
  for (std::size_t i = 0; i < state->entries.size() && i < kMax; ++i) {
    const std::string place = join_path(root, state->entries[i]);
    const PathState* kind = inputs.kind(script.empty() ? place : join_path(place, script));
    known = known && kind != nullptr;
    if (kind == nullptr) continue;
    const auto wanted = script.empty() ? PathState::Kind::kDirectory : PathState::Kind::kFile;
    if (kind->kind == wanted) found.push_back(place);
  }
  return known ? std::optional(found) : std::nullopt;
}

// Returns the code directory, or "" if it cannot be determined. Returns nothing while the snapshot
// lacks a path for that.
std::optional<std::string> code_directory_of(Inputs& inputs,
                                             const std::vector<std::string>& command,
                                             const std::string& script) {
  const std::vector<std::string> roots = job_directories(inputs);
  const std::string code = script.empty() ? code_directory_in(command, roots) : "";
  for (const std::string& root : roots) {
    if (!code.empty()) {
      std::string place = join_path(root, code);
      const PathState* state = inputs.kind(place);
      if (state == nullptr) return std::nullopt;
      if (state->kind == PathState::Kind::kDirectory) return place;
      continue;
    }
    auto places = code_directories_below(inputs, root, script);
    if (!places) return std::nullopt;
    if (places->size() == 1) return places->front();
    if (places->size() > 1) return "";
  }
  return "";
}

// Returns the start directory by the rules at the top of this file. "" keeps the caller's
// directory. Returns nothing while the snapshot lacks a path for that.
std::optional<std::string> start_directory_of(Inputs& inputs,
                                              const std::vector<std::string>& command) {
  const std::string& cwd = inputs.facts().cwd;
  const bool in_job = !inputs.variable("MA_JOB_DIR").empty();
  for (const std::string& root : job_directories(inputs)) {
    if (!root.empty() && cwd.starts_with(root + '/')) return "";
  }
  const std::string named(inputs.variable("MA_HOME"));
  const std::string home = named.empty() ? kHome : named;
  const PathState* state = inputs.kind(home);
  if (state == nullptr) return std::nullopt;
  std::string start = state->kind == PathState::Kind::kDirectory ? home : "";
  if (cwd == kHome) start = cwd;
  const std::string script = relative_script_in(command);
  if (start == cwd && (!in_job || script.empty())) return start;
  auto is_in = [&](const std::string& directory) -> std::optional<bool> {
    if (script.empty() || directory.empty()) return false;
    const PathState* file = inputs.kind(join_path(directory, script));
    if (file == nullptr) return std::nullopt;
    return file->kind == PathState::Kind::kFile;
  };
  auto found = is_in(start);
  if (!found || *found) return found ? std::optional(start) : std::nullopt;
  if (in_job) {
    auto code = code_directory_of(inputs, command, script);
    if (!code || !code->empty()) return code;
  }
  found = start == cwd ? std::optional(false) : is_in(cwd);
  if (!found) return std::nullopt;
  return *found ? "" : start;
}

// The following functions are for jobs without a rank table.

std::vector<std::string> own_names(const Inputs& inputs) {
  std::vector<std::string> names = inputs.facts().addresses;
  for (const char* variable : {"MA_CURRENT_INSTANCE_NAME", "BATCH_TASK_CURRENT_INSTANCE",
                               "POD_NAME", "MA_CURRENT_IP", "POD_IP"}) {
    names.emplace_back(inputs.variable(variable));
  }
  names.push_back(inputs.facts().host_name);
  return names;
}

// Returns this node's place in `hosts`, by VC_TASK_INDEX (DLS_TASK_INDEX in the platform's first
// version).
base::Result<int> place_in(const Inputs& inputs, const std::vector<HostPort>& hosts,
                           const std::string& source) {
  const Variable set = first_set(inputs, {"VC_TASK_INDEX", "DLS_TASK_INDEX"});
  TRY_ASSIGN(auto index, number_in(inputs, set.name));
  const std::string listed = source + " has " + std::to_string(hosts.size()) + " hosts";
  TRY_ASSIGN(auto older, number_in(inputs, "DLS_TASK_INDEX"));
  if (index && older && *index != *older) {
    return base::fail(kFinding, "VC_TASK_INDEX and DLS_TASK_INDEX",
                      std::to_string(*index) + " and " + std::to_string(*older),
                      "both are this node's place in the job: set one of them alone");
  }
  if (!index) {
    return base::fail(kFinding, "VC_TASK_INDEX", "that it is not set, and " + listed,
                      "set it to this node's place in the list, from 0, or give --node-rank");
  }
  const auto place = static_cast<std::size_t>(*index);
  if (place >= hosts.size()) {
    return std::unexpected(
        base::Error{.what = kFinding,
                    .where = std::string(set.name),
                    .found = std::to_string(place) + ", and " + listed,
                    .fix = "the index counts from 0 within the list: give it all hosts of the job",
                    .not_listed = true});
  }
  TRY(check_own_place(hosts, place, own_names(inputs), source));
  return *index;
}

Node node_of(const HostPort& host, const char* role, int role_index, int slots) {
  Node node;
  node.host = host.host;
  node.port = host.port;
  node.role = role;
  node.role_index = role_index;
  node.slots = slots;
  return node;
}

// Locates a TensorFlow job by TF_PS_HOSTS and TF_WORKER_HOSTS: workers first, then parameter
// servers.
base::Result<ResolvedCluster> locate_tensorflow(const Inputs& inputs,
                                                const std::vector<HostPort>& workers,
                                                const std::vector<HostPort>& ps,
                                                PlatformFacts platform) {
  const Request& request = inputs.request();
  Cluster cluster;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    cluster.nodes.push_back(node_of(workers[i], "worker", static_cast<int>(i), 1));
  }
  for (std::size_t i = 0; i < ps.size(); ++i) {
    cluster.nodes.push_back(node_of(ps[i], "ps", static_cast<int>(i), 0));
  }
  platform.framework = "tensorflow";
  platform.framework_reason = "TF_WORKER_HOSTS is set";
  platform.tf_flags = request.tf_flags.value_or(true);
  if (request.node_rank) {
    TRY_ASSIGN(auto local_node,
               local_node_by_index(cluster.nodes.size(), request, 0, "--node-rank"));
    return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                                 inputs);
  }
  std::string_view task = inputs.variable("MA_TASK_NAME");
  if (task.empty() && ps.empty()) task = "worker";
  if (task != "worker" && (task != "ps" || ps.empty())) {
    return base::fail(kFinding, "MA_TASK_NAME", base::quoted(task),
                      ps.empty() ? "set it to worker: TF_PS_HOSTS lists no parameter server"
                                 : "set it to worker or ps, whichever this node is");
  }
  const bool is_ps = task == "ps";
  TRY_ASSIGN(auto place,
             place_in(inputs, is_ps ? ps : workers, is_ps ? "TF_PS_HOSTS" : "TF_WORKER_HOSTS"));
  LocalNode local_node{
      place + (is_ps ? static_cast<int>(workers.size()) : 0),
      "MA_TASK_NAME is " + std::string(task) + " and VC_TASK_INDEX " + std::to_string(place)};
  return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                               inputs);
}

// Returns the number of nodes of the job. All variables that give it must agree.
base::Result<std::optional<int>> told_nodes(const Inputs& inputs) {
  std::optional<int> count;
  std::string_view first;
  for (const char* name : {"MA_NUM_HOSTS", "VC_WORKER_NUM", "DLS_TASK_NUMBER"}) {
    TRY_ASSIGN(auto told, number_in(inputs, name, {.least = 1}));
    if (!told) continue;
    if (count && *count != *told) {
      return base::fail("counting the nodes", std::string(first) + " and " + name,
                        std::to_string(*count) + " and " + std::to_string(*told),
                        "both are the number of nodes: set them to it");
    }
    count = told;
    first = name;
  }
  return count;
}

struct Peers {
  std::string source;
  std::vector<HostPort> hosts;
};

// Returns the names that ModelArts gives to a job's nodes, for a job that knows only their number.
base::Result<Peers> peers_by_pattern(const Inputs& inputs, int count) {
  const std::string job(inputs.variable("MA_VJ_NAME"));
  std::string task(inputs.variable("MA_TASK_NAME"));
  if (task.empty()) task = "worker";
  if (job.empty()) {
    return base::fail(kFinding, "VC_WORKER_HOSTS",
                      "no hosts for " + std::to_string(count) + " nodes, and no MA_VJ_NAME",
                      "set VC_WORKER_HOSTS to the hosts of all nodes, separated by commas");
  }
  Peers peers{"MA_VJ_NAME's nodes", {}};
  for (int i = 0; i < count; ++i) {
    std::string host = job;
    host.append("-").append(task).append("-").append(std::to_string(i)).append(".").append(job);
    if (!parse_host_port(host) || host.find(':') != std::string::npos) {
      return base::fail(kFinding, "MA_VJ_NAME and MA_TASK_NAME",
                        '"' + job + "\" and \"" + task + "\", which make no host name",
                        "set VC_WORKER_HOSTS to the hosts of all nodes, separated by commas");
    }
    peers.hosts.push_back({std::move(host), 0});
  }
  return peers;
}

// Reads version 1: BATCH_CUSTOM<N>_HOSTS is the host and port of node N.
base::Result<Peers> peers_of_version_1(const Inputs& inputs, int count) {
  Peers peers{"BATCH_CUSTOM<N>_HOSTS", {}};
  for (int i = 0; i < count; ++i) {
    const std::string name = "BATCH_CUSTOM" + std::to_string(i) + "_HOSTS";
    TRY_ASSIGN(auto hosts, parse_host_list(inputs.variable(name), name));
    if (std::ranges::find(peers.hosts, hosts.front()) != peers.hosts.end()) {
      return base::fail(kFinding, name, to_text(hosts.front()) + ", as of a node before",
                        "each node has its own host and port");
    }
    peers.hosts.push_back(hosts.front());
  }
  return peers;
}

// Returns the nodes of the job. For a job of only this node, returns one entry or none.
base::Result<Peers> peers_of(const Inputs& inputs) {
  TRY_ASSIGN(auto told, told_nodes(inputs));
  const int count = told.value_or(1);
  if (auto list = inputs.variable("VC_WORKER_HOSTS"); !list.empty()) {
    TRY_ASSIGN(auto hosts, parse_host_list(list, "VC_WORKER_HOSTS"));
    if (told && static_cast<std::size_t>(count) != hosts.size()) {
      return base::fail("counting the nodes", "VC_WORKER_HOSTS",
                        std::to_string(hosts.size()) + " hosts, and the job has " +
                            std::to_string(count) + " nodes",
                        "list the host of each node once");
    }
    return Peers{"VC_WORKER_HOSTS", std::move(hosts)};
  }
  const Variable index = first_set(inputs, {"VC_TASK_INDEX", "DLS_TASK_INDEX"});
  TRY_ASSIGN(auto place, number_in(inputs, index.name));
  if (count < 2 && place.value_or(0) > 0 && !inputs.request().node_rank) {
    return base::fail(
        kFinding, std::string(index.name),
        std::to_string(*place) + ", and " + (told ? "a job of one node" : "no hosts"),
        "set VC_WORKER_HOSTS to the hosts of all nodes, or MA_NUM_HOSTS to their number");
  }
  if (count < 2) return Peers{};
  TRY_ASSIGN(std::ignore, nameless_nodes(count, 1, "MA_NUM_HOSTS"));
  if (!inputs.variable("BATCH_CUSTOM0_HOSTS").empty()) return peers_of_version_1(inputs, count);
  return peers_by_pattern(inputs, count);
}

base::Result<ResolvedCluster> locate_workers(const Inputs& inputs, const Peers& peers, int slots,
                                             PlatformFacts platform) {
  const Request& request = inputs.request();
  Cluster cluster;
  for (const HostPort& host : peers.hosts) cluster.nodes.push_back(node_of(host, "", 0, slots));
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    cluster.nodes[i].role_index = static_cast<int>(i);
  }
  const int told_port = peers.hosts[0].port;
  cluster.master_port = told_port > 0 ? told_port : kPeerPort;
  std::string_view own_launcher = platform.command.framework();
  if (own_launcher.empty() || own_launcher == "pytorch") {
    platform.framework = "pytorch";
    platform.framework_reason =
        "the job has " + std::to_string(peers.hosts.size()) + " nodes and no rank table";
  }
  LocalNode local_node;
  if (request.node_rank) {
    TRY_ASSIGN(local_node, local_node_by_index(cluster.nodes.size(), request, 0, "--node-rank"));
  } else {
    TRY_ASSIGN(auto place, place_in(inputs, peers.hosts, peers.source));
    local_node = {place, "VC_TASK_INDEX is " + std::to_string(place) + " in " + peers.source};
  }
  return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                               inputs);
}

Location as_location(base::Result<ResolvedCluster> resolved, std::vector<std::string> warnings) {
  if (!resolved) return resolved.error();
  resolved->warnings = std::move(warnings);
  return std::move(*resolved);
}

Location locate_without_table(Inputs& inputs, PlatformFacts platform,
                              std::vector<std::string> warnings) {
  const std::string& wanted = inputs.request().framework;
  const bool tensorflow = wanted.empty() || wanted == "tensorflow";
  std::vector<HostPort> tasks[2];
  constexpr const char* kTaskLists[2] = {"TF_WORKER_HOSTS", "TF_PS_HOSTS"};
  for (std::size_t i = 0; i < 2; ++i) {
    // An array without elements is "[]" as text.
    std::string_view text = inputs.variable(kTaskLists[i]);
    if (!tensorflow || text.empty() || text == "[]") continue;
    auto list = parse_host_list(text, kTaskLists[i]);
    if (!list) return list.error();
    tasks[i] = std::move(*list);
  }
  if (!tasks[0].empty() && tasks[0].size() + tasks[1].size() > 1) {
    return as_location(locate_tensorflow(inputs, tasks[0], tasks[1], std::move(platform)),
                       warnings);
  }
  if (tasks[0].empty() && !tasks[1].empty()) {
    return base::Error{kFinding, "TF_WORKER_HOSTS",
                       "no workers, and parameter servers in TF_PS_HOSTS",
                       "set TF_WORKER_HOSTS to the workers' hosts"};
  }
  // Learners and workers of a reinforcement learning engine find each other without trainit.
  const bool learners =
      inputs.variable("MA_TASK_NAME") == "learner" || !inputs.variable("VC_LEARNER_HOSTS").empty();
  auto peers = learners ? base::Result<Peers>(Peers{}) : peers_of(inputs);
  if (!peers) return peers.error();
  auto count = told_nodes(inputs);
  if (!count) return count.error();
  platform.alone_by_default = !learners && peers->hosts.size() < 2 && !*count;
  // One node is a cluster only if the user asks for ranks.
  if (peers->hosts.size() < 2 && !asks_for_ranks(inputs.request())) {
    return ResolvedCluster{.cluster = {},
                           .local_node = {0, "no rank table: one node"},
                           .platform = std::move(platform),
                           .waits = {},
                           .warnings = std::move(warnings)};
  }
  auto told = number_in(inputs, "MA_NUM_GPUS", kSlots);
  if (!told) return told.error();
  const bool cpu_node = *told && **told == 0;
  auto slots = slots_of_node(inputs, cpu_node ? 1 : told->value_or(0));
  if (!slots) return NeedsPaths{};
  if (peers->hosts.size() > 1) {
    return as_location(locate_workers(inputs, *peers, *slots, std::move(platform)), warnings);
  }
  Cluster cluster;
  cluster.nodes.push_back(node_of({"", 0}, "", 0, *slots));
  return as_location(
      make_resolved_cluster(std::move(cluster), {0, "one node"}, std::move(platform), inputs),
      warnings);
}

std::optional<std::string> detect_modelarts(Inputs& inputs) {
  for (const char* name : {"MA_CURRENT_INSTANCE_NAME", "MA_VJ_NAME", "MA_JOB_DIR",
                           "BATCH_TASK_CURRENT_INSTANCE", "DLS_TASK_NUMBER"}) {
    if (!inputs.variable(name).empty()) return std::string(name) + " is set";
  }
  // ModelArts' documents of its TensorFlow engine name these variables. VC_TASK_INDEX alone is not
  // enough, because Volcano sets it too.
  const Variable hosts = first_set(inputs, {"TF_WORKER_HOSTS", "TF_PS_HOSTS"});
  if (!inputs.variable("MA_TASK_NAME").empty() && !inputs.variable("VC_TASK_INDEX").empty() &&
      !hosts.name.empty()) {
    return "MA_TASK_NAME, VC_TASK_INDEX and " + std::string(hosts.name) + " are set";
  }
  // Of the variables of a rank table only this one is a sign. ModelArts sets it to a directory.
  const std::string_view table = inputs.variable("RANK_TABLE_FILE");
  if (table.empty() || is_table_file(table)) return std::nullopt;
  const PathState* state = inputs.kind(join_path(inputs.facts().cwd, table));
  if (state == nullptr || state->kind == PathState::Kind::kFile) return std::nullopt;
  return "RANK_TABLE_FILE names a directory";
}

Location locate_modelarts(Inputs& inputs) {
  auto command = command_of(inputs);
  if (!command) return command.error();
  std::vector<std::string> warnings;
  auto start = start_directory_of(inputs, *command);
  PlatformFacts platform = site_of(inputs, std::move(*command), start.value_or(""), warnings);
  auto path = find_rank_table(inputs);
  if (path && path->empty()) {
    // This default directory of the launcher exists only in Ascend jobs; a GPU or CPU job has no
    // table.
    const PathState* directory = inputs.kind(kDefaultTableDir);
    if (directory == nullptr) return NeedsPaths{};
    if (directory->kind != PathState::Kind::kDirectory && inputs.request().framework != "ascend") {
      if (!start) return NeedsPaths{};
      return locate_without_table(inputs, std::move(platform), std::move(warnings));
    }
    path = find_rank_table(inputs, kDefaultTableDir);
  }
  if (!path || !start) return NeedsPaths{};
  Location location = locate_by_table(inputs, *path, kTableOrder, hints_of(inputs), platform);
  if (auto* resolved = std::get_if<ResolvedCluster>(&location)) {
    resolved->warnings.insert(resolved->warnings.end(), warnings.begin(), warnings.end());
  }
  return location;
}

}  // namespace

extern const Platform kModelArtsPlatform = {"modelarts", detect_modelarts, locate_modelarts,
                                            kTableOrder};

}  // namespace envgen
