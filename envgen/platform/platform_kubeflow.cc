// Kubeflow. The supported jobs:
// - TFJob (TF_CONFIG).
// - PyTorchJob and Trainer v2 (PET_*). Only PyTorchJob also sets RANK and WORLD_SIZE.
// - JAXJob and Trainer v2's JAX.
// - XGBoostJob and Trainer v2's XGBoost.
// - PaddleJob.
// - MPIJob (a mounted hostfile on the launcher).
// Sources: training-operator 1.9 controller.v1/{pytorch,tensorflow,jax,xgboost,paddlepaddle},
// trainer's plugins/{torch,jax,xgboost}, mpi-operator v2beta1.

#include <algorithm>
#include <set>

#include "base/constants/words.h"
#include "base/text.h"
#include "envgen/formats/hostfile.h"
#include "envgen/formats/hosts.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading Kubeflow's variables";
constexpr const char* kMountedHostfile = "/etc/mpi/hostfile";

bool in_kubernetes(const Inputs& inputs) {
  return !inputs.variable("KUBERNETES_SERVICE_HOST").empty();
}

// --- PyTorch: PyTorchJob and Trainer v2 ---

// Returns whether an operator set PET_*. Anyone can set these for torchrun, so an operator is
// recognised by the whole set, or by Kubernetes.
bool has_pet_variables(const Inputs& inputs) {
  const std::string_view count = inputs.variable("PET_NNODES");
  if (in_kubernetes(inputs)) return !count.empty();
  // Outside of Kubernetes, a count of one may be the image's, and the user's options have priority.
  if (count.empty() || count == "1" || count == "1:1") return false;
  if (names_nodes(inputs) || inputs.request().nodes) return false;
  return !first_set(inputs, {"PET_NODE_RANK", "PET_RDZV_ENDPOINT"}).name.empty();
}

// Returns whether a name is "<job>-master-0" or "<job>-worker-3". Operators older than PET_* are
// recognised by it.
bool is_replica_name(std::string_view name) {
  name = label_of(name);
  for (std::string_view role : {"-master-", "-worker-"}) {
    std::size_t at = name.rfind(role);
    if (at == std::string_view::npos || at + role.size() == name.size()) continue;
    std::string_view digits = name.substr(at + role.size());
    if (digits.find_first_not_of("0123456789") == std::string_view::npos) return true;
  }
  return false;
}

bool is_older_pytorch_job(const Inputs& inputs) {
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"}) {
    if (inputs.variable(name).empty()) return false;
  }
  return in_kubernetes(inputs) && (is_replica_name(inputs.variable("MASTER_ADDR")) ||
                                   is_replica_name(inputs.variable("HOSTNAME")));
}

struct NodeRange {
  int least = 0;
  int most = 0;
};

std::unexpected<base::Error> bad_variable(const char* name, std::string_view value,
                                          const char* fix) {
  return base::fail(kReading, name, base::quoted(value), fix);
}

