#pragma once
// Compares the ranks of this node with its accelerators. Detects a number of ranks that was
// guessed, although some devices cannot be counted. Also detects a LOCAL_RANK that is too high for
// the devices that its rank sees. Does not apply to a command that trainit only starts.

#include "base/result.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Returns an error if the plan depends on the number of devices and that number is not known
// (Inputs::uncounted). If the devices may be no accelerators, adds a warning instead. Returns no
// error with --slots, or if the command itself gives the number of its ranks.
base::Status check_counted(const Inputs& inputs, const FrameworkLauncher& launcher,
                           const ResolvedCluster& resolved, Plan& plan);

// Returns whether a flag of the launcher in the command gives its number of ranks.
bool gives_ranks(const ParsedCommand& command);

// Warns if --slots is not the number of ranks that the launcher in the command starts on this node.
void warn_of_slots(const Inputs& inputs, const FrameworkLauncher& launcher,
                   const ResolvedCluster& resolved, Plan& plan);

// Adds warnings about ranks that have no device of their own, and about a list of devices that CANN
// refuses.
void warn_of_devices(Inputs& inputs, const FrameworkLauncher& launcher,
                     const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
