#pragma once
// --bind: the CPUs of each rank that trainit starts by itself, those near its device.
//
// numa: all of the device's NUMA node; core: its cores divided among the ranks that share them, by
// whole physical cores. Always within what this process may use, which is the cgroup's cpuset. A
// rank that cannot be bound for a reason stays as it is, and a warning says why. Where a device's
// place is not known, `core` divides all usable cores evenly.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Fills Process::cpus and cpus_reason, and gives each bound rank an OMP_NUM_THREADS where the user
// has none: its physical cores, shared with those who have the same. Behind the launcher.
void plan_binding(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
