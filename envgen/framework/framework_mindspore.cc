#include "envgen/framework/framework_mindspore.h"

#include <array>
#include <span>

#include "envgen/formats/hosts.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

using Kind = base::EnvEdit::Kind;

constexpr const char* kPlanning = "planning a MindSpore job";
constexpr int kDefaultPort = 8118;        // msrun's default
constexpr const char* kTimeoutS = "600";  // time limit for all processes to register, msrun's
                                          // default

// The part of the job that this container runs.
struct Job {
  int node_rank = 0;
  int local_size = 1;
  int first_rank = 0;
  int first_device = 0;
  bool is_first = true;  // runs the scheduler, unless the platform decides
  int world_size = 1;
  std::string scheduler;  // the scheduler's host
  std::string port;
};

int ranks_of(const Node& node) {
  return node.slots > 0 ? node.slots : static_cast<int>(node.devices.size());
}

// Returns the scheduler's host. Addresses of node 0 are preferred to its name: MindSpore 2.3 starts
// its scheduler only where the address equals an interface's address character by character.
base::Result<std::string> scheduler_of(const Request& request, const Cluster& cluster) {
  const std::string& named =
      request.master_addr.empty() ? cluster.master_addr : request.master_addr;
  if (named.empty() && cluster.nodes.size() < 2) return "127.0.0.1";
  const Node none;
  const Node& first = cluster.nodes.empty() ? none : cluster.nodes[0];
  if (!named.empty() && named != first.host) return named;
  for (const bool name : {false, true}) {
    for (const std::string* host : {&first.host, &first.container_ip, &first.host_ip, &named}) {
      if (!host->empty() && is_address(*host) != name) return *host;
    }
  }
  return base::fail(kPlanning, "node 0", "no address of it: the platform did not tell one",
                    "name it with --master-addr");
}

// Returns this container's part of the job; nullopt while the node's devices are not counted yet.
base::Result<std::optional<Job>> job_of(Inputs& inputs, const ResolvedCluster& resolved) {
  const Cluster& cluster = resolved.cluster;
  Job job;
  job.node_rank = resolved.local_node.node_rank;
  if (cluster.nodes.empty()) {
    auto slots = slots_of_node(inputs, 0);
    if (!slots) return std::nullopt;
    job.local_size = job.world_size = *slots;
  } else {
    job.world_size = 0;
    for (int rank = 0; rank < static_cast<int>(cluster.nodes.size()); ++rank) {
      const int ranks = ranks_of(cluster.nodes[static_cast<std::size_t>(rank)]);
      if (rank == job.node_rank) {
        job.local_size = ranks;
        job.first_rank = job.world_size;
      }
      job.world_size += ranks;
    }
  }
  if (job.world_size == 0) {
    return base::fail(kPlanning, "platform", "no node that runs ranks",
                      "say how many ranks a node runs with --slots");
  }
  TRY_ASSIGN(job.scheduler, scheduler_of(inputs.request(), cluster));
  const int port = inputs.request().master_port.value_or(cluster.master_port);
  job.port = std::to_string(port > 0 ? port : kDefaultPort);
  job.is_first = job.node_rank == 0 && resolved.platform.local_rank == 0;
  if (resolved.platform.own_rank) {
    job.local_size = 1;
    job.first_rank = *resolved.platform.own_rank;
    job.first_device = resolved.platform.local_rank;
  }
  return job;
}

// Unsets the container's own rank and role, which are not those of its processes. Also unsets the
// rank table: msrun gets it by a flag, and the dynamic cluster does not use one.
void unset_stale_cluster(const Inputs& inputs, Plan& plan) {
  static constexpr std::array<std::string_view, 5> kTable = {
      "RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE", "DEVICE_ID", "ASCEND_DEVICE_ID"};
  for (auto names : {rank_variables(), mindspore_cluster_variables(),
                     std::span<const std::string_view>(kTable)}) {
    for (base::EnvEdit& edit : unset_stale(inputs, plan, names))
      plan.env.push_back(std::move(edit));
  }
}

