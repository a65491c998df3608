#pragma once
// What the kernel tells about a process, by its pid as seen from here.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// The number after `name`, in a file such as /proc/PID/status; 0 where there is none.
std::int64_t field_of(const std::string& path, const std::string& name);

std::string proc_path(pid_t pid, const std::string& file);
double cpu_us(pid_t pid);  // precise, where utime and stime count ticks
std::int64_t context_switches(pid_t pid);
std::vector<pid_t> children_of(pid_t pid);
char state_of(pid_t pid);              // 'Z' is a zombie; 0: it is gone
std::int64_t minor_faults(pid_t pid);  // also of a zombie; not its children's

}  // namespace bench
