#pragma once
// Framework launchers: what each process needs, and what the rest of a plan has to know of a
// framework. One file a launcher, one table; no launcher knows a platform and no platform a
// launcher.

#include <span>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Why a job gets a launcher that nobody has named.
enum class ChosenBy : unsigned char {
  kNobody,    // nothing is known of its ranks
  kTfConfig,  // the platform gave it a TF_CONFIG
  kDevices,   // its nodes have devices of a rank table
  kOwnRank,   // the platform starts each of its ranks
  kTorchLauncher,
  kAscendLauncher,  // it has several nodes, and this option
};

struct FrameworkLauncher {
  std::string_view name;
  // Adds directories, files and processes to `plan`. Reads PlatformFacts::command, fills
  // Process::cwd from PlatformFacts::cwd, and, but for a single command, overwrites or unsets the
  // RANK, WORLD_SIZE and LOCAL_RANK that would mislead its processes.
  Status (*launch)(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) = nullptr;
  // The ranks of a node by its role, where its devices do not count; nullptr: its slots.
  int (*ranks_of_role)(std::string_view role) = nullptr;
  bool one_per_node = false;  // a process drives all devices of its node, unless --slots says more

  std::span<const ChosenBy> chosen_by = {};
  bool only_starts = false;           // the command as it was typed, whatever it is
  bool on_every_node = false;         // each node starts its own ranks, and may do so again
  bool needs_ssh_peers = false;       // one node starts all ranks, over the sshd of the others
  bool passes_signals = true;         // to its ranks on other nodes
  bool needs_cann = false;            // runs on Ascend's devices
  std::string_view bind_option = {};  // of the launcher that it starts, which binds its ranks
};

std::span<const FrameworkLauncher* const> framework_launchers();
// One that no job can have where there is none of this name.
const FrameworkLauncher& launcher_of(std::string_view name);
const FrameworkLauncher& launcher_chosen_by(ChosenBy reason);

// Warns where a grace that was chosen leaves torchrun, which the plan starts, less than its own
// time between TERM and KILL. Every default grace is shorter.
void warn_of_torch_agent(const Request& request, Plan& plan);

}  // namespace envgen
