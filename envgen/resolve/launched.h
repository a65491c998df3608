#pragma once
// Whether a launcher (mpirun, srun, torchrun, ...) has started this trainit once for each of its
// processes. A plan that starts all ranks of a node would then run them several times, and each of
// the jobs would end well and overwrite the others' checkpoints.
//
// A launcher tells each process its number on the node and in the job. The names differ, and their
// shape is the same: OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, PALS_LOCAL_RANKID,
// SLURM_LOCALID, JSM_NAMESPACE_LOCAL_RANK, LOCAL_RANK. A launcher that tells a process its number
// on the node need not be known.

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// An error if several processes of a launcher run on this node, or more in all than the job has
// nodes. For a plan that starts the ranks of its node. None with --platform local, and if the
// launcher's processes are the nodes of the job.
Status check_launched_once(const Inputs& inputs, int node_count, int node_rank);

}  // namespace envgen
