#pragma once
// Decides which rank the other ranks wait for, by comparing the dumps of their flight recorders
// (recorder_dump.h). A wrong name is worse than no name: if the dumps have a second explanation, no
// rank is named. Pure.
//
// A rank waits for another rank in three cases.
// - The rank has enqueued a collective that the other member of the group has not enqueued.
// - The rank is stopped at a send or a receive whose counterpart the other rank has not enqueued.
// - The rank is stopped at an operation that both have enqueued, but the other rank has not
//   finished
// earlier operations.
//
// The verdict names the end of a chain of waits: a rank that others wait for, and that waits for no
// rank. This rank must have nothing pending, because an operation that all members have entered and
// none has finished does not show the cause. A rank without a dump may be the end of a chain, so no
// rank before it in the chain is named.
//
// Three further proofs are used.
// - A rank lists an operation as unfinished, but another member has finished a later one of the
//   same
// group, which needs all members. The rank's device or driver has failed: its events cannot be
// queried.
// - Ranks wait for each other in a ring, and one of them has not entered a collective. Another rank
// that has entered it has the same earlier operations pending. So these operations are not what
// stops the first rank.
// - A rank's first pending operation has started on another member, but not on the rank's own
//   device.
// That device is stopped in a different operation. Known only if TORCH_NCCL_ENABLE_TIMING is set.
//
// Cost: about the number of ranks times that of their groups and pending operations.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "envgen/failure/recorder_dump.h"

namespace envgen {

struct RecorderVerdict {
  std::vector<int> culprits;  // ranks that the others wait for, ascending; empty: not known
  std::vector<int> missing;   // ranks without a dump that others wait for, ascending
  std::size_t waiting = 0;    // number of ranks with an unfinished operation
  // A sentence for people: "rank 12 has not entered all_to_all 20537 of group
  // EXPERT_MODEL_PARALLEL_GROUP, in which 3 ranks wait". It also names collectives that do not
  // match, and missing dumps. At most 400 bytes; "": nothing to report.
  std::string text;
};

// Judges the latest dump of each rank. Ignores damaged dumps, and ranks that are not below
// `world_size` (0: not known).
RecorderVerdict judge_recorder(std::span<const RecorderDump> dumps, int world_size);

}  // namespace envgen
