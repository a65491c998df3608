#pragma once
// The ranks of this node against its accelerators: whether their number was guessed although there
// are devices that cannot be counted, and whether a rank's LOCAL_RANK is beyond what it sees.
// Neither concerns a command that is only started.

#include "base/result.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// An error where the plan depends on the number of devices and that is a question
// (Inputs::uncounted), a warning where they need not be accelerators. None with --slots, or where
// the command says how many ranks it starts.
Status check_counted(const Inputs& inputs, const FrameworkLauncher& launcher,
                     const ResolvedCluster& resolved, Plan& plan);

// Warns of ranks without a device of their own, and of a list of devices that CANN refuses.
void warn_of_devices(Inputs& inputs, const FrameworkLauncher& launcher,
                     const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
