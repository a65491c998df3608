// Checks of accelerators from inside the container: device nodes, the variables of container
// runtimes, and the rank table that names the devices.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "envgen/ranktable/ranktable.h"
#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace doctor {
namespace {

struct Kind {
  std::string_view name;
  std::string_view prefix;             // start of the name under /dev; digits follow
  std::array<const char*, 3> control;  // further device nodes that every process needs
  std::string_view runtime_variable;   // names the devices that the container should get
  std::string_view process_variable;   // names the devices that a process may use
  const char* fix;                     // advice how to give the devices to a container
};

constexpr std::array<Kind, 3> kKinds = {{
    {"GPU",
     "nvidia",
     {"nvidiactl", "nvidia-uvm", nullptr},
     "NVIDIA_VISIBLE_DEVICES",
     "CUDA_VISIBLE_DEVICES",
     "start the container with --gpus all; in Kubernetes ask for nvidia.com/gpu"},
    {"MLU",
     "cambricon_dev",
     {"cambricon_ctl", nullptr, nullptr},
     "CAMBRICON_VISIBLE_DEVICES",
     "MLU_VISIBLE_DEVICES",
     "start the container with --device for each node; in Kubernetes ask for cambricon.com/mlu"},
    {"NPU",
     "davinci",
     {"davinci_manager", "devmm_svm", "hisi_hdc"},
     "ASCEND_VISIBLE_DEVICES",
     "ASCEND_RT_VISIBLE_DEVICES",
     "start the container with ascend-docker-runtime and ASCEND_VISIBLE_DEVICES, or --device for "
     "each node; in Kubernetes ask for huawei.com/Ascend910"},
}};

// Returns the sorted numbers after the prefix. nvidiactl and davinci_manager have no number, and
// davinci10 comes after davinci2.
std::vector<int> numbers_of(const std::vector<std::string>& names, std::string_view prefix) {
  std::vector<int> numbers;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    const auto number = number_in(std::string_view(name).substr(prefix.size()));
    constexpr std::uint64_t kMax = 4096;
    if (number && *number < kMax) numbers.push_back(static_cast<int>(*number));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string node_of(const Kind& kind, int number) {
  return "/dev/" + std::string(kind.prefix) + std::to_string(number);
}

bool is_missing(const std::vector<int>& numbers, int wanted) {
  return std::ranges::find(numbers, wanted) == numbers.end();
}

// Returns "0-3,6" as numbers, or nullopt if an item is not a number (a UUID, "all", "Ascend910-0").
std::optional<std::vector<int>> numbers_listed(std::string_view list) {
  constexpr std::uint64_t kMax = 1024;
  std::vector<int> numbers;
  for (const std::string& item : split_list(list)) {
    const std::size_t dash = item.find('-');
    const auto first = number_in(item.substr(0, dash));
    const auto last = dash == std::string::npos ? first : number_in(item.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMax) return std::nullopt;
    for (std::uint64_t i = *first; i <= *last; ++i) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

// Returns why a device node cannot be used; "" if it can. While a job runs, the node is not opened,
// because that can wake up a driver that has a fault.
std::string fault_of_node(const Context& context, const std::string& path) {
  const std::string file = context.root + path;
  if (context.occasion == Occasion::kMonitor) {
    return ::access(file.c_str(), R_OK | W_OK) == 0 ? "" : sys::errno_text(errno);
  }
  const sys::Fd fd(::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  return fd.valid() ? "" : sys::errno_text(errno);
}

void check_nodes(const Context& context, const Kind& kind, const std::vector<int>& numbers,
                 Results& results) {
  for (const int number : numbers) {
    const std::string node = node_of(kind, number);
    const std::string fault = fault_of_node(context, node);
    if (fault.empty()) continue;
    results.push_back(
        failed("it cannot be opened: " + fault,
               fault.find("EPERM") != std::string::npos
                   ? "the container's device cgroup does not allow it: " + std::string(kind.fix)
               : fault.find("EACCES") != std::string::npos
                   ? std::string("put the job's user into the node's group, or run "
                                 "as root")
                   : std::string("see the driver's messages on the host (dmesg)"),
               node));
  }
}

void check_variables(const Context& context, const Kind& kind, const std::vector<int>& numbers,
                     Results& results) {
  // Only the number of devices is compared, because a runtime can renumber the devices of a
  // container.
  const std::string_view given = context.env.get_or(kind.runtime_variable, "");
  const auto wanted = numbers_listed(given);
  if (wanted && wanted->size() > numbers.size()) {
    results.push_back(failed(std::string(kind.runtime_variable) + "=" + std::string(given) + ", " +
                                 "and /dev has " + count_text(numbers.size(), kind.name),
                             kind.fix));
  }
  const std::string_view chosen = context.env.get_or(kind.process_variable, "");
  const auto used = numbers_listed(chosen);
  if (!used) return;
  for (const int index : *used) {
    if (index < std::ssize(numbers)) continue;
    results.push_back(failed(std::string(kind.process_variable) + "=" + std::string(chosen) +
                                 " counts from 0 to " + std::to_string(numbers.size() - 1) +
                                 " in this container",
                             "give indexes of the devices that are here"));
    return;
  }
}

void check_control(const Kind& kind, const std::vector<std::string>& names, Results& results) {
  for (const char* name : kind.control) {
    if (name == nullptr || std::ranges::find(names, name) != names.end()) continue;
    results.push_back(
        warning("/dev/" + std::string(name) + " is missing beside the devices", kind.fix));
  }
}

}  // namespace

Results check_devices(const Context& context) {
  const std::vector<std::string> names = names_in(context, "/dev");
  Results results;
  std::size_t all = 0;
  for (const Kind& kind : kKinds) {
    const std::vector<int> numbers = numbers_of(names, kind.prefix);
    const std::string_view given = context.env.get_or(kind.runtime_variable, "");
    if (numbers.empty() && !numbers_listed(given).value_or(std::vector<int>{}).empty()) {
      results.push_back(failed(
          "none in /dev, and " + std::string(kind.runtime_variable) + " is " + std::string(given),
          kind.fix, kind.name));
    }
    if (numbers.empty()) continue;
    all += numbers.size();
    const std::size_t before = results.size();
    check_nodes(context, kind, numbers, results);
    check_variables(context, kind, numbers, results);
    check_control(kind, names, results);
    if (results.size() > before) continue;
    results.push_back(
        ok(node_of(kind, numbers.front()) +
               (numbers.size() > 1 ? " and " + std::to_string(numbers.size() - 1) + " more" : ""),
           kind.name));
  }
  if (results.empty() && all == 0) return {skipped("no GPU, MLU or NPU in /dev")};
  return results;
}

Results check_ranktable(const Context& context) {
  if (context.rank_table.empty()) return {skipped("the job has no rank table")};
  auto table = envgen::RankTable::parse(context.rank_table, "the rank table");
  if (!table) return {failed(to_line(table.error().error), "mend the table")};
  Results results;
  for (const envgen::Finding& finding : table->check()) {
    const bool refused = finding.severity == envgen::Finding::Severity::kRefused;
    results.push_back({{},
                       finding.place,
                       refused ? CheckStatus::kFailed : CheckStatus::kWarning,
                       finding.found,
                       finding.fix});
  }
  const std::vector<int> numbers = numbers_of(names_in(context, "/dev"), "davinci");
  std::vector<std::string> missing;
  for (const int device : context.devices) {
    if (is_missing(numbers, device)) missing.push_back("/dev/davinci" + std::to_string(device));
  }
  if (numbers.empty() && !missing.empty()) {
    results.push_back(skipped("no NPU in /dev, to which its devices could be compared"));
  } else if (!missing.empty()) {
    results.push_back(failed("it gives this node " + listed(missing) + ", which /dev does not have",
                             "device_id is the number on the host: see which devices the platform "
                             "gave this container, and make a table of them"));
  }
  if (results.empty()) {
    results.push_back(ok(std::string(format_name(table->format())) + ", " +
                         count_text(context.devices.size(), "device") + " on this node"));
  }
  return results;
}

}  // namespace doctor