std::optional<int> natural(std::string_view text) {
  int value = 0;
  if (text.empty() || text.size() > 9) return std::nullopt;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Reads "4" or "2:4".
base::Result<std::optional<NodeRange>> range_of_nodes(const Inputs& inputs) {
  std::string_view text = inputs.variable("PET_NNODES");
  if (text.empty()) return std::nullopt;
  std::size_t colon = text.find(':');
  auto least = natural(text.substr(0, colon));
  auto most = colon == std::string_view::npos ? least : natural(text.substr(colon + 1));
  if (!least || !most || *least < 1 || *most < *least) {
    return bad_variable("PET_NNODES", text, "it has to be N or MIN:MAX");
  }
  return NodeRange{*least, *most};
}

struct PerNode {
  int slots = 1;
  bool told = false;  // given as a number; the operator has then multiplied WORLD_SIZE by it
};

// Reads PET_NPROC_PER_NODE as torchrun does. Returns nothing while the snapshot lacks a path.
base::Result<std::optional<PerNode>> ranks_per_node(Inputs& inputs) {
  std::string_view text = inputs.variable("PET_NPROC_PER_NODE");
  if (auto number = natural(text)) {
    if (*number < 1 || *number > kMaxSlots) {
      return bad_variable("PET_NPROC_PER_NODE", text, "it has to be the ranks of one node, from 1");
    }
    return PerNode{inputs.request().slots.value_or(*number), true};
  }
  if (inputs.request().slots) return PerNode{*inputs.request().slots};
  int cpus = std::max(1, static_cast<int>(inputs.facts().cpus));
  if (text == "cpu") return PerNode{cpus};
  // Torch's names for kinds of devices.
  constexpr auto kKinds = base::words("auto", "gpu", "hpu", "mlu", "musa", "npu", "xpu");
  if (!text.empty() && std::ranges::find(kKinds, text) == kKinds.end()) {
    return bad_variable("PET_NPROC_PER_NODE", text, "it has to be a number, auto, gpu or cpu");
  }
  auto devices = count_devices(inputs);
  if (!devices) return std::nullopt;
  if (!devices->known) {
    note_uncounted(inputs, *devices, !text.empty());
    return PerNode{1};
  }
  if (devices->count > 0) return PerNode{devices->count};
  if (text == "auto") return PerNode{cpus};
  if (text.empty()) return PerNode{1};
  return base::fail(kReading, "PET_NPROC_PER_NODE", base::quoted(text) + ", but " + devices->source,
                    "request devices for this container, or set it to cpu or a number");
}

// Returns the number of nodes. Since 1.7 WORLD_SIZE counts processes if nprocPerNode is a number.
// Otherwise, and in older versions, it counts pods.
base::Result<int> nodes_by_world_size(const Inputs& inputs, const std::optional<NodeRange>& range,
                                      const PerNode& per_node) {
  TRY_ASSIGN(auto world, number_in(inputs, "WORLD_SIZE"));
  if (!world) {
    if (range) return range->most;
    return base::fail("counting the nodes", "PET_NNODES and WORLD_SIZE", "nothing",
                      "set PET_NNODES to the number of nodes");
  }
  int each = 1;
  if (per_node.told) each = natural(inputs.variable("PET_NPROC_PER_NODE")).value_or(1);
  if (!range) return node_count_of({"WORLD_SIZE", *world}, {"PET_NPROC_PER_NODE", each});
  bool elastic = range->least != range->most;
  std::int64_t processes = static_cast<std::int64_t>(range->most) * each;
  if (elastic || *world == processes || *world == range->most) return range->most;
  return base::fail(kReading, "WORLD_SIZE",
                    std::to_string(*world) + ", but PET_NNODES is " +
                        std::string(inputs.variable("PET_NNODES")) + " and PET_NPROC_PER_NODE is " +
                        std::string(inputs.variable("PET_NPROC_PER_NODE")),
                    "they come from the same operator: was one of them changed by hand?");
}

// Returns an option of torchrun: its flag in the command, otherwise its variable. The value may
// still contain a shell's variable: "$EP".
std::string_view agent_option(const Inputs& inputs, std::string_view flag, const char* variable) {
  const ParsedCommand& command = inputs.command();
  const std::optional<Launcher>& typed = command.launcher();
  const bool reads = typed && typed->reads == LauncherReads::kPet;
  const auto value = reads ? find_flag(command, command.launcher_name(), flag) : std::nullopt;
  return value ? value->text : inputs.variable(variable);
}

std::string_view endpoint_of_agents(const Inputs& inputs) {
  return agent_option(inputs, "--rdzv_endpoint", "PET_RDZV_ENDPOINT");
}

// Returns whether the agents use a rendezvous that numbers the nodes itself, as etcd's and c10d's
// do. Its endpoint need not be a node of the job.
bool numbers_nodes(const Inputs& inputs) {
  if (endpoint_of_agents(inputs).empty()) return false;
  const auto backend = agent_option(inputs, "--rdzv_backend", "PET_RDZV_BACKEND");
  if (!backend.empty() && !backend.contains('$')) return backend != "static";
  const bool ranked = !first_set(inputs, {"PET_NODE_RANK", "RANK"}).name.empty();
  return !ranked && !inputs.request().node_rank && inputs.variable("PET_MASTER_ADDR").empty();
}

// Returns whether `host` has this pod's name with the number 0: "job-worker-0" on job-worker-2.
bool is_first_pod(const Inputs& inputs, std::string_view host) {
  std::string_view own = inputs.facts().host_name;
  own = label_of(own);
  const std::string_view stem = own.substr(0, own.find_last_not_of("0123456789") + 1);
  return stem.size() < own.size() && label_of(host) == std::string(stem) + "0";
}

// Returns the number at the end of this pod's name, the only number that an elastic job has.
std::optional<int> number_of_pod(const Inputs& inputs) {
  for (std::string_view name :
       {std::string_view(inputs.facts().host_name), inputs.variable("HOSTNAME")}) {
    name = label_of(name);
    if (auto number = natural(name.substr(name.rfind('-') + 1))) return number;
  }
  return std::nullopt;
}

// Returns whether an agent starts the ranks. Only then the node's own number is not needed.
bool starts_an_agent(const Request& request) {
  const bool pytorch = request.framework.empty() || request.framework == "pytorch";
  return pytorch && request.torch_launcher != TorchLauncher::kFanOut;
}

base::Result<LocalNode> pytorch_local_node(const Inputs& inputs, std::size_t node_count,
                                           bool elastic) {
  TRY_ASSIGN(auto pet, number_in(inputs, "PET_NODE_RANK"));
  TRY_ASSIGN(auto rank, number_in(inputs, "RANK"));
  const Request& request = inputs.request();
  if (pet && rank && *pet != *rank && !request.node_rank) {
    return base::fail("finding this node", "PET_NODE_RANK and RANK",
                      std::to_string(*pet) + " and " + std::to_string(*rank),
                      "Kubeflow sets both to the node's rank: was one of them changed by hand?");
  }
  if (pet) return local_node_by_index(node_count, request, *pet, "PET_NODE_RANK");
  if (rank) return local_node_by_index(node_count, request, *rank, "RANK");
  if (node_count == 1) return LocalNode{.reason = "PET_NNODES is 1"};
  if (request.node_rank) return local_node_by_index(node_count, request, 0, "--node-rank");
  const auto number = number_of_pod(inputs);
  const bool unnumbered = numbers_nodes(inputs) && starts_an_agent(request);
  const bool fits = number && static_cast<std::size_t>(*number) < node_count;
  if (unnumbered && !fits) {
    return LocalNode{.reason = "the rendezvous numbers the nodes", .unnumbered = true};
  }
  if (elastic && number) {
    return local_node_by_index(node_count, request, *number, "the number in the host name");
  }
  return base::fail("finding this node", "PET_NODE_RANK and RANK", "nothing",
                    "say which node this is with --node-rank");
}

// Names the nodes after the master. Trainer v2 names its pods "<job>-node-0-<rank>.<job>".
void name_trainer_nodes(std::string_view master, std::vector<Node>& nodes) {
  constexpr std::string_view kFirst = "-node-0-0";
  std::size_t dot = master.find('.');
  std::string_view first = master.substr(0, dot);
  if (dot == std::string_view::npos || !first.ends_with(kFirst)) return;
  std::string prefix(first.substr(0, first.size() - 1));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].host = prefix + std::to_string(i) + std::string(master.substr(dot));
  }
}

