#pragma once
// Node 0's comparison of where all nodes' ranks are. Pure.

#include <span>
#include <string>
#include <vector>

#include "envgen/failure/recorder_dump.h"
#include "lifecycle/coordinator.h"

namespace engine {

// `names`: of the nodes, by rank; may be shorter. `dumps`: of all nodes' ranks, as far as there are
// any. Places that cannot be read are left out.
lifecycle::HangVerdict judge_hang(const std::vector<lifecycle::NodeLook>& looks, bool whole,
                                  const std::vector<std::string>& names,
                                  std::span<const envgen::RecorderDump> dumps);

}  // namespace engine
