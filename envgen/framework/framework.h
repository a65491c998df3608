#pragma once
// The interface of framework launchers: what each process needs, and what the rest of the plan must
// know about a framework. Each launcher has its own file and a row in one table. Launchers do not
// depend on platforms, nor platforms on launchers.

#include <span>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Why a job gets a framework's launcher although the user has not named it.
enum class ChosenBy : unsigned char {
  kNobody,    // no reason: nothing is known about the job's ranks
  kTfConfig,  // the platform has set TF_CONFIG
  kDevices,   // the nodes have devices of a rank table
  kOwnRank,   // the platform itself starts each rank
  kTorchLauncher,
  kAscendLauncher,  // the job has several nodes and --ascend-launcher
};

struct FrameworkLauncher {
  std::string_view name;
  // Adds directories, files and processes to `plan`. Takes the command and the working directory
  // from PlatformFacts. Overwrites or unsets RANK, WORLD_SIZE and LOCAL_RANK where inherited values
  // would mislead the processes. The process of a single command keeps them, unless the platform
  // started it as a rank.
  base::Status (*launch)(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) = nullptr;
  // Returns the number of ranks of a node with this role, for a framework in which devices do not
  // matter. nullptr: a node has as many ranks as slots.
  int (*ranks_of_role)(std::string_view role) = nullptr;
  bool one_per_node = false;  // one process drives all devices, unless --slots is larger

  std::span<const ChosenBy> chosen_by = {};
  bool only_starts = false;           // only starts the user's command, unchanged
  bool on_every_node = false;         // each node starts, and can restart, its own ranks
  bool needs_ssh_peers = false;       // one node starts the ranks of all nodes, through their sshd
  bool passes_signals = true;         // the launcher passes signals to its ranks on other nodes
  bool needs_cann = false;            // runs on Ascend devices
  std::string_view bind_option = {};  // the launcher's own option that binds ranks to CPUs; "":
                                      // none
};

std::span<const FrameworkLauncher* const> framework_launchers();
// Returns the launcher of the framework `name`, or one without functions if there is no such
// framework.
const FrameworkLauncher& launcher_of(std::string_view name);
const FrameworkLauncher& launcher_chosen_by(ChosenBy reason);

// Warns if the plan starts torchrun and the user has chosen a grace period that is shorter than
// torchrun's own time between TERM and KILL. Default grace periods are not checked, because all of
// them are shorter.
void warn_of_torch_agent(const Request& request, Plan& plan);

}  // namespace envgen
