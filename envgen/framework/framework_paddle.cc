// PaddlePaddle in collective mode. For a Python command trainit starts a process for each device,
// with the variables that `python -m paddle.distributed.launch` sets. The function
// paddle.distributed.init_parallel_env() reads PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM,
// PADDLE_TRAINER_ENDPOINTS and PADDLE_CURRENT_ENDPOINT. The rendezvous is at
// MASTER_ADDR:MASTER_PORT, or otherwise at PADDLE_MASTER. A launch in the user's command, or a
// script that may start one, stays one process. The nodes are passed in the variables that stand
// for the launch's flags. Flags in the command take precedence.
//
// Sources: python/paddle/distributed/launch/controllers/collective.py, launch/context/args_envs.py,
// parallel.py and collective.py of Paddle; kubeflow/training-operator
// pkg/controller.v1/paddlepaddle/envvar.go.

#include <array>
#include <utility>

#include "envgen/framework/framework.h"
#include "envgen/framework/node_job.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

using Kind = base::EnvEdit::Kind;

constexpr const char* kPlanning = "planning a Paddle job";
constexpr int kDefaultPort = 36543;   // PaddleJob's default
constexpr int kFirstEndpoint = 6070;  // default of the launch's --start_port

// Returns variables that an outer launch or an image may have set: a process that reads them would
// take another process's rank.
std::span<const std::string_view> paddle_variables() {
  static constexpr std::array<std::string_view, 13> kNames = {
      "PADDLE_TRAINER_ID",    "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS",
      "PADDLE_GLOBAL_RANK",   "PADDLE_GLOBAL_SIZE",  "PADDLE_CURRENT_ENDPOINT",
      "PADDLE_LOCAL_RANK",    "PADDLE_LOCAL_SIZE",   "PADDLE_RANK_IN_NODE",
      "PADDLE_NNODES",        "PADDLE_MASTER",       "PADDLE_RANK",
      "PADDLE_NPROC_PER_NODE"};
  return kNames;
}

void unset(const Inputs& inputs, Plan& plan, std::span<const std::string_view> names,
           Process& process) {
  for (base::EnvEdit& edit : unset_stale(inputs, plan, names))
    process.env.push_back(std::move(edit));
}

// Returns "host:6070", "host:6071", ... in rank order. Every process gets the endpoints of all.
base::Result<std::vector<std::string>> endpoints_of(const ResolvedCluster& resolved,
                                                    const NodeJob& job) {
  std::vector<std::string> endpoints;
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(job.node_count); ++rank) {
    std::string host = job.alone() || rank == 0 ? job.address : nodes[rank].host;
    if (host.empty()) host = nodes[rank].container_ip;
    if (host.empty()) host = nodes[rank].host_ip;
    if (host.empty()) {
      return base::fail(
          kPlanning, "node " + std::to_string(rank), "no name and no address of it",
          "each process is told all others' endpoints: list the nodes with --hosts, or "
          "start paddle.distributed.launch, which asks the others");
    }
    const int slots = job.alone()             ? job.slots
                      : nodes[rank].slots > 0 ? nodes[rank].slots
                                              : static_cast<int>(nodes[rank].devices.size());
    for (int local = 0; local < slots; ++local) {
      endpoints.push_back(flag_address(host) + ":" + std::to_string(kFirstEndpoint + local));
    }
  }
  return endpoints;
}

