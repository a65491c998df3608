#include "init/sys/cgroup.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "init/sys/path_state.h"

namespace sys {
namespace {

constexpr std::uint64_t kHundredths = 100;  // parts of one CPU
constexpr std::string_view kMount = "/sys/fs/cgroup";

bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    if (base::take_part(list, ',') == name) return true;
  }
  return false;
}

// Adds `file` in the directory `path` and at the root of the mount. A path with "/.." is a cgroup
// outside of this cgroup namespace, and does not exist in the mount.
void add_files(std::string_view mount, std::string_view path, std::string_view file,
               std::vector<std::string>* files) {
  const std::string prefix(mount);
  if (path != "/" && path.find("/..") == std::string_view::npos) {
    files->push_back(prefix + std::string(path) + "/" + std::string(file));
  }
  files->push_back(prefix + "/" + std::string(file));
}

// Returns the quota in the directory `group`, in hundredths of a CPU, or 0 without a quota. Reads
// "200000 100000" of v2, or the two files of v1 ("-1": no quota).
std::uint64_t quota_in(const std::string& group, std::string_view file) {
  const std::string text = kernel_text(group + "/" + std::string(file));
  std::string_view rest = text;
  const auto quota = base::parse_number<std::uint64_t>(base::take_word(rest));
  std::string period_text(base::take_word(rest));
  if (period_text.empty()) period_text = kernel_text(group + "/cpu.cfs_period_us");
  const auto period = base::parse_number<std::uint64_t>(base::trimmed(period_text));
  if (!quota || !period || *period == 0) return 0;
  return std::max<std::uint64_t>(*quota * kHundredths / *period, 1);
}

}  // namespace

std::uint64_t cpu_quota(const std::string& root) {
  const std::string groups = kernel_text(root + "/proc/self/cgroup");
  std::uint64_t least = 0;
  for (std::string path : cgroup_files(groups, "cpu", "cpu.cfs_quota_us", "cpu.max")) {
    const std::string file = path.substr(path.rfind('/') + 1);
    path.erase(path.rfind('/'));
    for (; path.size() >= kMount.size(); path.erase(path.rfind('/'))) {
      const std::uint64_t quota = quota_in(root + path, file);
      if (quota > 0 && (least == 0 || quota < least)) least = quota;
    }
  }
  return least;
}

std::uint32_t cpus_within_quota(std::uint32_t cpus) {
  const std::uint64_t quota = cpu_quota();
  if (quota == 0) return cpus;
  const std::uint64_t whole = std::max<std::uint64_t>(quota / kHundredths, 1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(cpus, whole));
}

std::vector<std::string> cgroup_files(std::string_view proc_self_cgroup,
                                      std::string_view controller, std::string_view v1_file,
                                      std::string_view v2_file) {
  std::vector<std::string> v1;
  std::vector<std::string> v2;
  while (!proc_self_cgroup.empty()) {
    const std::string_view line = base::take_line(proc_self_cgroup);
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (has_controller(controllers, controller)) {
      const std::string mount = std::string(kMount) + "/" + std::string(controller);
      if (!v1_file.empty()) add_files(mount, path, v1_file, &v1);
    } else if (controllers.empty() && !v2_file.empty()) {
      add_files(kMount, path, v2_file, &v2);
    }
  }
  // If both versions are mounted, the files of v1 come first: if v1 has the controller, the values
  // are there.
  v1.insert(v1.end(), v2.begin(), v2.end());
  return v1;
}

std::vector<std::string> oom_files(std::string_view proc_self_cgroup) {
  return cgroup_files(proc_self_cgroup, "memory", "memory.oom_control", "memory.events");
}

std::optional<std::uint64_t> parse_oom_kills(std::string_view text) {
  constexpr std::string_view kKey = "oom_kill ";
  while (!text.empty()) {
    const std::string_view line = base::take_line(text);
    if (!line.starts_with(kKey)) continue;
    const auto count = base::parse_number<std::uint64_t>(line.substr(kKey.size()));
    if (count) return count;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> oom_kills(const std::string& root) {
  const std::string groups = kernel_text(root + "/proc/self/cgroup");
  std::vector<std::string> files = oom_files(groups);
  // memory.events.local counts only kills in this cgroup itself; memory.events also counts those in
  // cgroups below it.
  for (std::string& file : cgroup_files(groups, "memory", "", "memory.events.local")) {
    files.push_back(std::move(file));
  }
  for (const std::string& file : files) {
    if (const auto count = parse_oom_kills(kernel_text(root + file))) return count;
  }
  return std::nullopt;
}

bool oom_kills_group(const std::string& root) {
  const std::string groups = kernel_text(root + "/proc/self/cgroup");
  const auto files = cgroup_files(groups, "memory", "", "memory.oom.group");
  return std::ranges::any_of(files, [&root](const std::string& file) {
    return kernel_text(root + file).starts_with('1');
  });
}

std::string oom_group_warning(const std::string& root) {
  if (!oom_kills_group(root)) return "";
  return "memory.oom.group is 1: when memory runs out, the kernel kills the whole container with "
         "trainit in it, and nobody can tell what failed first; set it to 0 (Kubernetes: the "
         "kubelet's singleProcessOOMKill: true)";
}

}  // namespace sys
