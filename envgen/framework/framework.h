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

// Why a job gets a launcher that the user has not named.
enum class ChosenBy : unsigned char {
  kNobody,    // no information about its ranks
  kTfConfig,  // the platform set TF_CONFIG for it
  kDevices,   // the nodes have devices of a rank table
  kOwnRank,   // the platform starts each rank itself
  kTorchLauncher,
  kAscendLauncher,  // several nodes and --ascend-launcher
};

struct FrameworkLauncher {
  std::string_view name;
  // Adds directories, files and processes to `plan`. Reads PlatformFacts::command and fills
  // Process::cwd from PlatformFacts::cwd. Also overwrites or unsets RANK, WORLD_SIZE and LOCAL_RANK
  // if they would mislead the processes. A single command keeps these variables, unless the
  // platform started it as a rank.
  base::Status (*launch)(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) = nullptr;
  // Returns the number of ranks of a node by its role, if its devices do not matter. nullptr: the
  // slots.
  int (*ranks_of_role)(std::string_view role) = nullptr;
  bool one_per_node = false;  // one process drives all devices, unless --slots is larger

  std::span<const ChosenBy> chosen_by = {};
  bool only_starts = false;           // runs the user's command unchanged
  bool on_every_node = false;         // each node starts, and can restart, its own ranks
  bool needs_ssh_peers = false;       // one node starts all ranks through the other nodes' sshd
  bool passes_signals = true;         // passes signals to its ranks on other nodes
  bool needs_cann = false;            // runs on Ascend devices
  std::string_view bind_option = {};  // option by which its launcher binds ranks
};

std::span<const FrameworkLauncher* const> framework_launchers();
// Returns the launcher of this name, or an empty one that no job can have.
const FrameworkLauncher& launcher_of(std::string_view name);
const FrameworkLauncher& launcher_chosen_by(ChosenBy reason);

// Warns if the plan starts torchrun, and the chosen grace period is shorter than torchrun's own
// time between TERM and KILL. Every default grace period is shorter, so only a chosen one is
// checked.
void warn_of_torch_agent(const Request& request, Plan& plan);

}  // namespace envgen