// Sets the ranks' rendezvous address to the agents' endpoint, but only if node 0 is there.
base::Status set_rendezvous(const Inputs& inputs, std::string_view text, Cluster& cluster) {
  // Port 0 means any free port, as for torchrun --standalone.
  const bool of_any_port = cluster.nodes.size() == 1 && text.ends_with(":0");
  const auto endpoint = parse_host_port(of_any_port ? text.substr(0, text.size() - 2) : text);
  if (!endpoint) return bad_variable("PET_RDZV_ENDPOINT", text, "it has to be host:port");
  if (numbers_nodes(inputs) && !is_first_pod(inputs, endpoint->host)) return {};
  cluster.master_addr = endpoint->host;
  cluster.master_port = endpoint->port;
  return {};
}

base::Status set_master(const Inputs& inputs, Cluster& cluster) {
  if (!inputs.request().master_addr.empty()) return {};
  // A rendezvous always comes from the operator, but MASTER_ADDR may come from the image.
  const std::string_view rendezvous = inputs.variable("PET_RDZV_ENDPOINT");
  if (!rendezvous.empty() && inputs.variable("PET_MASTER_ADDR").empty()) {
    return set_rendezvous(inputs, rendezvous, cluster);
  }
  const Variable master = first_set(inputs, {"PET_MASTER_ADDR", "MASTER_ADDR"});
  // Port 0 on a single node means any free port.
  const Bounds ports = {cluster.nodes.size() == 1 ? 0 : kPorts.least, kPorts.most};
  TRY_ASSIGN(auto port,
             number_in(inputs, first_set(inputs, {"PET_MASTER_PORT", "MASTER_PORT"}).name, ports));
  cluster.master_addr = std::string(master.value);
  cluster.master_port = port.value_or(0);
  if (!master.value.empty()) return check_master(master.value, master.name);
  if (cluster.nodes.size() == 1) return {};
  // For torchtune, Trainer gives the master only in this option.
  const std::string_view typed = endpoint_of_agents(inputs);
  const bool open = typed.contains('$');
  if (open && numbers_nodes(inputs)) return {};
  if (!open && !typed.empty()) return set_rendezvous(inputs, typed, cluster);
  return base::fail(kReading, "PET_MASTER_ADDR, MASTER_ADDR and PET_RDZV_ENDPOINT", "nothing",
                    "say where the ranks meet with --master-addr");
}

