#include <algorithm>

#include "base/wire.h"
#include "envgen/plan/plan.h"

namespace envgen {
namespace {

// The kernel accepts no longer filter.
constexpr std::size_t kFilterStepBytes = 8;
constexpr std::size_t kMaxFilterBytes = 4096 * kFilterStepBytes;

bool can_run(const Plan& plan) {
  constexpr auto kHasProgram = [](const Process& one) { return !one.argv.empty(); };
  const std::size_t filter = plan.sandbox.filter.size();
  return std::ranges::all_of(plan.processes, kHasProgram) &&
         std::ranges::all_of(plan.services, kHasProgram) &&
         std::ranges::all_of(plan.post_stop, kHasProgram) &&
         std::ranges::none_of(plan.hooks, [](const auto& group) { return group.paths.empty(); }) &&
         filter % kFilterStepBytes == 0 && filter <= kMaxFilterBytes;
}

}  // namespace

void fields(base::FieldVisitor& v, NodeLink& link) {
  constexpr base::Rule kPort{.least = 0, .most = 65'535};
  constexpr base::Rule kNodes{.least = 0, .most = 1U << 20};
  v("address", link.address);
  v("port", link.port, kPort);
  v("node_rank", link.node_rank, kNodes);
  v("node_count", link.node_count, kNodes);
  v("master_port", link.master_port, kPort);
  v("stops", link.stops);
  v("loss_counts", link.loss_counts);
  v("stop_counts", link.stop_counts);
  v("timeout_ms", link.timeout_ms);
  v("secret_file", link.secret_file);
  v("tell_sshd", link.tell_sshd);
  v("cluster", link.cluster);
  v("common", link.common);
  v("secret", link.secret);
  v("names", link.names, {.most_items = 1U << 20});
}

void fields(base::FieldVisitor& v, Plan& plan) {
  constexpr base::Rule kProcesses{.most_items = 4096};  // far above the number on any node
  v("platform", plan.platform);
  v("framework", plan.framework);
  v("self", plan.local_node);
  v("node_count", plan.node_count);
  v("world_size", plan.world_size);
  v("cluster_id", plan.cluster_id);
  v("claim", plan.claim);
  v("policy", plan.policy);
  v("observe", plan.observe);
  v("warm", plan.warm);
  v("link", plan.link);
  v("env", plan.env);
  v("processes", plan.processes, kProcesses);
  v("services", plan.services, kProcesses);
  v("post_stop", plan.post_stop, kProcesses);
  v("hooks", plan.hooks, {.most_items = kHookEvents});
  v("hook_env", plan.hook_env);
  v("sandbox", plan.sandbox);
  v("warnings", plan.warnings);
}

std::string encode_plan(const Plan& plan) { return base::to_wire(plan); }

base::Result<Plan> decode_plan(std::string_view bytes) {
  auto plan = base::from_wire<Plan>(bytes);
  if (plan && can_run(*plan)) return std::move(*plan);
  return base::fail("receiving the plan", "the resolver", "a damaged plan",
                    "this is a defect of trainit: report it with `trainit snapshot`");
}

}  // namespace envgen
