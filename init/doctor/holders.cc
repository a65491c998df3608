#include "init/doctor/holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/doctor/npu_smi.h"
#include "init/doctor/nvidia_smi.h"
#include "init/proc/tree.h"
#include "init/sys/fd.h"

namespace doctor {
namespace {

using Device = envgen::DeviceWait::Device;

// A process with the devices that it holds.
struct Holder {
  std::string process;  // "pid 12 (python)"
  std::vector<std::string> devices;
};

std::string process_text(int pid, std::string_view name) {
  const std::string number = pid > 0 ? "pid " + std::to_string(pid) : "a process";
  return name.empty() ? number : number + " (" + std::string(name) + ")";
}

void add(std::vector<Holder>& holders, const std::string& process, const std::string& device) {
  auto holder = std::ranges::find(holders, process, &Holder::process);
  if (holder == holders.end()) holder = holders.insert(holders.end(), {process, {}});
  if (std::ranges::find(holder->devices, device) == holder->devices.end()) {
    holder->devices.push_back(device);
  }
}

// Calls `take` for each name in a directory. An unreadable directory has no names.
void for_each_name(const std::string& path, const std::function<void(int, const char*)>& take) {
  const sys::Dir directory(::opendir(path.c_str()));
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get())) {
    take(::dirfd(directory.get()), entry->d_name);
  }
}

// Returns the devices that the process has open. Only reads the text of each link, because
// following a link into a dead mount can hang.
std::set<std::string> open_devices(const std::string& process, std::span<const Device> devices) {
  std::set<std::string> open;
  for_each_name(process + "/fd", [&](int directory, const char* name) {
    std::array<char, PATH_MAX> bytes;
    const ssize_t size = ::readlinkat(directory, name, bytes.data(), bytes.size());
    if (size <= 0) return;
    std::string_view target(bytes.data(), static_cast<std::size_t>(size));
    constexpr std::string_view kDeleted = " (deleted)";
    if (target.ends_with(kDeleted)) target.remove_suffix(kDeleted.size());
    const auto same = std::ranges::find(devices, target, &Device::path);
    if (same != devices.end()) open.insert(same->path);
  });
  return open;
}

// Returns the holders that /proc shows. `older` gets the pids of holders that began before `since`.
std::vector<Holder> holders_in_proc(const Context& context, std::span<const Device> devices,
                                    std::uint64_t since, std::set<int>& older) {
  std::set<int> pids;
  for_each_name(context.root + "/proc", [&pids](int /*directory*/, const char* name) {
    if (const auto pid = base::parse_count<int>(name)) pids.insert(*pid);
  });
  std::vector<Holder> holders;
  for (const int pid : pids) {
    const std::string process = "/proc/" + std::to_string(pid);
    const std::set<std::string> open = open_devices(context.root + process, devices);
    if (open.empty()) continue;
    const auto member = proc::parse_member(text_of(context, process + "/stat"));
    if (member && member->start < since) {
      older.insert(pid);
      continue;
    }
    const std::string text = process_text(pid, text_of(context, process + "/comm"));
    holders.push_back({text, {open.begin(), open.end()}});
  }
  return holders;
}

bool has_any(std::span<const Device> devices, std::string_view prefix) {
  return std::ranges::any_of(
      devices, [prefix](const Device& device) { return device.path.starts_with(prefix); });
}

// Returns the text for a process that a tool has named. Its pid is in the host's numbering, so here
// the same number can mean a different process.
std::string process_of_tool(int pid, std::string_view name, const std::string& tool) {
  constexpr std::size_t kMaxOfName = 80;
  std::string text(name.substr(0, kMaxOfName));
  if (!text.empty()) text += ", ";
  return process_text(pid, text + "says " + tool);
}

// Adds the failures of a tool. A tool that does not exist is not a failure.
void note_trouble(const Results& trouble, Results& results) {
  for (const CheckResult& one : trouble) {
    if (one.verdict == CheckStatus::kFailed) results.push_back(one);
  }
}

