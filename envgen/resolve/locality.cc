#include "envgen/resolve/locality.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/formats/nccl_topology.h"
#include "envgen/formats/npu_topology.h"
#include "envgen/plan/devices.h"

namespace envgen {
namespace {

constexpr std::string_view kDev = "/dev/";
constexpr const char* kGpuDirectory = "/proc/driver/nvidia/gpus";
constexpr const char* kPciDirectory = "/sys/bus/pci/devices/";
constexpr const char* kNodePrefix = "/sys/devices/system/node/node";
// NCCL's default path.
constexpr const char* kOwnTopologyFile = "/var/run/nvidia-topologyd/virtualTopology.xml";

struct Topology {
  std::string path;
  std::vector<TopologyNode> nodes;
};

struct Gpu {
  std::string bus_id;
  std::string uuid = {};  // "" = not known
  int minor = -1;         // N of /dev/nvidia<N>; -1 = not known
};

// Returns the bytes of a file; "" without it.
std::string_view content_of(Inputs& inputs, const std::string& path) {
  const PathState* state = inputs.content(path);
  return state == nullptr ? std::string_view() : std::string_view(state->content);
}

// Returns a field's value: "Device Minor: \t 3\n" -> "3".
std::string_view field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  return base::trimmed(text.substr(0, text.find('\n')));
}

// Returns the devices that a list such as CUDA_VISIBLE_DEVICES picks, as indices in `devices`; -1
// for one that cannot be identified. As in CUDA, the list ends at the first invalid item.
std::vector<int> chosen(std::optional<std::string_view> list, const std::vector<Gpu>& devices) {
  const auto count = static_cast<int>(devices.size());
  std::vector<int> places;
  if (!list) {
    for (int i = 0; i < count; ++i) places.push_back(i);
    return places;
  }
  std::string_view rest = *list;
  while (!rest.empty()) {
    const std::string_view item = base::trimmed(base::take_part(rest, ','));
    if (const auto number = base::parse_number<int>(item)) {
      if (*number < 0 || *number >= count) break;
      places.push_back(*number);
      continue;
    }
    if (item.empty()) break;
    const auto same = std::ranges::find_if(
        devices, [item](const Gpu& one) { return one.uuid.starts_with(item); });
    // A part of a device (MIG) does not show to which device it belongs, unless there is only one.
    const bool only = item.starts_with("MIG-") && count == 1;
    const bool found = same != devices.end();
    places.push_back(only ? 0 : found ? static_cast<int>(same - devices.begin()) : -1);
  }
  return places;
}

// Returns the driver's GPUs, sorted by PCI address, which is CUDA's order of equal GPUs. GPUs of
// other containers, which have no device file here, are left out.
std::vector<Gpu> gpus_of_driver(Inputs& inputs, const std::vector<int>& minors) {
  std::vector<Gpu> gpus;
  const PathState* listing = inputs.content(kGpuDirectory);
  if (listing == nullptr) return gpus;
  for (const std::string& name : listing->entries) {
    auto id = normal_bus_id(name);
    if (!id) continue;
    const std::string path = join_path(join_path(kGpuDirectory, name), "information");
    const std::string_view text = content_of(inputs, path);
    const auto minor = base::parse_number<int>(field(text, "Device Minor:"));
    if (minor && std::ranges::find(minors, *minor) == minors.end()) continue;
    gpus.push_back({std::move(*id), std::string(field(text, "GPU UUID:")), minor.value_or(-1)});
  }
  base::stable_sort(gpus, std::less(), &Gpu::bus_id);
  return gpus;
}

// Returns the GPUs of the topology file. If the container's number of GPUs is known and different,
// the file describes other GPUs, and the result is empty.
std::vector<Gpu> gpus_of_topology(const Topology& topology, const std::vector<int>& minors) {
  std::vector<Gpu> gpus;
  for (const TopologyNode& node : topology.nodes) {
    for (const std::string& id : node.gpus) gpus.push_back({id});
  }
  base::stable_sort(gpus, std::less(), &Gpu::bus_id);
  if (!minors.empty() && minors.size() != gpus.size()) gpus.clear();
  return gpus;
}

base::Result<Topology> read_topology(Inputs& inputs, const base::Environ& env) {
  const std::string_view named = env.get_or("NCCL_TOPO_FILE", "");
  Topology topology;
  topology.path =
      named.empty() ? std::string(kOwnTopologyFile) : join_path(inputs.facts().cwd, named);
  const PathState* state = inputs.content(topology.path);
  // Continues without the file if it does not exist, as NCCL does.
  if (state == nullptr || state->kind != PathState::Kind::kFile) return topology;
  TRY_ASSIGN(topology.nodes, parse_nccl_topology(state->content, topology.path));
  return topology;
}

Locality by_kernel(Inputs& inputs, const std::string& bus_id) {
  const std::string device = kPciDirectory + bus_id;
  const auto node =
      base::parse_number<int>(base::trimmed(content_of(inputs, join_path(device, "numa_node"))));
  if (!node || *node < 0) return {{}, "the kernel tells no NUMA node of GPU " + bus_id};
  auto cpus = parse_cpu_list(content_of(inputs, join_path(device, "local_cpulist")));
  if (!cpus || cpus->empty()) {
    const std::string path = kNodePrefix + std::to_string(*node) + "/cpulist";
    cpus = parse_cpu_list(content_of(inputs, path));
  }
  const std::string name = "NUMA node " + std::to_string(*node);
  if (!cpus || cpus->empty()) return {{}, "the kernel tells no CPUs of " + name};
  return {std::move(*cpus), name + " of GPU " + bus_id + " (sysfs)"};
}

Locality locality_of(Inputs& inputs, const Topology& topology, const std::string& bus_id) {
  for (const TopologyNode& node : topology.nodes) {
    if (std::ranges::find(node.gpus, bus_id) == node.gpus.end()) continue;
    return {node.cpus, "NUMA node " + std::to_string(node.numa_node) + " of GPU " + bus_id + " (" +
                           topology.path + ")"};
  }
  return by_kernel(inputs, bus_id);
}

std::vector<Locality> of_npus(Inputs& inputs, const std::vector<int>& npus) {
  std::vector<Locality> list;
  const PathState* state = inputs.content(kNpuTopologyCommand);
  std::vector<NpuAffinity> known;
  std::string trouble;
  if (state == nullptr || state->kind != PathState::Kind::kFile) {
    const bool late = state != nullptr && state->kind == PathState::Kind::kError;
    trouble = late ? "npu-smi gave no answer in time" : "the image has no npu-smi";
  } else if (auto told = parse_npu_topology(state->content, kNpuTopologyCommand)) {
    known = std::move(*told);
  } else {
    trouble = to_line(told.error());
  }
  for (const int npu : npus) {
    const std::string name = "NPU " + std::to_string(npu);
    const auto found = std::ranges::find(known, npu, &NpuAffinity::npu);
    if (found != known.end()) {
      list.push_back({found->cpus, "the CPUs near " + name + " (npu-smi)"});
    } else {
      list.push_back({{}, trouble.empty() ? "npu-smi tells no CPUs of " + name : trouble});
    }
  }
  return list;
}

base::Result<std::vector<Locality>> of_gpus(Inputs& inputs, const base::Environ& env,
                                            const std::vector<int>& minors) {
  TRY_ASSIGN(auto topology, read_topology(inputs, env));
  std::vector<Gpu> gpus = gpus_of_driver(inputs, minors);
  if (gpus.empty()) gpus = gpus_of_topology(topology, minors);
  std::vector<Locality> list;
  for (const int place : chosen(env.get("CUDA_VISIBLE_DEVICES"), gpus)) {
    if (place < 0) {
      list.push_back({{}, "CUDA_VISIBLE_DEVICES names a device that the driver does not list"});
    } else {
      list.push_back(locality_of(inputs, topology, gpus[static_cast<std::size_t>(place)].bus_id));
    }
  }
  return list;
}

// Returns the devices of a kind in /dev, in the driver's order. If that order is not known or the
// number differs, returns them without UUIDs and addresses.
std::vector<Gpu> numbered(Inputs& inputs, std::string_view prefix, const std::vector<int>& minors) {
  if (prefix == "nvidia") {
    std::vector<Gpu> gpus = gpus_of_driver(inputs, minors);
    const bool whole =
        gpus.size() == minors.size() && std::ranges::find(gpus, -1, &Gpu::minor) == gpus.end();
    if (whole) return gpus;
  }
  std::vector<Gpu> devices;
  devices.reserve(minors.size());
  for (const int minor : minors) devices.push_back({.bus_id = {}, .minor = minor});
  return devices;
}

}  // namespace

