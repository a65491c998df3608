#pragma once
// Framework launchers: what each process needs. One file a launcher, one table; no launcher knows a
// platform and no platform a launcher.

#include <span>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/site.h"

namespace envgen {

struct FrameworkLauncher {
  std::string_view name;
  // Adds directories, files and processes to `plan`.
  Status (*launch)(Inputs& inputs, const Located& located, Plan& plan);
  // The ranks of a node by its role, where its devices do not count; nullptr: its slots.
  int (*ranks_of_role)(std::string_view role) = nullptr;
};

std::span<const FrameworkLauncher> framework_launchers();

// Each launcher reads Site::command, fills Process::cwd from Site::cwd, and, but for a single
// command, overwrites or unsets the RANK, WORLD_SIZE and LOCAL_RANK that would mislead its
// processes.

// The command with its environment as it is: whoever set RANK for it may have meant it. Where the
// platform started it as one of several ranks (Site::own_rank), a RANK of the image is unset: its
// MPI library asks the platform's PMI.
Status launch_single(Inputs& inputs, const Located& located, Plan& plan);
// One process per Ascend device of this node.
Status launch_ascend(Inputs& inputs, const Located& located, Plan& plan);
Status launch_pytorch(Inputs& inputs, const Located& located, Plan& plan);
Status launch_deepspeed(Inputs& inputs, const Located& located, Plan& plan);
Status launch_tensorflow(Inputs& inputs, const Located& located, Plan& plan);
// Both start mpirun; horovod with the flags that Horovod's own launcher gives it.
Status launch_mpi(Inputs& inputs, const Located& located, Plan& plan);
Status launch_horovod(Inputs& inputs, const Located& located, Plan& plan);

}  // namespace envgen
