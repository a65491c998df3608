#pragma once
// The confinement of the calling process: two checklists in a child between fork and exec. Nothing
// in them looks up a name; the only file touched is the one that oom_score_adj is.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

// In this order, because each step takes away what a later one no longer needs: oom_score_adj,
// nice, limits, umask, bounding set, groups, gid, uid (capabilities kept across it), capability
// sets, ambient set. The first failure ends it.
//
// It costs the caller's PR_SET_PDEATHSIG, which the kernel clears with every change of credentials,
// and until the exec its own /proc/self, which root then owns.
envgen::Status drop_privileges(const envgen::Sandbox& sandbox);

// no_new_privs, then the filter, which may forbid everything that comes before the exec: so it is
// the last step. Where the filter was allowed by CAP_SYS_ADMIN, drop_privileges() leaves that until
// the exec, by which the kernel takes it away: nothing but exec may follow.
envgen::Status install_seccomp(const envgen::Sandbox& sandbox);

// Whether these are the supplementary groups of the calling process, in any order.
bool has_groups(std::vector<std::uint32_t> wanted);

}  // namespace sandbox
