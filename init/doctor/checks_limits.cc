// Checks of the kernel's limits for a process or a container: locked memory, open files, processes.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "init/doctor/checks.h"
#include "init/doctor/machine.h"

namespace doctor {
namespace {

struct Limit {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

constexpr std::uint64_t kInfinite = ~0ULL;

// Returns the job's limit: that of --rlimit, otherwise trainit's own.
Limit limit_of(const Context& context, int resource) {
  const auto given = std::ranges::find(context.limits, resource, &envgen::ResourceLimit::resource);
  if (given != context.limits.end()) return {given->soft, given->hard};
  rlimit own{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &own);
  return {own.rlim_cur, own.rlim_max};
}

std::string size_or_unlimited(std::uint64_t bytes) {
  return bytes == kInfinite ? "unlimited" : size_text(bytes);
}

std::string number_or_unlimited(std::uint64_t number) {
  return number == kInfinite ? "unlimited" : std::to_string(number);
}

bool has_capability(const Context& context, unsigned number) {
  const std::string status = text_of(context, "/proc/self/status");
  const std::string_view hex = field_of(status, "CapEff");
  const std::size_t digit = number / 4;
  if (digit >= hex.size()) return false;
  const char c = hex[hex.size() - 1 - digit];
  const unsigned value =
      c >= 'a' ? static_cast<unsigned>(c - 'a') + 10U : static_cast<unsigned>(c - '0');
  return ((value >> (number % 4)) & 1U) != 0;
}

}  // namespace

Results check_memlock(const Context& context) {
  constexpr std::uint64_t kEnough = 1ULL << 30;
  constexpr unsigned kIpcLock = 14;
  const Limit limit = limit_of(context, RLIMIT_MEMLOCK);
  const std::string found = size_or_unlimited(limit.soft);
  if (limit.soft >= kEnough) return {ok(found)};
  if (has_capability(context, kIpcLock)) return {ok(found + ", and CAP_IPC_LOCK lifts it")};
  const auto names = names_in(context, "/dev/infiniband");
  const bool rdma = std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with("uverbs"); });
  if (!rdma) return {ok(found + "; there is no RDMA device that would need more")};
  return {failed(found + ", and RDMA registers all its buffers as locked memory",
                 "start the container with --ulimit memlock=-1, or with the capability IPC_LOCK; "
                 "in Kubernetes raise LimitMEMLOCK of containerd's or docker's service")};
}

Results check_nofile(const Context& context) {
  constexpr std::uint64_t kEnough = 4096;
  const Limit limit = limit_of(context, RLIMIT_NOFILE);
  const std::string found = number_or_unlimited(limit.soft);
  if (limit.soft >= kEnough) return {ok(found)};
  const std::string more = number_or_unlimited(std::min<std::uint64_t>(limit.hard, 1U << 20U));
  return {warning(found + ": a data loader's worker needs one for each file, socket and tensor "
                          "that it shares",
                  limit.hard >= kEnough
                      ? "give --rlimit nofile=" + more + ", which the hard limit allows"
                      : "start the container with --ulimit nofile=1048576")};
}

Results check_pids(const Context& context) {
  // Number of tasks that a rank needs, with its threads: those of the framework's pools, and data
  // loaders with their threads.
  constexpr std::uint64_t kTasksOfRank = 256;
  constexpr std::uint64_t kMinOfRank = 32;
  const auto most = cgroup_limit(context, {"pids", "pids.max", "pids.max"});
  const Limit user = limit_of(context, RLIMIT_NPROC);
  std::uint64_t limit = most.value_or(kInfinite);
  std::string name = "pids.max";
  constexpr unsigned kSysAdmin = 21;
  constexpr unsigned kSysResource = 24;
  const bool exempt = ::geteuid() == 0 || has_capability(context, kSysAdmin) ||
                      has_capability(context, kSysResource);
  if (user.soft < limit && !exempt) {
    limit = user.soft;
    name = "nproc";
  }
  if (limit == kInfinite) return {ok("unlimited")};
  const std::uint64_t used = context.tasks;  // excludes the tasks of the checks
  const std::uint64_t left = limit > used ? limit - used : 0;
  const auto ranks = static_cast<std::uint64_t>(std::max(context.ranks, 1));
  const std::string found = name + " " + std::to_string(limit) + ", " + std::to_string(left) +
                            " left for " + count_text(ranks, "rank");
  const char* fix =
      "start the container with a higher --pids-limit; in Kubernetes raise the kubelet's "
      "podPidsLimit";
  // A running job has already started its tasks.
  const bool runs = context.occasion == Occasion::kMonitor;
  if (left < ranks * kMinOfRank) return {runs ? warning(found, fix) : failed(found, fix)};
  if (left < ranks * kTasksOfRank && !runs) return {warning(found, fix)};
  return {ok(found)};
}

}  // namespace doctor
