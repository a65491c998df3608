#pragma once
// The confinement of the calling process: two checklists in a child between fork and exec. Nothing
// in them looks up a name; the only file touched is the one that oom_score_adj is.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

// In this order, because each step takes away what a later one no longer needs: no_new_privs,
// PR_SET_DUMPABLE, oom_score_adj, nice, limits, umask, bounding set, groups, gid, uid (capabilities
// kept across it), capability sets, ambient set. The first failure ends it.
//
// From its start to the exec no process of the new user can trace the caller, whose own /proc/self
// is root's. The kernel clears the caller's PR_SET_PDEATHSIG with every change of credentials.
envgen::Status drop_privileges(const envgen::Sandbox& sandbox);

// The last step: the filter may forbid everything that comes before the exec. Where the filter was
// allowed by CAP_SYS_ADMIN, drop_privileges() leaves that until the exec, by which the kernel takes
// it away: nothing but exec may follow.
envgen::Status install_seccomp(const envgen::Sandbox& sandbox);

// The supplementary groups of the calling process; none where the kernel does not say.
std::vector<std::uint32_t> present_groups();
// Returns whether the process has no supplementary groups and `wanted` is only its own gid: the
// kernel grants the same access for both. Docker gives no groups to a user by number.
bool counts_as_groups(const std::vector<std::uint32_t>& wanted);
// Whether these are the supplementary groups of the calling process, in any order.
bool has_groups(std::vector<std::uint32_t> wanted);

}  // namespace sandbox
