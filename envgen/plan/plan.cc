#include "envgen/plan/plan.h"

#include <algorithm>
#include <utility>

namespace envgen {

bool has_hooks(const Plan& plan, HookEvent event) {
  return std::ranges::find(plan.hooks, event, &HookGroup::event) != plan.hooks.end();
}

base::Budget stop_budget(const Plan& plan) {
  const bool post_stop = has_hooks(plan, HookEvent::kPostStop) || !plan.post_stop.empty();
  return base::make_budget(
      plan.policy, {.pre_stop = has_hooks(plan, HookEvent::kPreStop), .post_stop = post_stop}, 0);
}

bool has_own_hooks(const Plan& plan, HookEvent event) {
  const auto group = std::ranges::find(plan.hooks, event, &HookGroup::event);
  if (group == plan.hooks.end()) return false;
  return group->paths.size() > (group->script.empty() ? 0U : 1U);
}

void confine(Plan& plan, Sandbox sandbox) {
  if (sandbox.identity) {
    const Identity& who = *sandbox.identity;
    for (Process& process : plan.processes) {
      process.env.push_back({base::EnvEdit::Kind::kSet, "HOME", who.home});
      if (who.name.empty()) continue;
      for (const char* name : {"USER", "LOGNAME"}) {
        process.env.push_back({base::EnvEdit::Kind::kSet, name, who.name});
      }
    }
  }
  plan.sandbox = std::move(sandbox);
}

void confine_unprepared(Plan& plan, const SandboxRequest& request) {
  Sandbox known;
  known.profile = request.seccomp;
  known.settings = request.settings;
  confine(plan, std::move(known));
  std::string left;
  auto leave = [&left](std::string_view option, std::string_view value) {
    if (value.empty()) return;
    left.append(left.empty() ? "" : ", ").append(option).append(" ").append(value);
  };
  leave("--user", request.user);
  leave("--caps", request.caps);
  leave("--ambient", request.ambient);
  leave("--seccomp", request.seccomp);
  for (const std::string& limit : request.limits) leave("--rlimit", limit);
  if (left.empty()) return;
  plan.warnings.push_back("only the machine of the job can tell what this comes to: " + left);
}

}  // namespace envgen
