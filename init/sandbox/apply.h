#pragma once
// Applies a sandbox to the calling process: two checklists that run in a child between fork and
// exec. They look up no name, and the only file that they write is oom_score_adj.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

// Applies all of the sandbox except the filter. Returns the first failure. The order is fixed,
// because each step removes rights that later steps no longer need:
//  no_new_privs, PR_SET_DUMPABLE, oom_score_adj, nice, limits, umask, bounding set, groups, gid,
//  uid (capabilities kept across it), capability sets, ambient set
//
// From the start to the exec, no process of the new user can trace the calling process, and its
// /proc/self belongs to root. The kernel clears PR_SET_PDEATHSIG at each change of credentials.
base::Status drop_privileges(const envgen::Sandbox& sandbox);

// Installs the filter. Only exec may follow, because the filter may forbid everything else. If the
// filter is allowed because of CAP_SYS_ADMIN, drop_privileges() keeps that capability, and the
// kernel removes it at the exec.
base::Status install_seccomp(const envgen::Sandbox& sandbox);

// Returns the supplementary groups of the calling process; an empty list if the kernel does not
// report them.
std::vector<std::uint32_t> present_groups();
// Returns true if the process has no supplementary groups and `wanted` contains only its own gid:
// both give the same access. Docker gives no groups to a user that is named by a number.
bool counts_as_groups(const std::vector<std::uint32_t>& wanted);
// Returns true if the calling process has exactly the supplementary groups `wanted`, in any order.
bool has_groups(std::vector<std::uint32_t> wanted);

}  // namespace sandbox