base::Status check_first(const Inputs& inputs, const Cluster& cluster, const LocalNode& local_node,
                         const char* source) {
  if (!inputs.request().master_addr.empty() || cluster.master_addr.empty()) return {};
  return check_given_master(cluster.master_addr, source, local_node.node_rank,
                            cluster.nodes.size());
}

Location locate_pytorch(Inputs& inputs) {
  auto range = range_of_nodes(inputs);
  if (!range) return range.error();
  auto per_node = ranks_per_node(inputs);
  if (!per_node) return per_node.error();
  if (!*per_node) return NeedsPaths{};
  auto count = nodes_by_world_size(inputs, *range, **per_node);
  if (!count) return count.error();
  auto nodes = nameless_nodes(*count, (*per_node)->slots, "PET_NNODES and WORLD_SIZE");
  if (!nodes) return nodes.error();

  PlatformFacts platform;
  platform.framework = "pytorch";
  platform.framework_reason =
      has_pet_variables(inputs) ? "PET_NNODES is set" : "MASTER_ADDR is set";
  const bool elastic = numbers_nodes(inputs) || (*range && (*range)->least != (*range)->most);
  if (elastic) platform.min_nodes = *range ? (*range)->least : *count;
  // A count of one may be the image's, so it proves nothing.
  platform.alone_by_default = *count == 1;
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  if (auto status = set_master(inputs, cluster); !status) return status.error();
  auto local_node = pytorch_local_node(inputs, cluster.nodes.size(), elastic);
  if (!local_node) return local_node.error();
  if (auto status = check_first(inputs, cluster, *local_node, "MASTER_ADDR"); !status) {
    return status.error();
  }
  // In an elastic job, any node may have the rendezvous.
  if (!elastic) {
    cluster.nodes[0].host = cluster.master_addr;
    name_trainer_nodes(cluster.master_addr, cluster.nodes);
  }
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), std::move(platform),
                               inputs);
}

// The following code is for JAX, XGBoost and Paddle.

