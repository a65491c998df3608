#include "envgen/resolve/locality.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "envgen/formats/nccl_topology.h"
#include "envgen/formats/npu_topology.h"
#include "envgen/plan/devices.h"

namespace envgen {
namespace {

constexpr const char* kGpuDirectory = "/proc/driver/nvidia/gpus";
constexpr const char* kPciDirectory = "/sys/bus/pci/devices/";
constexpr const char* kNodePrefix = "/sys/devices/system/node/node";
// Where NCCL looks by itself.
constexpr const char* kOwnTopologyFile = "/var/run/nvidia-topologyd/virtualTopology.xml";

struct Topology {
  std::string path;
  std::vector<TopologyNode> nodes;
};

struct Gpu {
  std::string bus_id;
  std::string uuid = {};  // "" = not known
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// The bytes of a file, "" without it.
std::string_view content_of(Inputs& inputs, const std::string& path) {
  const PathState* state = inputs.content(path);
  return state == nullptr ? std::string_view() : std::string_view(state->content);
}

// "Device Minor: \t 3\n" -> "3"
std::string_view field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  return trimmed(text.substr(0, text.find('\n')));
}

// What a list such as CUDA_VISIBLE_DEVICES picks out of `count` devices; -1 for one that cannot be
// told. It ends at the first item that is none, as CUDA's does.
std::vector<int> chosen(std::optional<std::string_view> list, const std::vector<Gpu>& devices) {
  const auto count = static_cast<int>(devices.size());
  std::vector<int> places;
  if (!list) {
    for (int i = 0; i < count; ++i) places.push_back(i);
    return places;
  }
  std::string_view rest = *list;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (const auto number = whole_number(item)) {
      if (*number < 0 || *number >= count) break;
      places.push_back(*number);
      continue;
    }
    if (item.empty()) break;
    const auto same = std::ranges::find_if(
        devices, [item](const Gpu& one) { return one.uuid.starts_with(item); });
    // A part of a device (MIG) does not tell of which, but where there is only one.
    const bool only = item.starts_with("MIG-") && count == 1;
    const bool found = same != devices.end();
    places.push_back(only ? 0 : found ? static_cast<int>(same - devices.begin()) : -1);
  }
  return places;
}

// By their PCI addresses, CUDA's order of like GPUs. Without those of other containers, which have
// no device file here.
std::vector<Gpu> gpus_of_driver(Inputs& inputs, const std::vector<int>& minors) {
  std::vector<Gpu> gpus;
  const PathState* listing = inputs.content(kGpuDirectory);
  if (listing == nullptr) return gpus;
  for (const std::string& name : listing->entries) {
    auto id = normal_bus_id(name);
    if (!id) continue;
    const std::string path = join_path(join_path(kGpuDirectory, name), "information");
    const std::string_view text = content_of(inputs, path);
    const auto minor = whole_number(field(text, "Device Minor:"));
    if (minor && std::ranges::find(minors, *minor) == minors.end()) continue;
    gpus.push_back({std::move(*id), std::string(field(text, "GPU UUID:"))});
  }
  std::ranges::sort(gpus, {}, &Gpu::bus_id);
  return gpus;
}

// Those of the topology file are the container's where their numbers agree, or nothing is known of
// the container's.
std::vector<Gpu> gpus_of_topology(const Topology& topology, const std::vector<int>& minors) {
  std::vector<Gpu> gpus;
  for (const TopologyNode& node : topology.nodes) {
    for (const std::string& id : node.gpus) gpus.push_back({id});
  }
  std::ranges::sort(gpus, {}, &Gpu::bus_id);
  if (!minors.empty() && minors.size() != gpus.size()) gpus.clear();
  return gpus;
}

Result<Topology> read_topology(Inputs& inputs, const Environ& env) {
  const std::string_view named = env.get_or("NCCL_TOPO_FILE", "");
  Topology topology;
  topology.path =
      named.empty() ? std::string(kOwnTopologyFile) : join_path(inputs.facts().cwd, named);
  const PathState* state = inputs.content(topology.path);
  // NCCL goes on without a file that is not there.
  if (state == nullptr || state->kind != PathState::Kind::kFile) return topology;
  auto nodes = parse_nccl_topology(state->content, topology.path);
  if (!nodes) return std::unexpected(nodes.error());
  topology.nodes = std::move(*nodes);
  return topology;
}

Locality by_kernel(Inputs& inputs, const std::string& bus_id) {
  const std::string device = kPciDirectory + bus_id;
  const auto node = whole_number(trimmed(content_of(inputs, join_path(device, "numa_node"))));
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

Result<std::vector<Locality>> of_gpus(Inputs& inputs, const Environ& env,
                                      const std::vector<int>& minors) {
  auto topology = read_topology(inputs, env);
  if (!topology) return std::unexpected(topology.error());
  std::vector<Gpu> gpus = gpus_of_driver(inputs, minors);
  if (gpus.empty()) gpus = gpus_of_topology(*topology, minors);
  std::vector<Locality> list;
  for (const int place : chosen(env.get("CUDA_VISIBLE_DEVICES"), gpus)) {
    if (place < 0) {
      list.push_back({{}, "CUDA_VISIBLE_DEVICES names a device that the driver does not list"});
    } else {
      list.push_back(locality_of(inputs, *topology, gpus[static_cast<std::size_t>(place)].bus_id));
    }
  }
  return list;
}

}  // namespace

Result<std::vector<Locality>> find_localities(Inputs& inputs, const Environ& env,
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