// Returns true if msrun's own flags contain --join=True; they may be in a shell's text.
bool has_join(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += word + " ";
  constexpr std::string_view kFlag = "--join";
  const std::size_t flag = text.find(kFlag);
  if (flag == std::string::npos) return false;
  const std::string_view value = std::string_view(text).substr(flag + kFlag.size() + 1);
  return value.starts_with("True") || value.starts_with("true");
}

// Returns the script for msrun, which knows "python", "python3" and "pytest". msrun puts "python"
// in front of any other word.
std::vector<std::string> script_of(const ParsedCommand& command, Plan& plan) {
  std::vector<std::string> script = command;
  if (script[0] == "pytest") return script;
  if (command.python()) {
    if (script[0] != "python" && script[0] != "python3") {
      plan.warnings.push_back("msrun starts \"python\" of the PATH instead of " + script[0]);
      script[0] = "python";
    }
  } else if (!script[0].ends_with(".py")) {
    plan.warnings.push_back("msrun starts Python scripts: it will run \"python " + script[0] +
                            "\"; use --ascend-launcher dynamic for another program");
  }
  return script;
}

// Adds the rank table if the cluster has one, and returns its path or "".
base::Result<std::string> place_rank_table(const Inputs& inputs, const Cluster& cluster,
                                           Plan& plan) {
  if (cluster.rank_table.empty()) return std::string();
  std::string path = rank_table_path(inputs);
  const bool writable = !inputs.facts().run_dir.empty();
  if (!writable || !hccl_opens(path)) {
    const std::string directory = path.substr(0, path.rfind('/'));
    return base::fail(
        "placing the rank table", "TRAINIT_RUN_DIR",
        writable ? '"' + directory + "\", which HCCL refuses" : "no writable run directory",
        "set it to a writable directory without \".json\" in its name");
  }
  add_rank_table(path, cluster, plan);
  return path;
}

Process dynamic_process(const Inputs& inputs, const PlatformFacts& platform, const Job& job,
                        const char* role) {
  Process process;
  process.argv = platform.command;
  process.cwd = start_directory(inputs, platform);
  process.env = {{Kind::kSet, "MS_ROLE", role},
                 {Kind::kSet, "MS_SCHED_HOST", job.scheduler},
                 {Kind::kSet, "MS_SCHED_PORT", job.port},
                 {Kind::kSet, "MS_WORKER_NUM", std::to_string(job.world_size)},
                 {Kind::kSetDefault, "MS_TOPO_TIMEOUT", kTimeoutS}};
  return process;
}

void add_worker(const Inputs& inputs, const ResolvedCluster& resolved, const Job& job, int index,
                Plan& plan) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  static const std::vector<Device> none;
  const std::vector<Device>& devices =
      nodes.empty() ? none : nodes[static_cast<std::size_t>(job.node_rank)].devices;
  const std::string rank = std::to_string(job.first_rank + index);
  Process process = dynamic_process(inputs, resolved.platform, job, "MS_WORKER");
  process.rank = job.first_rank + index;
  process.name = "rank-" + rank;
  const auto place = static_cast<std::size_t>(job.first_device) + static_cast<std::size_t>(index);
  if (place < devices.size()) process.device = devices[place].physical_id;
  const std::string id = std::to_string(place);
  // Rank and device as MindSpore expects them: it numbers ranks by MS_NODE_ID, and DEVICE_ID is
  // logical, as with msrun.
  for (const auto& [name, value] :
       {std::pair{"MS_NODE_ID", &rank}, std::pair{"RANK_ID", &rank}, std::pair{"DEVICE_ID", &id},
        std::pair{"ASCEND_DEVICE_ID", &id}}) {
    process.env.push_back({Kind::kSet, name, *value});
  }
  process.env.push_back({Kind::kSet, "RANK_SIZE", std::to_string(job.world_size)});
  process.env.push_back({Kind::kSetDefault, "HCCL_CONNECT_TIMEOUT", "1800"});
  add_rank_log(inputs.request(), resolved.platform, plan, process);
  plan.processes.push_back(std::move(process));
}

