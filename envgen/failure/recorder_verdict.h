#pragma once
// Which rank the others wait for, by what their flight recorders say (recorder_dump.h). A wrong
// name costs more than none: where the dumps allow another reading, no rank is named. Pure.
//
// A rank waits for another one in three cases.
//   - The rank has enqueued a collective that the other member of the group has not enqueued.
//   - The rank is stopped at a send or a receive whose counterpart the other one has not enqueued.
//   - The rank is stopped at an operation that both have enqueued. On the other one, operations in
//     front of it are not finished.
// The verdict names the end of a chain of waits: a rank that others wait for, and that waits for
// none. This rank must have nothing pending, as an operation that all members have entered and none
// has finished says nothing of the cause. A rank without a dump may be the end of a chain, so that
// no rank in front of it is named.
// Three further proofs:
//   - A rank lists an operation as unfinished, although another member has finished a later one of
//     the same group, which needs all members. The rank's device or driver has failed: its events
//     cannot be queried.
//   - In a ring of waits one rank has not entered a collective, and a rank that has entered it has
//     the same operations pending in front of it. These operations did not stop the one rank then.
//   - A rank's first pending operation has not started on its device, although it has started on
//     another member: the device is stopped in something else. Known if TORCH_NCCL_ENABLE_TIMING is
//     set.
// Cost: about the number of ranks times that of their groups and pending operations.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "envgen/failure/recorder_dump.h"

namespace envgen {

struct RecorderVerdict {
  std::vector<int> culprits;  // ranks that the others wait for, ascending; none: not known
  std::vector<int> missing;   // ranks without a dump that others wait for, ascending
  std::size_t waiting = 0;    // ranks with an operation that is not finished
  // "rank 12 has not entered all_to_all 20537 of group EXPERT_MODEL_PARALLEL_GROUP, in which 3
  // ranks wait", within 400 bytes; mismatched collectives and missing dumps too. "" = nothing.
  std::string text;
};

// Judges the dump of each rank that was written last. Ignores damaged dumps, and ranks that are not
// below `world_size` (0: not known).
RecorderVerdict judge_recorder(std::span<const RecorderDump> dumps, int world_size);

}  // namespace envgen
