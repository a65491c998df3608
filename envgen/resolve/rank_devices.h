#pragma once
// Checks the ranks of this node against its accelerators. It finds a number of ranks that was
// guessed although some devices cannot be counted, and a LOCAL_RANK beyond the devices that its
// rank sees. Neither concerns a command that is only started.

#include "base/result.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Returns an error if the plan depends on the number of devices, which is not known
// (Inputs::uncounted). If the devices need not be accelerators, adds a warning instead. Returns no
// error with --slots, or if the command gives the number of its ranks.
base::Status check_counted(const Inputs& inputs, const FrameworkLauncher& launcher,
                           const ResolvedCluster& resolved, Plan& plan);

// Warns of ranks without a device of their own, and of a list of devices that CANN refuses.
void warn_of_devices(Inputs& inputs, const FrameworkLauncher& launcher,
                     const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
