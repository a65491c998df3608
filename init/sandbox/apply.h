#pragma once
// The confinement of the calling process: two checklists that run in a child between fork and exec.
// The checklists look up no name, and the only file that they touch is oom_score_adj.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

// Applies all of the sandbox except the filter. Returns the first failure. The order is fixed,
// because each step removes what later steps no longer need:
//   no_new_privs, PR_SET_DUMPABLE, oom_score_adj, nice, limits, umask, bounding set, groups, gid,
//   uid (capabilities kept across it), capability sets, ambient set
//
// No process of the new user can trace the caller from its start to the exec, and the caller's own
// /proc/self belongs to root. The kernel clears the caller's PR_SET_PDEATHSIG at each change of
// credentials.
base::Status drop_privileges(const envgen::Sandbox& sandbox);

// Installs the filter, as the last step: the filter may forbid everything that comes before the
// exec, so only exec may follow. If CAP_SYS_ADMIN allows the filter, drop_privileges() keeps that
// capability, and the kernel removes it at the exec.
base::Status install_seccomp(const envgen::Sandbox& sandbox);

// Returns the supplementary groups of the calling process; empty if the kernel does not report
// them.
std::vector<std::uint32_t> present_groups();
// Returns whether the process has no supplementary groups and `wanted` is only its own gid: the
// kernel grants the same access for both. Docker gives no groups to a user by number.
bool counts_as_groups(const std::vector<std::uint32_t>& wanted);
// Returns whether these are the supplementary groups of the calling process, in any order.
bool has_groups(std::vector<std::uint32_t> wanted);

}  // namespace sandbox