void add_scheduler(const Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                   Plan& plan) {
  Process process = dynamic_process(inputs, resolved.platform, job, "MS_SCHED");
  process.name = "scheduler";
  // The scheduler prints only MindSpore's own messages, so it gets stdout only on a node without
  // ranks.
  const bool only_one = plan.processes.empty();
  if (!only_one || !inherits_output(inputs.request(), 0)) {
    process.log = join_path(resolved.platform.log_dir, "scheduler" + resolved.platform.log_suffix);
  }
  process.env_file = join_path(resolved.platform.log_dir, "scheduler.env");
  plan.processes.push_back(std::move(process));
}

}  // namespace

std::span<const std::string_view> mindspore_cluster_variables() {
  static constexpr std::array<std::string_view, 9> kNames = {
      "MS_ROLE",    "MS_SCHED_HOST", "MS_SCHED_PORT",   "MS_WORKER_NUM", "MS_SERVER_NUM",
      "MS_NODE_ID", "MS_NODE_RANK",  "MS_LOCAL_WORKER", "MS_LOCAL_RANK"};
  return kNames;
}

base::Status launch_msrun(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  const ParsedCommand& command = resolved.platform.command;
  if (resolved.platform.own_rank) {
    return base::fail(
        kPlanning, "platform " + plan.platform,
        "one task per rank, each of which would start an msrun for its whole node",
        "start one task per node (srun --ntasks-per-node=1), or use --ascend-launcher "
        "dynamic");
  }
  const bool direct = starts_msrun(command);
  // A shell's text may pass these variables to its own msrun, so they stay.
  if (direct || !command.launcher()) unset_stale_cluster(inputs, plan);
  if (direct || command.launcher()) {
    if (!has_join(command)) {
      plan.warnings.push_back(
          "msrun without --join=True ends at once and leaves its processes "
          "behind: the container would end with it");
    }
    plan.processes.push_back(main_process(inputs, resolved.platform, command, plan));
    return {};
  }
  TRY_ASSIGN(auto job, job_of(inputs, resolved));
  if (!job) return {};
  const Job& own = *job;
  if (!is_address(own.scheduler)) plan.scheduler = Scheduler{own.scheduler, own.node_rank == 0};
  if (resolved.cluster.nodes.empty()) plan.world_size = own.world_size;
  if (own.local_size == 0) {
    return base::fail(kPlanning, "node " + std::to_string(own.node_rank), "no ranks on it",
                      "msrun starts the scheduler beside the ranks of the first node: use "
                      "--ascend-launcher dynamic for a node of its own");
  }
  if (own.scheduler.find(':') != std::string::npos) {
    return base::fail(kPlanning, "the master's address", own.scheduler,
                      "msrun takes no IPv6 address: name a host with --master-addr");
  }
  TRY_ASSIGN(auto table, place_rank_table(inputs, resolved.cluster, plan));
  plan.directories.push_back({resolved.platform.log_dir, false, true});  // msrun writes there
  std::vector<std::string> argv = {"msrun",
                                   "--worker_num=" + std::to_string(own.world_size),
                                   "--local_worker_num=" + std::to_string(own.local_size),
                                   "--master_addr=" + own.scheduler,
                                   "--master_port=" + own.port,
                                   "--node_rank=" + std::to_string(own.node_rank),
                                   "--log_dir=" + resolved.platform.log_dir,
                                   "--join=True",
                                   std::string("--cluster_time_out=") + kTimeoutS};
  if (!table.empty()) argv.push_back("--rank_table_file=" + table);
  std::vector<std::string> script = script_of(command, plan);
  argv.insert(argv.end(), script.begin(), script.end());
  plan.processes.push_back(main_process(inputs, resolved.platform, std::move(argv), plan));
  return {};
}

base::Status launch_dynamic_cluster(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  TRY_ASSIGN(auto job, job_of(inputs, resolved));
  if (!job) return {};
  if (resolved.cluster.nodes.empty()) plan.world_size = job->world_size;
  unset_stale_cluster(inputs, plan);
  plan.directories.push_back({resolved.platform.log_dir});
  for (int index = 0; index < job->local_size; ++index) {
    add_worker(inputs, resolved, *job, index, plan);
  }
  const bool here = resolved.platform.mindspore_scheduler.value_or(job->is_first);
  if (!is_address(job->scheduler)) plan.scheduler = Scheduler{job->scheduler, here};
  if (here) {
    add_scheduler(inputs, resolved, *job, plan);
  }
  return {};
}

}  // namespace envgen
