#pragma once
// --bind: binds each rank that trainit itself starts to the CPUs near its device.
//
// `numa` gives a rank all CPUs of the device's NUMA node. `core` divides the node's cores among the
// ranks that share it, by whole physical cores. A rank only gets CPUs that this process may use:
// the cgroup's cpuset. A rank that cannot be bound is unchanged, and a warning gives the reason. If
// the place of a device is not known, `core` divides all usable cores evenly.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Fills Process::cpus and cpus_reason. Gives each bound rank an OMP_NUM_THREADS if the user set
// none: its physical cores, shared with the ranks that have the same ones. Must run after the
// launcher.
void plan_binding(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
