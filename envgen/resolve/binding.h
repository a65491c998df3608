#pragma once
// --bind: limits each rank that trainit itself starts to the CPUs near its device.
//
// `numa` gives a rank all CPUs of the NUMA node of its device. `core` divides the physical cores of
// a NUMA node among the ranks whose devices are there. A rank gets only CPUs that this process may
// use (the cpuset of the cgroup). A rank that cannot be bound is unchanged, and a warning gives the
// reason. If it is not known where a device is, `core` divides all usable cores evenly.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Sets Process::cpus and cpus_reason. Each bound rank gets OMP_NUM_THREADS, unless the user has set
// it: the number of its physical cores, divided by the number of ranks that have the same ones.
// Must run after the launcher.
void plan_binding(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
