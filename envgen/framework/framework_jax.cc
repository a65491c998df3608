// JAX: one process per node, which drives all devices there. With --slots there are several, each
// with one device. The address of the rendezvous is in the variables of Kubeflow's Trainer. The
// function jax.distributed.initialize() itself reads only JAX_COORDINATOR_ADDRESS and
// JAX_LOCAL_DEVICE_IDS of them. The script passes count and index. The variables of the older
// JAXJob (COORDINATOR_ADDRESS, NUM_PROCESSES, PROCESS_ID) are corrected if they are present.

#include <array>
#include <utility>

#include "envgen/framework/framework.h"
#include "envgen/framework/node_job.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

using Kind = base::EnvEdit::Kind;

constexpr const char* kPlanning = "planning a JAX job";
constexpr int kCoordinatorPort = 6666;  // default of JAXJob and of the documents

std::vector<base::EnvEdit> process_environment(const Inputs& inputs, const NodeJob& job, int rank,
                                               int local_rank) {
  const std::string port = std::to_string(job.port);
  const std::string count = std::to_string(job.world_size);
  const std::string index = std::to_string(rank);
  std::vector<base::EnvEdit> edits = {{Kind::kSet, "JAX_COORDINATOR_ADDRESS", endpoint_of(job)},
                                      {Kind::kSet, "JAX_COORDINATOR_PORT", port},
                                      {Kind::kSet, "JAX_NUM_PROCESSES", count},
                                      {Kind::kSet, "JAX_PROCESS_ID", index}};
  if (job.slots > 1) {
    edits.push_back({Kind::kSet, "JAX_LOCAL_DEVICE_IDS", std::to_string(local_rank)});
  }
  const std::array<std::pair<const char*, std::string>, 4> of_jaxjob = {
      {{"COORDINATOR_ADDRESS", job.address},
       {"COORDINATOR_PORT", port},
       {"NUM_PROCESSES", count},
       {"PROCESS_ID", index}}};
  if (!inputs.variable("COORDINATOR_ADDRESS").empty()) {
    for (const auto& [name, value] : of_jaxjob) edits.push_back({Kind::kSet, name, value});
  }
  return edits;
}

// Plans this node's processes. If the platform started a task per process, the task is the process.
base::Status launch_jax(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  TRY_ASSIGN(auto told, node_job_of(inputs, resolved, kPlanning, kCoordinatorPort));
  if (!told) return {};
  NodeJob& job = *told;
  // If the number of processes is not known on a node that is the whole job, it is 1.
  if (resolved.cluster.nodes.empty() && !inputs.request().slots) job.slots = job.world_size = 1;
  TRY(needs_master(job, kPlanning));
  const PlatformFacts& platform = resolved.platform;
  plan.free_master_port = job.alone() && !job.port_given && inputs.request().master_addr.empty();
  const bool one = platform.own_rank.has_value() || job.slots == 1;
  if (resolved.cluster.nodes.empty()) plan.world_size = job.world_size;
  if (!one) plan.directories.push_back({platform.log_dir});
  for (int local_rank = 0; local_rank < (one ? 1 : job.slots); ++local_rank) {
    const int rank = platform.own_rank.value_or(job.first_rank + local_rank);
    Process process = one ? main_process(inputs, platform, platform.command, plan)
                          : rank_process(inputs, platform, platform.command, rank, plan);
    process.env = unset_stale(inputs, plan, rank_variables());
    const int local = platform.own_rank ? platform.local_rank : local_rank;
    for (base::EnvEdit& edit : process_environment(inputs, job, rank, local)) {
      process.env.push_back(std::move(edit));
    }
    plan.processes.push_back(std::move(process));
  }
  return {};
}

}  // namespace

extern const FrameworkLauncher kJaxLauncher = {
    .name = "jax", .launch = launch_jax, .one_per_node = true, .on_every_node = true};

}  // namespace envgen
