#pragma once
// Node 0's comparison of the places where the ranks of all nodes are. Pure.

#include <span>
#include <string>
#include <vector>

#include "envgen/failure/recorder_dump.h"
#include "lifecycle/coordinator.h"

namespace engine {

// Returns the ranks that the others wait for, by the places in `looks`. Leaves out places that
// cannot be decoded. `whole`: every node has sent its places. `names`: the nodes' names by rank,
// perhaps fewer. `dumps`: the flight recorder dumps of all nodes' ranks, as far as there are any.
lifecycle::HangVerdict judge_hang(const std::vector<lifecycle::NodeLook>& looks, bool whole,
                                  const std::vector<std::string>& names,
                                  std::span<const envgen::RecorderDump> dumps);

}  // namespace engine