// The variables by which an operator gives a pod the number of pods, its own index, and the
// rendezvous address.
struct CountNames {
  const char* job;  // "JAXJob"
  const char* framework;
  const char* count;
  const char* index;  // "" = use the number in the host name
  const char* master;
  const char* port;  // "" = part of `master`
};
constexpr CountNames kTrainerJax = {
    "Trainer's JAX", "jax", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS", ""};
constexpr CountNames kJaxJob = {
    "JAXJob", "jax", "NUM_PROCESSES", "PROCESS_ID", "COORDINATOR_ADDRESS", "COORDINATOR_PORT"};
// The trackers of XGBoost and LightGBM are the script's business, so its environment stays
// unchanged.
constexpr CountNames kXgboostJob = {"XGBoostJob", "single",      "WORLD_SIZE",
                                    "RANK",       "MASTER_ADDR", "MASTER_PORT"};
constexpr CountNames kTrainerXgboost = {"Trainer's XGBoost", "single",
                                        "DMLC_NUM_WORKER",   "DMLC_TASK_ID",
                                        "DMLC_TRACKER_URI",  "DMLC_TRACKER_PORT"};
constexpr CountNames kPaddleJob = {"PaddleJob", "paddle", "PADDLE_NNODES", "", "PADDLE_MASTER", ""};

bool has(const Inputs& inputs, const CountNames& told) {
  for (const char* name : {told.count, told.index, told.master, told.port}) {
    if (*name != '\0' && inputs.variable(name).empty()) return false;
  }
  return true;
}

// Returns the operator that has set the variables; nullptr if none has. Outside of Kubernetes,
// users may set them by hand.
const CountNames* operator_of(const Inputs& inputs) {
  const bool indexed = !inputs.variable("JOB_COMPLETION_INDEX").empty();
  if (!in_kubernetes(inputs) && !indexed) return nullptr;
  if (has(inputs, kTrainerJax)) return &kTrainerJax;
  if (has(inputs, kJaxJob)) return &kJaxJob;
  if (has(inputs, kTrainerXgboost)) return &kTrainerXgboost;
  // XGBoostJob sets the variables of a PyTorchJob, and also the addresses of its workers.
  if (has(inputs, kXgboostJob) && !inputs.variable("WORKER_ADDRS").empty()) return &kXgboostJob;
  // A PaddleJob with parameter servers has roles of its own, so it is not one of these.
  const bool servers = !first_set(inputs, {"PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"}).name.empty();
  if (has(inputs, kPaddleJob) && !inputs.variable("PADDLE_JOB_ID").empty() && !servers) {
    return &kPaddleJob;
  }
  return nullptr;
}

// Returns the number of pods. Trainer's XGBoost counts a worker for each GPU of a pod.
base::Result<int> pods_of(const Inputs& inputs, const CountNames& told, int slots) {
  TRY_ASSIGN(auto count, number_in(inputs, told.count, {1, kMaxSlots}));
  if (&told != &kTrainerXgboost || *count % slots != 0) return *count;
  return *count / slots;
}

base::Status set_told_master(const Inputs& inputs, const CountNames& told, Cluster& cluster) {
  if (!inputs.request().master_addr.empty()) return {};
  const std::string_view master = inputs.variable(told.master);
  if (*told.port != '\0') {
    TRY_ASSIGN(auto port, number_in(inputs, told.port, kPorts));
    cluster.master_addr = std::string(master);
    cluster.master_port = port.value_or(0);
    return check_master(master, told.master);
  }
  const auto endpoint = parse_host_port(master);
  if (!endpoint) return bad_variable(told.master, master, "it has to be host:port");
  cluster.master_addr = endpoint->host;
  cluster.master_port = endpoint->port;
  return {};
}

base::Result<LocalNode> told_local_node(const Inputs& inputs, const CountNames& told,
                                        std::size_t nodes) {
  if (*told.index != '\0') {
    TRY_ASSIGN(auto index, number_in(inputs, told.index));
    return local_node_by_index(nodes, inputs.request(), *index, told.index);
  }
  if (const auto number = number_of_pod(inputs)) {
    return local_node_by_index(nodes, inputs.request(), *number, "the number in the host name");
  }
  if (inputs.request().node_rank || nodes == 1) {
    return local_node_by_index(nodes, inputs.request(), 0, "--node-rank");
  }
  return base::fail("finding this node", "the host name", base::quoted(inputs.facts().host_name),
                    "say which node this is with --node-rank");
}

Location locate_told(Inputs& inputs, const CountNames& told) {
  auto slots = slots_of_node(inputs, 0);
  if (!slots) return NeedsPaths{};
  auto count = pods_of(inputs, told, *slots);
  if (!count) return count.error();
  auto nodes = nameless_nodes(*count, *slots, told.count);
  if (!nodes) return nodes.error();
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  if (auto status = set_told_master(inputs, told, cluster); !status) return status.error();
  auto local_node = told_local_node(inputs, told, cluster.nodes.size());
  if (!local_node) return local_node.error();
  if (auto status = check_first(inputs, cluster, *local_node, told.master); !status) {
    return status.error();
  }
  cluster.nodes[0].host = cluster.master_addr;
  name_trainer_nodes(cluster.master_addr, cluster.nodes);
  PlatformFacts platform;
  platform.framework = told.framework;
  platform.framework_reason = std::string(told.count) + " is set";
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), std::move(platform),
                               inputs);
}

