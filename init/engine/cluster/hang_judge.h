#pragma once
// Node 0's comparison of where all nodes' ranks are. Pure.

#include <string>
#include <vector>

#include "lifecycle/nodes.h"

namespace engine {

// `names`: of the nodes, by rank; may be shorter. Places that cannot be read are left out.
lifecycle::HangVerdict judge_hang(const std::vector<lifecycle::NodeLook>& looks, bool whole,
                                  const std::vector<std::string>& names);

}  // namespace engine
