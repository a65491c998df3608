#include "envgen/resolve.h"

#include <algorithm>

#include "envgen/framework.h"
#include "envgen/platform.h"

namespace envgen {
namespace {

// Docker kills 10 s after its TERM, Kubernetes 30 s: the grace must end before.
constexpr std::int64_t kDockerGraceMs = 8000;
constexpr std::int64_t kKubernetesGraceMs = 25000;

std::string known_names(auto entries) {
  std::string list;
  for (const auto& entry : entries) {
    if (!list.empty()) list += ", ";
    list += entry.name;
  }
  return list;
}

Result<const PlatformProfile*> choose_platform(Inputs& inputs, Plan& plan) {
  const std::string& wanted = inputs.request().platform;
  for (const PlatformProfile& profile : platform_profiles()) {
    std::optional<std::string> reason;
    if (wanted.empty()) {
      reason = profile.detect(inputs);
    } else if (wanted == profile.name) {
      reason = "--platform says so";
    }
    if (!reason) continue;
    plan.platform = profile.name;
    plan.platform_reason = *reason;
    return &profile;
  }
  return fail("choosing the platform", "--platform", '"' + wanted + '"',
              "use one of " + known_names(platform_profiles()));
}

Result<const FrameworkLauncher*> choose_framework(const Request& request, bool has_ranks,
                                                  Plan& plan) {
  std::string wanted = request.framework;
  if (wanted.empty()) wanted = has_ranks ? "ascend" : "single";
  for (const FrameworkLauncher& launcher : framework_launchers()) {
    if (launcher.name != wanted) continue;
    plan.framework = launcher.name;
    return &launcher;
  }
  return fail("choosing the framework", "--framework", '"' + wanted + '"',
              "use one of " + known_names(framework_launchers()));
}

PlanPolicy policy_of(const Inputs& inputs) {
  const Request& request = inputs.request();
  PlanPolicy policy;
  bool kubernetes = !inputs.variable("KUBERNETES_SERVICE_HOST").empty();
  policy.grace_ms = request.grace_ms.value_or(kubernetes ? kKubernetesGraceMs : kDockerGraceMs);
  policy.rank_table_timeout_ms = request.rank_table_timeout_ms;
  policy.hold_ms = request.hold_ms;
  return policy;
}

// --log-dir, else the platform's, else RUN_DIR/logs.
std::string log_dir_of(Inputs& inputs, const Site& site, Plan& plan) {
  const std::string& cwd = inputs.facts().cwd;
  if (!inputs.request().log_dir.empty()) return join_path(cwd, inputs.request().log_dir);
  std::string own = join_path(inputs.facts().run_dir, "logs");
  if (site.log_dir.empty()) return own;
  std::string platform_dir = join_path(cwd, site.log_dir);
  if (can_be_made(inputs, platform_dir)) return platform_dir;
  plan.warnings.push_back("the log directory " + platform_dir +
                          " cannot be written; logs move to " + own);
  return own;
}

Outcome plan_located(Inputs& inputs, Located located, Plan plan) {
  bool has_ranks = !located.cluster.nodes.empty();
  auto launcher = choose_framework(inputs.request(), has_ranks, plan);
  if (!launcher) return launcher.error();
  plan.waits = located.waits;
  plan.warnings = located.warnings;
  plan.self = located.self;
  located.site.log_dir = log_dir_of(inputs, located.site, plan);
  if (auto status = (*launcher)->launch(inputs, located, plan); !status) return status.error();
  if (has_ranks) {
    plan.node_count = static_cast<int>(located.cluster.nodes.size());
    plan.world_size = located.cluster.world_size;
    plan.cluster = std::move(located.cluster);
  }
  return Planned{std::move(plan)};
}

Outcome outcome_of(Inputs& inputs) {
  Plan plan;
  if (inputs.request().command.empty()) {
    return Error{"reading the command line", "", "no command",
                 "name the program to run: trainit -- python train.py"};
  }
  auto profile = choose_platform(inputs, plan);
  if (!profile) return profile.error();
  plan.policy = policy_of(inputs);

  Location location = (*profile)->locate(inputs);
  if (auto* error = std::get_if<Error>(&location)) return std::move(*error);
  if (auto* located = std::get_if<Located>(&location)) {
    return plan_located(inputs, std::move(*located), std::move(plan));
  }
  auto launcher = choose_framework(inputs.request(), true, plan);
  if (!launcher) return launcher.error();
  Pending pending;
  if (auto* not_yet = std::get_if<NotYet>(&location)) {
    pending.path = not_yet->wait.path;
    pending.why = not_yet->wait.why;
    plan.waits.push_back(std::move(not_yet->wait));
  }
  pending.plan = std::move(plan);
  return pending;
}

}  // namespace

Answer resolve(const Snapshot& snapshot, const Request& request) {
  Inputs inputs(snapshot, request);
  Answer answer;
  answer.outcome = outcome_of(inputs);
  answer.wants.assign(inputs.wants().begin(), inputs.wants().end());
  return answer;
}

bool is_pass_through(const Environ& env, const Request& request) {
  if (!request.platform.empty() && request.platform != "local") return false;
  if (!request.framework.empty() && request.framework != "single") return false;
  if (request.output == Output::kFiles || request.command.empty()) return false;
  Snapshot snapshot;
  snapshot.env = env;
  Answer answer = resolve(snapshot, request);
  return answer.wants.empty() && std::holds_alternative<Planned>(answer.outcome);
}

}  // namespace envgen
