#pragma once
// Slurm's compressed host lists: "n[1-3,07],login" means n1 n2 n3 n07 login. Source: Slurm's
// src/common/hostlist.c, as `scontrol show hostnames` prints it.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

// Maximum number of hosts of a list, so that a typing error cannot use up the memory.
inline constexpr std::size_t kMaxHosts = 262144;
base::Result<std::vector<std::string>> expand_nodelist(std::string_view text,
                                                       std::string_view where);

// Expands SLURM_TASKS_PER_NODE and similar variables: "2(x3),1" becomes 2 2 2 1.
base::Result<std::vector<int>> expand_counts(std::string_view text, std::string_view where);

}  // namespace envgen
