#include "envgen/resolve/watches.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "envgen/failure/python_hook.h"
#include "envgen/plan/inputs.h"

namespace envgen {
namespace {

constexpr std::int64_t kHealthMs = 5LL * 60 * 1000;

void plan_health(Plan& plan) {
  Observation& observe = plan.observe;
  const bool some = !observe.health_checks.empty() || has_hooks(plan, HookEvent::kHealth);
  if (!some && observe.health_interval_ms > 0) {
    plan.warnings.push_back(
        "--health-interval has nothing to run: there are no health hooks and no --health-checks");
  }
  if (!some || observe.health_interval_ms == kNoHealth) {
    observe.health_interval_ms = 0;
    return;
  }
  if (observe.health_interval_ms == 0) observe.health_interval_ms = kHealthMs;
  if (plan.policy.max_restarts > 0) {
    plan.warnings.push_back(
        "what the health watch finds is only reported: the job restarts by itself "
        "(--max-restarts), and is not saved to be scheduled again");
  }
}

// Returns whether stacks may be needed: ranks can wait for each other, or the user asks why a rank
// stalls.
bool may_hang(const Plan& plan) {
  return plan.processes.size() > 1 || plan.world_size > 1 || plan.observe.stall_ms > 0;
}

// Prepares the stack dumps. A single command is left out, because the only effect on it would be a
// changed PYTHONPATH.
void plan_stacks(const Inputs& inputs, Plan& plan) {
  const std::string& run_dir = inputs.facts().run_dir;
  if (run_dir.empty() || !may_hang(plan)) return;
  plan.observe.stacks = true;
  const std::string hooks = join_path(run_dir, "stacks/" + std::string(kHookDirectory));
  for (Process& process : plan.processes) {
    process.env.push_back({base::EnvEdit::Kind::kPutInFront, "PYTHONPATH", hooks});
  }
}

// Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html and, for PyTorch,
// FlightRecorderDetail.hpp, FlightRecorder.cpp, ProcessGroupNCCL.cpp in
// torch/csrc/distributed/c10d/. The variables of torch_npu are the same with HCCL in their names.
void plan_recorders(const Inputs& inputs, Plan& plan) {
  Observation& observe = plan.observe;
  if (!may_hang(plan)) return;
  const auto first_of = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto value = inputs.variable(name); !value.empty()) return std::string(value);
    }
    return std::string();
  };
  if (inputs.variable("NCCL_RAS_ENABLE") != "0") {
    observe.nccl_ras = first_of({"NCCL_RAS_ADDR"});
    if (observe.nccl_ras.empty()) observe.nccl_ras = "localhost:28028";
  }
  const std::string& cwd = plan.processes.empty() ? "" : plan.processes.front().cwd;
  const auto add = [&](std::vector<std::string>& list, const std::string& path) {
    if (!path.empty()) list.push_back(join_path(cwd.empty() ? inputs.facts().cwd : cwd, path));
  };
  const std::string named =
      first_of({"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"});
  add(observe.traces, named);
  if (named.empty() &&
      !first_of({"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}).empty()) {
    const std::string home = first_of({"HOME"});
    const std::string cache = first_of({"XDG_CACHE_HOME"});
    add(observe.traces, (cache.empty() ? home + "/.cache" : cache) + "/torch/comm_lib_trace_rank_");
    add(observe.traces, "/tmp/nccl_trace_rank_");  // the name in versions before 2.8
  }
  const std::string hccl = first_of({"TORCH_HCCL_DEBUG_INFO_TEMP_FILE"});
  add(observe.traces, hccl);
  if (hccl.empty() && !first_of({"TORCH_HCCL_TRACE_BUFFER_SIZE"}).empty()) {
    add(observe.traces, "/tmp/hccl_trace_rank_");
  }
  add(observe.trace_pipes, first_of({"TORCH_NCCL_DEBUG_INFO_PIPE_FILE"}));
  add(observe.trace_pipes, first_of({"TORCH_HCCL_DEBUG_INFO_PIPE_FILE"}));
}

}  // namespace

void plan_watches(const Inputs& inputs, Plan& plan) {
  plan.observe = inputs.request().observe;
  plan_health(plan);
  // A server (an sshd, a parameter server) is idle while it has no client, so it has no stall
  // watch.
  if (plan.policy.success == base::SuccessPolicy::kServe) plan.observe.stall_ms = 0;
  plan_stacks(inputs, plan);
  plan_recorders(inputs, plan);
}

}  // namespace envgen