std::string comma_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::vector<base::EnvEdit> rank_environment(const NodeJob& job, int rank, int local_rank,
                                            const std::string& endpoints, const std::string& own) {
  const std::string id = std::to_string(rank);
  const std::string local = std::to_string(local_rank);
  const std::string world = std::to_string(job.world_size);
  std::vector<base::EnvEdit> edits = {{Kind::kSet, "PADDLE_TRAINER_ID", id},
                                      {Kind::kSet, "PADDLE_GLOBAL_RANK", id},
                                      {Kind::kSet, "PADDLE_TRAINERS_NUM", world},
                                      {Kind::kSet, "PADDLE_GLOBAL_SIZE", world},
                                      {Kind::kSet, "PADDLE_TRAINER_ENDPOINTS", endpoints},
                                      {Kind::kSet, "PADDLE_CURRENT_ENDPOINT", own},
                                      {Kind::kSet, "PADDLE_RANK_IN_NODE", local},
                                      {Kind::kSet, "PADDLE_LOCAL_RANK", local},
                                      {Kind::kSet, "PADDLE_LOCAL_SIZE", std::to_string(job.slots)},
                                      {Kind::kSet, "PADDLE_NNODES", std::to_string(job.node_count)},
                                      {Kind::kSet, "MASTER_ADDR", job.address},
                                      {Kind::kSet, "MASTER_PORT", std::to_string(job.port)}};
  // The device's index among those that the container sees.
  for (const char* name : {"FLAGS_selected_gpus", "FLAGS_selected_npus", "FLAGS_selected_xpus"}) {
    edits.push_back({Kind::kSetDefault, name, local});
  }
  return edits;
}

// Plans a launch in the user's command. With PADDLE_MASTER the launch waits there for other nodes,
// so it is set only if there are several.
void launch_typed(const Inputs& inputs, const ResolvedCluster& resolved, const NodeJob& job,
                  Plan& plan) {
  Process process = main_process(inputs, resolved.platform, resolved.platform.command, plan);
  unset(inputs, plan, rank_variables(), process);
  if (!job.alone()) {
    // Unsets the trainer's id, which the launch would use as the rank of the node.
    static constexpr std::array<std::string_view, 1> kTrainer = {"PADDLE_TRAINER_ID"};
    unset(inputs, plan, kTrainer, process);
    if (!job.address.empty()) {
      process.env.push_back({Kind::kSetDefault, "PADDLE_MASTER", endpoint_of(job)});
    }
    process.env.push_back({Kind::kSetDefault, "PADDLE_NNODES", std::to_string(job.node_count)});
    process.env.push_back({Kind::kSetDefault, "PADDLE_RANK", std::to_string(job.node_rank)});
    if (!resolved.platform.job_id.empty()) {
      process.env.push_back({Kind::kSetDefault, "PADDLE_JOB_ID", resolved.platform.job_id});
    }
  }
  process.env.push_back({Kind::kSetDefault, "PADDLE_NPROC_PER_NODE", std::to_string(job.slots)});
  plan.processes.push_back(std::move(process));
}

base::Status launch_paddle(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  TRY_ASSIGN(auto told, node_job_of(inputs, resolved, kPlanning, kDefaultPort));
  if (!told) return {};
  const NodeJob& job = *told;
  const PlatformFacts& platform = resolved.platform;
  if (resolved.cluster.nodes.empty()) plan.world_size = job.world_size;
  // A script may start the launch itself, unless the platform has started each rank.
  const bool script = !platform.own_rank && !platform.command.python();
  if (script || platform.command.launcher()) {
    launch_typed(inputs, resolved, job, plan);
    return {};
  }
  TRY(needs_master(job, kPlanning));
  TRY_ASSIGN(auto endpoints, endpoints_of(resolved, job));
  const std::string list = comma_list(endpoints);
  plan.free_master_port = job.alone() && !job.port_given && inputs.request().master_addr.empty();
  if (!platform.own_rank) plan.directories.push_back({platform.log_dir});
  for (int index = 0; index < (platform.own_rank ? 1 : job.slots); ++index) {
    const int local_rank = platform.own_rank ? platform.local_rank : index;
    const int rank = platform.own_rank.value_or(job.first_rank + index);
    Process process = platform.own_rank
                          ? main_process(inputs, platform, platform.command, plan)
                          : rank_process(inputs, platform, platform.command, rank, plan);
    unset(inputs, plan, rank_variables(), process);
    unset(inputs, plan, paddle_variables(), process);
    for (base::EnvEdit& edit :
         rank_environment(job, rank, local_rank, list, endpoints[static_cast<std::size_t>(rank)])) {
      process.env.push_back(std::move(edit));
    }
    plan.processes.push_back(std::move(process));
  }
  return {};
}

}  // namespace

extern const FrameworkLauncher kPaddleLauncher = {
    .name = "paddle", .launch = launch_paddle, .on_every_node = true};

}  // namespace envgen
