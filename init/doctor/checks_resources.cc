// Checks of what the job shares with others: memory, shared memory, CPUs.

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/sys/cgroup.h"
#include "init/sys/files.h"

namespace doctor {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

constexpr CgroupFile kMemoryLimit = {"memory", "memory.limit_in_bytes", "memory.max"};
constexpr CgroupFile kMemoryUsed = {"memory", "memory.usage_in_bytes", "memory.current"};
constexpr CgroupFile kOomGroup = {"memory", "", "memory.oom.group"};
constexpr CgroupFile kSwapLimit = {"memory", "", "memory.swap.max"};

std::uint64_t kilobytes_in(const std::string& meminfo, std::string_view name) {
  std::string_view text = field_of(meminfo, name);
  return number_in(text.substr(0, text.find(' '))).value_or(0) * 1024;
}

CheckResult memory_left(const Context& context) {
  constexpr std::uint64_t kMaxUsedPercent = 90;
  constexpr std::uint64_t kPercent = 100;
  const std::string meminfo = text_of(context, "/proc/meminfo");
  const std::uint64_t total = kilobytes_in(meminfo, "MemTotal");
  const std::uint64_t available = kilobytes_in(meminfo, "MemAvailable");
  const auto limit = cgroup_limit(context, kMemoryLimit);
  if (!limit && total == 0) return skipped("neither a cgroup nor /proc/meminfo tells");
  const bool limited = limit && (total == 0 || *limit < total);
  const std::uint64_t most = limited ? *limit : total;
  const std::uint64_t used =
      limited ? cgroup_limit(context, kMemoryUsed).value_or(0) : total - std::min(available, total);
  std::string found = size_text(most) + (limited ? " for the container, " : " of the machine, ") +
                      size_text(used) + " used";
  const auto swap = cgroup_limit(context, kSwapLimit);
  if (swap && *swap == 0) found += ", no swap";
  const auto ranks = static_cast<std::uint64_t>(std::max(context.ranks, 1));
  if (most / ranks < kGiB) {
    return warning(found + ": less than 1 GiB for " +
                       (ranks == 1 ? "the job" : "each of " + count_text(ranks, "rank")),
                   "give the container more memory, or start fewer ranks");
  }
  if (used > most / kPercent * kMaxUsedPercent) {
    return warning(found, "see what else uses it: the next process to ask may be killed");
  }
  return ok(found);
}

}  // namespace

Results check_shm(const Context& context) {
  const std::string path = "/dev/shm";
  const std::string more =
      "start the container with --shm-size 16g or more, or --ipc=host; in Kubernetes mount an "
      "emptyDir with medium: Memory at /dev/shm";
  struct statvfs space{};
  if (::statvfs((context.root + path).c_str(), &space) != 0) {
    return {failed("it cannot be used: " + sys::errno_text(errno), more, path)};
  }
  const std::uint64_t unit = space.f_frsize;
  const std::uint64_t total = unit * space.f_blocks;
  const std::uint64_t free = unit * space.f_bavail;
  const std::string found = size_text(total) + ", " + size_text(free) + " free";
  if (::access((context.root + path).c_str(), W_OK | X_OK) != 0) {
    return {failed("it cannot be written: " + sys::errno_text(errno), more, path)};
  }
  constexpr std::uint64_t kDefault = 64ULL << 20;
  const char* why =
      ": data loaders and NCCL share buffers there, and a process that finds it full dies of "
      "SIGBUS";
  if (total == kDefault) {
    return {warning(found + ", the default of container runtimes" + why, more, path)};
  }
  if (total < kGiB) return {warning(found + why, more, path)};
  constexpr std::uint64_t kMinFreePart = 10;
  if (free < total / kMinFreePart) {
    return {
        warning(found + why, "remove what earlier processes have left there, or " + more, path)};
  }
  return {ok(found, path)};
}

Results check_memory(const Context& context) {
  Results results = {memory_left(context)};
  if (cgroup_text(context, kOomGroup) == "1") {
    results.push_back(warning(
        "1: when one process is out of memory the kernel kills all of the container, trainit "
        "with them, so that nothing is left to say why",
        "set memory.oom.group to 0; in Kubernetes set the kubelet's singleProcessOOMKill: true",
        "memory.oom.group"));
  }
  return results;
}

Results check_cpu(const Context& context) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // sched_getaffinity fails if the machine has more than 1024 CPUs.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    return {skipped("the CPUs cannot be counted: " + sys::errno_text(errno))};
  }
  constexpr std::uint64_t kHundredths = 100;
  const auto cpus = static_cast<std::uint64_t>(CPU_COUNT(&set));
  const std::uint64_t quota = sys::cpu_quota(context.root);
  std::string found = count_text(cpus, "CPU");
  if (quota > 0) {
    found += ", a quota of " + std::to_string(quota / kHundredths) + "." +
             std::to_string(quota / 10 % 10);
  }
  const std::uint64_t usable =
      quota > 0 ? std::min(cpus, (quota + kHundredths - 1) / kHundredths) : cpus;
  const auto ranks = static_cast<std::uint64_t>(std::max(context.ranks, 1));
  if (usable < ranks) {
    return {warning(found + " for " + count_text(ranks, "rank"),
                    "give the container more CPUs, or start fewer ranks")};
  }
  if (quota > 0 && usable * 2 <= cpus && context.env.get_or("OMP_NUM_THREADS", "").empty()) {
    return {warning(found + ": thread pools are as large as the CPUs that are seen, and are "
                            "throttled by the quota",
                    "set OMP_NUM_THREADS=" + std::to_string(std::max(usable / ranks, 1UL)) +
                        ", or give whole CPUs (a cpuset) instead of a quota")};
  }
  return {ok(found)};
}

}  // namespace doctor
