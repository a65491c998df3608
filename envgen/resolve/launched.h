#pragma once
// Detects that a launcher (mpirun, srun, torchrun, ...) has started this trainit once for each of
// its processes. Plans that start all ranks of a node would then start them several times. Each of
// these jobs would succeed and overwrite the others' checkpoints.
//
// A launcher gives each process its number on the node and in the job. The variables' names differ,
// but have the same shape: OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, PALS_LOCAL_RANKID,
// SLURM_LOCALID, JSM_NAMESPACE_LOCAL_RANK, LOCAL_RANK. So unknown launchers are detected too.

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Returns an error if a launcher runs several processes on this node, or more processes in total
// than the job has nodes. Requires a plan that starts the ranks of its node. Returns no error with
// --platform local, or if the launcher's processes are the nodes of the job.
base::Status check_launched_once(const Inputs& inputs, int node_count, int node_rank);

}  // namespace envgen