void ask_npu_smi(const Context& context, std::span<const Device> devices,
                 const std::set<int>& older, std::vector<Holder>& holders, Results& results) {
  if (!has_any(devices, "/dev/davinci")) return;
  Results trouble;
  const std::string output = run_tool(context, {"npu-smi", "info"}, trouble);
  if (!trouble.empty()) return note_trouble(trouble, results);
  const auto report = parse_npu_smi(output, "npu-smi info");
  if (!report) return results.push_back(failed(to_line(report.error()), "see npu-smi info"));
  for (const NpuProcess& one : report->processes) {
    const auto chip = std::ranges::find_if(report->chips, [&one](const NpuChip& each) {
      return each.npu == one.npu && each.chip == one.chip;
    });
    const int number = chip == report->chips.end() ? one.npu : chip->device;
    const std::string path = "/dev/davinci" + std::to_string(number);
    const bool ours = std::ranges::find(devices, path, &Device::path) != devices.end();
    if (ours && !older.contains(one.pid)) {
      add(holders, process_of_tool(one.pid, one.name, "npu-smi"), path);
    }
  }
}

void ask_nvidia_smi(const Context& context, std::span<const Device> devices,
                    const std::set<int>& older, std::vector<Holder>& holders, Results& results) {
  constexpr const char* kQuery = "--query-compute-apps=gpu_bus_id,pid,process_name";
  if (!has_any(devices, "/dev/nvidia")) return;
  Results trouble;
  const std::string output =
      run_tool(context, {"nvidia-smi", kQuery, "--format=csv,noheader"}, trouble);
  if (!trouble.empty()) return note_trouble(trouble, results);
  const auto processes = parse_compute_apps(output, "nvidia-smi");
  if (!processes) return results.push_back(failed(to_line(processes.error()), "see nvidia-smi"));
  const bool told = std::ranges::find(devices, "", &Device::bus_id) == devices.end();
  for (const GpuProcess& one : *processes) {
    const auto device = std::ranges::find(devices, one.bus_id, &Device::bus_id);
    const bool ours = device != devices.end() || !told;
    if (!ours || older.contains(one.pid)) continue;
    add(holders, process_of_tool(one.pid, one.name, "nvidia-smi"),
        device == devices.end() ? "GPU " + one.bus_id : device->path);
  }
}

// Returns a warning for each holder.
Results look(const Context& context, std::span<const Device> devices, std::uint64_t since) {
  Results results;
  std::set<int> older;
  std::vector<Holder> holders = holders_in_proc(context, devices, since, older);
  // Runs the tools only if /proc showed no holder, because a tool takes seconds and opens the
  // devices itself.
  if (holders.empty()) {
    ask_npu_smi(context, devices, older, holders, results);
    ask_nvidia_smi(context, devices, older, holders, results);
  }
  for (const Holder& holder : holders) {
    results.push_back(warning(listed(holder.devices), "end it", holder.process));
  }
  if (results.empty()) results.push_back(ok("nobody holds them"));
  return results;
}

}  // namespace

DeviceHolders find_holders(const Context& context, std::span<const Device> devices,
                           std::uint64_t since) {
  const Part part{.check = "devices", .run = [&] { return look(context, devices, since); }};
  constexpr std::size_t kMaxNamed = 8;
  std::size_t count = 0;
  std::string held;
  std::string unknown;
  for (const CheckResult& result : run_all({&part, 1}, context.limit_ms)) {
    if (result.verdict == CheckStatus::kWarning) {
      if (count++ < kMaxNamed) {
        held += (held.empty() ? "" : "; ") + result.place + " holds " + result.found;
      }
    } else if (result.verdict == CheckStatus::kFailed) {
      unknown += (unknown.empty() ? "" : "; ") + result.found;
    }
  }
  if (count > kMaxNamed) held += "; and " + std::to_string(count - kMaxNamed) + " more";
  return {std::move(held), std::move(unknown)};
}

}  // namespace doctor