std::vector<DeviceWait::Device> find_devices(Inputs& inputs, const base::Environ& env,
                                             const std::vector<int>& npus) {
  std::vector<DeviceWait::Device> devices;
  const auto add = [&devices](std::string_view prefix, int number, const std::string& bus_id) {
    DeviceWait::Device device{base::concat({kDev, prefix, std::to_string(number)}), bus_id};
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(std::move(device));
  };
  for (const int npu : npus) add("davinci", npu, "");
  const PathState* dev = npus.empty() ? inputs.content("/dev") : nullptr;
  if (dev == nullptr) return devices;
  for (const DeviceKind& kind : device_kinds()) {
    // A render node may belong to a display, so the job does not wait for it.
    if (kind.holds == DeviceKind::Holds::kAnything) continue;
    const auto files = device_files(inputs, *dev, kind.prefix);
    if (!files) return devices;
    std::vector<int> minors;
    for (const std::string& file : *files) {
      const auto number = std::string_view(file).substr(kDev.size() + kind.prefix.size());
      minors.push_back(base::parse_count<int>(number).value_or(0));
    }
    if (minors.empty()) continue;
    const std::vector<Gpu> all = numbered(inputs, kind.prefix, minors);
    // For a kind with parts, the variable contains numbers of parts and not of devices.
    const bool picks = kind.holds == DeviceKind::Holds::kDevice;
    std::vector<int> places = chosen(picks ? env.get(kind.process_variable) : std::nullopt, all);
    if (std::ranges::find(places, -1) != places.end()) places = chosen(std::nullopt, all);
    for (const int place : places) {
      const Gpu& one = all[static_cast<std::size_t>(place)];
      add(kind.prefix, one.minor, one.bus_id);
    }
    break;
  }
  return devices;
}

base::Result<std::vector<Locality>> find_localities(Inputs& inputs, const base::Environ& env,
                                                    const std::vector<int>& npus) {
  if (!npus.empty()) return of_npus(inputs, npus);
  const PathState* dev = inputs.content("/dev");
  if (dev == nullptr) return std::vector<Locality>{};
  const std::vector<int> numbers = device_numbers(*dev, "davinci");
  if (numbers.empty()) return of_gpus(inputs, env, device_numbers(*dev, "nvidia"));
  const std::vector<Gpu> nameless(numbers.size());
  std::vector<int> seen;
  for (const int place : chosen(env.get("ASCEND_RT_VISIBLE_DEVICES"), nameless)) {
    if (place >= 0) seen.push_back(numbers[static_cast<std::size_t>(place)]);
  }
  return of_npus(inputs, seen);
}

}  // namespace envgen
