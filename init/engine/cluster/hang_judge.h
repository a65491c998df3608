#pragma once
// Node 0's comparison of the places where the ranks of all nodes are. Pure.

#include <span>
#include <string>
#include <vector>

#include "envgen/failure/recorder_dump.h"
#include "lifecycle/coordinator.h"

namespace engine {

// Compares the places in `looks`, and leaves out those that cannot be read. `whole`: every node has
// sent its places. `names` are the nodes', by rank, and may be fewer. `dumps` are those of all
// nodes' ranks, if a rank has any.
lifecycle::HangVerdict judge_hang(const std::vector<lifecycle::NodeLook>& looks, bool whole,
                                  const std::vector<std::string>& names,
                                  std::span<const envgen::RecorderDump> dumps);

}  // namespace engine
