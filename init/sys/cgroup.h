#pragma once
// The cgroup of this container: its OOM kills and its CPU quota. The kernel's count of OOM kills
// (v2 memory.events, v1 memory.oom_control) is the only trace that an OOM kill leaves inside a
// container. The CPU quota (v2 cpu.max, v1 cpu.cfs_quota_us) limits the container to fewer CPUs
// than it may run on.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sys {

// Returns the number of OOM kills. Returns nullopt if no memory cgroup is visible, or the kernel is
// too old to count (v1 before 4.13). `root` is put before each path, for tests.
std::optional<std::uint64_t> oom_kills(const std::string& root = "");

// Returns true if memory.oom.group (v2) is 1. An OOM kill then ends the whole container, including
// PID 1, so no process can report it. (Kubernetes sets it from 1.28 on.)
bool oom_kills_group(const std::string& root = "");
// Returns a warning if oom_kills_group() is true, otherwise "".
std::string oom_group_warning(const std::string& root = "");

// Returns the smallest CPU quota of this cgroup and its visible ancestors, in hundredths of a CPU,
// or 0 without a quota.
std::uint64_t cpu_quota(const std::string& root = "");
// Returns how many of `cpus` CPUs the quota allows to use at once: at least 1.
std::uint32_t cpus_within_quota(std::uint32_t cpus);

// Returns the paths where a value of this container's cgroup may be, the best one first. `v1_file`
// is its name in a controller with its own mount, `v2_file` that in the unified tree. A name of ""
// means that the version has no such file.
std::vector<std::string> cgroup_files(std::string_view proc_self_cgroup,
                                      std::string_view controller, std::string_view v1_file,
                                      std::string_view v2_file);

// Returns the paths of files that may contain the number of OOM kills, the best one first.
// `proc_self_cgroup` is the text of /proc/self/cgroup. A container sees its own cgroup at the root
// of the mount, whatever path that text contains.
std::vector<std::string> oom_files(std::string_view proc_self_cgroup);

// Returns the number in the line "oom_kill N" of either version's file; nullopt if the line is
// missing.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text);

}  // namespace sys
