#include "envgen/framework/framework.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "envgen/plan/launch.h"

namespace envgen {

// Each launcher is in the file of its name; horovod's is in framework_mpi.cc.
extern const FrameworkLauncher kAscendLauncher;
extern const FrameworkLauncher kDeepSpeedLauncher;
extern const FrameworkLauncher kHorovodLauncher;
extern const FrameworkLauncher kJaxLauncher;
extern const FrameworkLauncher kMpiLauncher;
extern const FrameworkLauncher kPaddleLauncher;
extern const FrameworkLauncher kPyTorchLauncher;
extern const FrameworkLauncher kTensorFlowLauncher;

namespace {

// Returns true if the command starts torchrun's agent. torch.distributed.launch is excluded. That
// module means a version before 2, whose agent has no fixed time between TERM and KILL.
bool is_torch_agent(const ParsedCommand& command) {
  const std::optional<Launcher>& typed = command.launcher();
  return typed && typed->reads == LauncherReads::kPet &&
         typed->module != "torch.distributed.launch";
}

// Starts the command with its environment unchanged, because the user may have set RANK on purpose.
// If the platform started it as one of several ranks (PlatformFacts::own_rank), a RANK from the
// image is unset: the MPI library asks the platform's PMI.
base::Status launch_single(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  Process process =
      main_process(inputs, resolved.platform, resolved.platform.command.typed(), plan);
  if (resolved.platform.own_rank) process.env = unset_stale(inputs, plan, rank_variables());
  plan.processes.push_back(std::move(process));
  if (inputs.request().grace_ms && is_torch_agent(resolved.platform.command)) {
    warn_of_torch_agent(inputs.request(), plan);
  }
  return {};
}

constexpr ChosenBy kNobody[] = {ChosenBy::kNobody};
constexpr FrameworkLauncher kSingleLauncher = {
    .name = "single", .launch = launch_single, .chosen_by = kNobody, .only_starts = true};

constexpr FrameworkLauncher kUnknown = {};

constexpr std::array<const FrameworkLauncher*, 9> kLaunchers = {
    &kAscendLauncher, &kDeepSpeedLauncher, &kHorovodLauncher, &kJaxLauncher,        &kMpiLauncher,
    &kPaddleLauncher, &kPyTorchLauncher,   &kSingleLauncher,  &kTensorFlowLauncher,
};

}  // namespace

std::span<const FrameworkLauncher* const> framework_launchers() { return kLaunchers; }

const FrameworkLauncher& launcher_of(std::string_view name) {
  const auto* found = std::ranges::find(kLaunchers, name, &FrameworkLauncher::name);
  return found == kLaunchers.end() ? kUnknown : **found;
}

void warn_of_torch_agent(const Request& request, Plan& plan) {
  constexpr std::int64_t kAgentsOwnMs = 30'000;
  const std::int64_t term_ms = stop_budget(plan).term_phase_ms;
  if (!request.grace_ms || term_ms >= kAgentsOwnMs) return;
  plan.warnings.push_back("torchrun 2.x gives its workers " + base::seconds(kAgentsOwnMs) +
                          " between TERM and KILL, and the grace period leaves it " +
                          base::seconds(term_ms) +
                          ": slower workers are killed without its report; see --grace");
}

const FrameworkLauncher& launcher_chosen_by(ChosenBy reason) {
  for (const FrameworkLauncher* launcher : kLaunchers) {
    const auto& reasons = launcher->chosen_by;
    if (std::ranges::find(reasons, reason) != reasons.end()) return *launcher;
  }
  return kSingleLauncher;
}

}  // namespace envgen