// The following code is for MPIJob.

struct HostfileVariable {
  const char* name;
  HostfileDialect dialect;
};
constexpr HostfileVariable kHostfileVariables[] = {
    {"OMPI_MCA_orte_default_hostfile", HostfileDialect::kOpenMpi},
    {"PRTE_MCA_prte_default_hostfile", HostfileDialect::kOpenMpi},
    {"HYDRA_HOST_FILE", HostfileDialect::kMpich},
    {"I_MPI_HYDRA_HOST_FILE", HostfileDialect::kIntelMpi},
};

// Returns the variable that names the operator's file.
const HostfileVariable* hostfile_variable(const Inputs& inputs) {
  for (const HostfileVariable& variable : kHostfileVariables) {
    if (inputs.variable(variable.name) == kMountedHostfile) return &variable;
  }
  return nullptr;
}

base::Result<std::vector<Node>> nodes_of_hostfile(const std::string& text,
                                                  HostfileDialect dialect) {
  Hostfile hostfile = parse_hostfile(text, dialect);
  for (const Finding& finding : hostfile.findings) {
    if (!is_refused(finding)) continue;
    const std::string place = finding.place.empty() ? "" : ": " + finding.place;
    return base::fail("reading the MPIJob's hostfile", kMountedHostfile + place, finding.found,
                      finding.fix);
  }
  if (hostfile.entries.empty()) {
    return base::fail("reading the MPIJob's hostfile", kMountedHostfile, "no host",
                      "does the job have workers?");
  }
  std::vector<Node> nodes;
  std::set<std::string> seen;
  for (const HostfileEntry& entry : hostfile.entries) {
    if (!seen.insert(entry.host).second) {
      return base::fail("reading the MPIJob's hostfile", kMountedHostfile, entry.host + " twice",
                        "name each host once");
    }
    Node node;
    node.host = entry.host;
    node.role = "worker";
    node.role_index = static_cast<int>(nodes.size());
    node.slots = entry.slots;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// A worker knows its role and nothing else: neither the other pods, nor how many ranks the
// launcher's hostfile gives it. The hostfile exists, but not in this pod.
Location locate_mpi_worker(const Inputs& inputs, PlatformFacts platform) {
  platform.hostfiles_given = true;
  Node launcher;
  launcher.role = "launcher";
  Node worker;
  worker.role = "worker";
  worker.host = inputs.facts().host_name;
  worker.role_index = number_of_pod(inputs).value_or(0);
  Cluster cluster;
  cluster.nodes = {std::move(launcher), std::move(worker)};
  return make_resolved_cluster(std::move(cluster), {1, "K_MPI_JOB_ROLE is worker"},
                               std::move(platform), inputs);
}

// Adds the launcher, which is in the hostfile only if it also runs ranks.
std::vector<Node> with_launcher(std::vector<Node> workers, const Inputs& inputs) {
  std::vector<int> like = nodes_like_local(workers, inputs);
  if (like.size() == 1) {
    auto place = workers.begin() + like[0];
    std::rotate(workers.begin(), place, place + 1);
    workers[0].role = "launcher";
    for (std::size_t i = 0; i < workers.size(); ++i) {
      workers[i].role_index = i == 0 ? 0 : static_cast<int>(i) - 1;
    }
  } else {
    Node launcher;
    launcher.role = "launcher";
    launcher.host = inputs.facts().host_name;
    workers.insert(workers.begin(), std::move(launcher));
  }
  return workers;
}

Location locate_mpi(Inputs& inputs) {
  std::string_view role = inputs.variable("K_MPI_JOB_ROLE");
  const HostfileVariable* variable = hostfile_variable(inputs);
  PlatformFacts platform;
  platform.framework = "mpi";
  platform.framework_reason = role.empty() && variable != nullptr
                                  ? std::string(variable->name) + " is set"
                                  : "K_MPI_JOB_ROLE is " + std::string(role);
  if (role == "worker") return locate_mpi_worker(inputs, std::move(platform));
  if (!role.empty() && role != "launcher") {
    return base::Error{kReading, "K_MPI_JOB_ROLE", base::quoted(role),
                       "it has to be launcher or worker"};
  }
  const PathState* file = inputs.content(kMountedHostfile);
  if (file == nullptr) return NeedsPaths{};
  if (file->kind != PathState::Kind::kFile) {
    return base::Error{"reading the MPIJob's hostfile", kMountedHostfile, "no file",
                       "the operator mounts it on the launcher: is K_MPI_JOB_ROLE right?"};
  }
  HostfileDialect dialect = variable == nullptr ? guess_dialect(file->content) : variable->dialect;
  auto workers = nodes_of_hostfile(file->content, dialect);
  if (!workers) return workers.error();
  bool openmpi = dialect == HostfileDialect::kOpenMpi;
  (openmpi ? platform.openmpi_hostfile : platform.mpich_hostfile) = kMountedHostfile;
  platform.hostfiles_given = true;
  Cluster cluster;
  cluster.nodes = with_launcher(std::move(*workers), inputs);
  LocalNode local_node{0, platform.framework_reason};
  return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                               inputs);
}

bool is_mpi_job(const Inputs& inputs) {
  return !inputs.variable("K_MPI_JOB_ROLE").empty() || hostfile_variable(inputs) != nullptr;
}

// Returns whether TF_CONFIG belongs to a TFJob. Outside Kubernetes a user may have set it by hand,
// for this process only.
bool is_tf_job(const Inputs& inputs) {
  std::string_view config = inputs.variable("TF_CONFIG");
  if (config.empty()) return false;
  return in_kubernetes(inputs) || config.find("\"environment\"") != std::string_view::npos;
}

std::optional<std::string> detect_kubeflow(Inputs& inputs) {
  if (!inputs.variable("K_MPI_JOB_ROLE").empty()) return "K_MPI_JOB_ROLE is set";
  if (const HostfileVariable* variable = hostfile_variable(inputs)) {
    return std::string(variable->name) + " is " + kMountedHostfile;
  }
  if (is_tf_job(inputs)) return "TF_CONFIG is set";
  if (has_pet_variables(inputs)) return "PET_NNODES is set";
  if (const CountNames* told = operator_of(inputs)) {
    return std::string(told->count) + " is set as " + told->job + " does";
  }
  if (is_older_pytorch_job(inputs)) return "MASTER_ADDR and RANK are set as a PyTorchJob's";
  return std::nullopt;
}

Location locate_kubeflow(Inputs& inputs) {
  if (is_mpi_job(inputs)) return locate_mpi(inputs);
  if (!inputs.variable("TF_CONFIG").empty()) return locate_by_tf_config(inputs, PlatformFacts{});
  const bool pet = has_pet_variables(inputs);
  if (const CountNames* told = operator_of(inputs); told != nullptr && !pet) {
    return locate_told(inputs, *told);
  }
  bool pytorch = pet || !inputs.variable("WORLD_SIZE").empty();
  if (pytorch) return locate_pytorch(inputs);
  // A TFJob with one replica gets no TF_CONFIG, so it is a job of one node.
  Cluster cluster;
  auto slots = slots_of_node(inputs, 0);
  if (!slots) return NeedsPaths{};
  Node node;
  node.host = inputs.facts().host_name;
  node.slots = *slots;
  cluster.nodes.push_back(std::move(node));
  PlatformFacts platform;
  platform.alone_by_default = true;
  return make_resolved_cluster(std::move(cluster), {0, "no variable of a job: one replica"},
                               std::move(platform), inputs);
}

}  // namespace

extern const Platform kKubeflowPlatform = {"kubeflow", detect_kubeflow, locate_kubeflow};

}  // namespace envgen
