#pragma once
// This container's cgroup. The kernel's count of OOM kills (v2 memory.events, v1
// memory.oom_control) is the only trace that an OOM kill leaves inside a container; the CPU quota
// (v2 cpu.max, v1 cpu.cfs_quota_us) limits it to fewer CPUs than it may run on.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sys {

// nullopt where no memory cgroup is visible, or the kernel is too old to count (v1 before 4.13).
// `root` is put before each path: for tests that bring their own tree.
std::optional<std::uint64_t> oom_kills(const std::string& root = "");

// v2's memory.oom.group is 1: an OOM kill takes the whole container along, PID 1 included, and
// nobody is left who could tell. (Kubernetes sets it from 1.28 on.)
bool oom_kills_group(const std::string& root = "");
// What to warn of then; "" where it does not.
std::string oom_group_warning(const std::string& root = "");

// The smallest CPU quota of this cgroup and those above it, as far as they can be seen, in
// hundredths of a CPU; 0 = none.
std::uint64_t cpu_quota(const std::string& root = "");
// Returns how many of `cpus` that quota leaves, in whole ones: at least 1.
std::uint32_t cpus_within_quota(std::uint32_t cpus);

// The files of this container's cgroup that may hold a value of a controller, best first: `v1_file`
// where that controller is mounted by itself, `v2_file` in the unified tree. "" = it has none.
std::vector<std::string> cgroup_files(std::string_view proc_self_cgroup,
                                      std::string_view controller, std::string_view v1_file,
                                      std::string_view v2_file);

// The files that may hold the count, best first, by the text of /proc/self/cgroup. A container sees
// its own cgroup at the root of the mount, whatever path that text has.
std::vector<std::string> oom_files(std::string_view proc_self_cgroup);

// The "oom_kill N" line of either file.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text);

}  // namespace sys
