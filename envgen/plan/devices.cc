#include "envgen/plan/devices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/constants/words.h"
#include "base/stable_sort.h"
#include "base/text.h"

namespace envgen {
namespace {

constexpr std::array<DeviceKind, 9> kKinds = {{
    {"nvidia", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"},
    {"cambricon_dev", "MLU_VISIBLE_DEVICES", "CAMBRICON_VISIBLE_DEVICES"},
    {"davinci", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"},
    {"accel/accel", "HABANA_VISIBLE_MODULES", "HABANA_VISIBLE_DEVICES"},
    {"hl", "HABANA_VISIBLE_MODULES", "HABANA_VISIBLE_DEVICES"},
    {"accel", "TPU_VISIBLE_CHIPS", ""},
    {"neuron", "NEURON_RT_VISIBLE_CORES", "AWS_NEURON_VISIBLE_DEVICES", DeviceKind::Holds::kParts},
    {"vfio/", "TPU_VISIBLE_CHIPS", "", DeviceKind::Holds::kAnything},
    {"dri/renderD", "ZE_AFFINITY_MASK", "", DeviceKind::Holds::kAnything},
}};
constexpr std::string_view kRender = "dri/renderD";
constexpr std::string_view kCuda = "CUDA_VISIBLE_DEVICES";
constexpr std::string_view kRocr = "ROCR_VISIBLE_DEVICES";
constexpr std::string_view kHip = "HIP_VISIBLE_DEVICES";
constexpr const char* kNoDevice = "no device in /dev";
constexpr int kAnyIndex = std::numeric_limits<int>::max();
constexpr const char* kKfdNodes = "/sys/class/kfd/kfd/topology/nodes";

// Returns the names "<prefix><digits>", but not nvidiactl or davinci_manager. They are sorted by
// number, because a directory lists davinci10 before davinci2.
std::vector<std::string> devices_in(const PathState& dev, std::string_view prefix) {
  std::vector<std::string> names;
  for (const std::string& name : dev.entries) {
    if (name.starts_with(prefix) && base::is_digits(std::string_view(name).substr(prefix.size()))) {
      names.push_back(name);
    }
  }
  base::stable_sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

bool has_entry(const PathState& directory, std::string_view name) {
  return std::ranges::find(directory.entries, name) != directory.entries.end();
}

// Returns the number of devices in an item: "0-3" -> 4, "GPU-5b6e" -> 1. Returns 0 for a word that
// names no device ("none", "NoDevFiles", "-1", a path, a name of CDI).
int width_of(std::string_view item, bool indices) {
  if (base::is_digits(item)) return 1;
  if (item.find_first_of("/=") != std::string_view::npos) return 0;
  const std::size_t dash = item.find('-');
  if (dash == std::string_view::npos || dash == 0) return 0;
  const auto first = base::parse_count<int>(item.substr(0, dash));
  const auto last = base::parse_count<int>(item.substr(dash + 1));
  if (!first || !last || indices) return 1;  // a UUID; CUDA reads the number and ignores the rest
  return *last >= *first && *last - *first < 1024 ? *last - *first + 1 : 1;
}

struct Listed {
  int count = 0;
  bool part = false;   // the item is a MIG device, a part of a GPU
  bool whole = false;  // true = each item is a device
};

// Counts the devices in a list, up to the first item that is no device. If `below` is not 0,
// numbers are indices of that many devices, as CUDA and HIP count. If it is 0, they are any numbers
// or ranges. A MIG device ("MIG-...", or "GPU:MIG" by index) makes the count 1: a process sees one
// MIG device, however many are listed, and no other device beside it (NVIDIA MIG User Guide, "CUDA
// Device Enumeration").
Listed listed_devices(std::string_view list, int below) {
  Listed listed;
  while (!list.empty()) {
    const std::string_view item = base::trimmed(base::take_part(list, ','));
    if (item.starts_with("MIG-") || item.contains(':')) return {1, true, true};
    const int width = width_of(item, below > 0);
    const auto index = base::parse_count<int>(item);
    if (width == 0 || (below > 0 && index && *index >= below)) return listed;
    listed.count += width;
  }
  listed.whole = listed.count > 0;
  return listed;
}

void narrow(DeviceCount& count, std::string_view variable, Listed listed) {
  if (count.known && listed.count >= count.count && !listed.part) return;
  count = {.count = listed.count, .source = std::string(variable)};
  if (listed.part) count.source += ", of which a process sees one MIG device";
}

void narrow_by(const Inputs& inputs, std::string_view variable, bool indices, DeviceCount& count) {
  const auto chosen = inputs.env().get(variable);
  if (chosen) narrow(count, variable, listed_devices(*chosen, indices ? count.count : 0));
}

// Narrows the count by a container runtime's list. The words "all" and "void", and names of CDI,
// give no number, because the container may have devices in each of these cases.
void narrow_by_runtime(const Inputs& inputs, std::string_view variable, DeviceCount& count) {
  const Listed listed = listed_devices(inputs.variable(variable), 0);
  if (listed.whole) narrow(count, variable, listed);
}

std::string source_of(const std::vector<std::string>& files) {
  if (files.size() < 2) return files[0];
  return base::concat({files[0], " and ", std::to_string(files.size() - 1), " more"});
}

// Returns whether a GPU of this node is divided into MIG devices; nullopt while the snapshot lacks
// a path. The capabilities of MIG devices are /dev/nvidia-caps/nvidia-cap<N>, and a list of the
// driver says which N belong to a GPU. Sets `unsure` if that list cannot be read.
std::optional<bool> is_divided(Inputs& inputs, const PathState& dev, bool& unsure) {
  if (!has_entry(dev, "nvidia-caps")) return false;
  const PathState* caps = inputs.content("/dev/nvidia-caps");
  if (caps == nullptr) return std::nullopt;
  constexpr int kFirstOfGpu = 3;  // 1 and 2 belong to MIG's configuration and monitor
  std::vector<int> numbers = device_numbers(*caps, "nvidia-cap");
  std::erase_if(numbers, [](int number) { return number < kFirstOfGpu; });
  if (numbers.empty()) return false;
  const PathState* minors = inputs.content("/proc/driver/nvidia-caps/mig-minors");
  if (minors == nullptr) return std::nullopt;
  unsure = minors->content.empty();
  return std::ranges::any_of(numbers, [minors](int number) {
    return minors->content.contains("access " + std::to_string(number) + "\n");
  });
}

// Counts the devices of a kind, narrowed by its variables as its framework would.
std::optional<DeviceCount> count_kind(Inputs& inputs, const PathState& dev, const DeviceKind& kind,
                                      const std::vector<std::string>& files) {
  using Holds = DeviceKind::Holds;
  DeviceCount count{static_cast<int>(files.size()), source_of(files), kind.holds == Holds::kDevice};
  if (kind.holds == Holds::kParts) count.count = 0;
  const std::string_view chosen = inputs.variable(kind.process_variable);
  if (kind.holds != Holds::kDevice) {
    // An item such as "0.1" is a tile. Whether a tile counts as a device depends on the requested
    // hierarchy.
    const Listed listed = listed_devices(chosen, 0);
    if (listed.whole && !chosen.contains('.')) narrow(count, kind.process_variable, listed);
    return count;
  }
  narrow_by_runtime(inputs, kind.runtime_variable, count);
  const bool cuda = kind.process_variable == kCuda;
  if (cuda && chosen.empty() && count.count > 1) {
    bool unsure = false;
    const auto divided = is_divided(inputs, dev, unsure);
    if (!divided) return std::nullopt;
    if (*divided) narrow(count, count.source, {1, true});
    if (unsure) count = {0, count.source + " and MIG devices", false};
  }
  narrow_by(inputs, kind.process_variable, cuda, count);
  return count;
}

// Returns the number after `name` in a text of lines "NAME NUMBER"; 0 without such a line.
int property(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = base::take_line(text);
    if (base::take_part(line, ' ') == name)
      return base::parse_count<int>(base::trimmed(line)).value_or(0);
  }
  return 0;
}

// Counts AMD's GPUs. All share /dev/kfd. Each GPU, or partition of one, is a node of the kernel's
// topology that names its render node. ROCm uses those whose render node it may open. A display GPU
// of another maker has a render node, but no topology node. The kernel refuses (EPERM) the nodes
// that the container was not given. An empty `source` means that there is no AMD GPU.
// Sources: Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c, ROCm "GPU isolation techniques".
std::optional<DeviceCount> count_kfd(Inputs& inputs, const PathState& dev) {
  auto render = device_files(inputs, dev, kRender);
  const PathState* nodes = inputs.content(kKfdNodes);
  if (!render || nodes == nullptr) return std::nullopt;
  DeviceCount count{.known = !nodes->entries.empty()};
  bool looked = true;
  for (const std::string& node : nodes->entries) {
    const PathState* state = inputs.content(base::concat({kKfdNodes, "/", node, "/properties"}));
    looked = looked && state != nullptr;
    if (state == nullptr || property(state->content, "simd_count") == 0) continue;
    const int minor = property(state->content, "drm_render_minor");
    const std::string file = base::concat({"/dev/", kRender, std::to_string(minor)});
    count.count += std::ranges::find(*render, file) == render->end() ? 0 : 1;
  }
  if (!looked) return std::nullopt;
  if (count.known && count.count == 0) return count;
  count.source =
      base::concat({"/dev/kfd", count.known ? "" : " without ", count.known ? "" : kKfdNodes});
  narrow_by_runtime(inputs, "AMD_VISIBLE_DEVICES", count);
  // ROCr applies its own list first. HIP then picks from the remaining devices, by CUDA's variable
  // if its own is not set.
  narrow_by(inputs, kRocr, true, count);
  narrow_by(inputs, inputs.env().get(kHip) ? kHip : kCuda, true, count);
  return count;
}

// Removes the render nodes of displays, which have the PCI class of VGA controllers. A single
// render node whose class is unknown counts as a display's too. Returns false while the snapshot
// lacks a class.
bool drop_displays(Inputs& inputs, std::vector<std::string>& files) {
  bool looked = true;
  const bool only = files.size() == 1;
  std::erase_if(files, [&](const std::string& file) {
    const std::string_view name = std::string_view(file).substr(file.rfind('/') + 1);
    const PathState* state =
        inputs.content(base::concat({"/sys/class/drm/", name, "/device/class"}));
    looked = looked && state != nullptr;
    if (state == nullptr) return false;
    return state->content.empty() ? only : state->content.starts_with("0x0300");
  });
  return looked;
}

// Returns two or more names that differ only in their numbers, so that they are probably devices.
std::vector<std::string> series_in(const PathState& directory) {
  for (const std::string& name : directory.entries) {
    const std::size_t end = name.find_last_not_of("0123456789") + 1;
    if (end == name.size() || name.starts_with("tty")) continue;
    std::vector<std::string> names = devices_in(directory, std::string_view(name).substr(0, end));
    if (names.size() > 1) return names;
  }
  return {};
}

DeviceCount uncounted(std::string place, const std::vector<std::string>& names, bool sure) {
  place += source_of(names);
  return {.count = 0, .source = std::move(place), .known = false, .sure = sure};
}

// Looks for processing accelerators and 3D controllers on the PCI bus, also those of unknown
// drivers. Requires that all devices of the host belong to this container. With two or more, the
// result is "not known", but sure. With one or none, the node has one rank. Returns nullopt while
// the snapshot lacks a path.
std::optional<DeviceCount> pci_accelerators(Inputs& inputs) {
  const std::string place = "/sys/bus/pci/devices";
  const PathState* all = inputs.content(place);
  if (all == nullptr) return std::nullopt;
  std::vector<std::string> found;
  bool looked = true;
  for (const std::string& address : all->entries) {
    const PathState* state = inputs.content(base::concat({place, "/", address, "/class"}));
    looked = looked && state != nullptr;
    if (state == nullptr) continue;
    const std::string_view text = state->content;
    if (text.starts_with("0x12") || text.starts_with("0x0302")) found.push_back(address);
  }
  if (!looked) return std::nullopt;
  return found.size() < 2 ? DeviceCount{} : uncounted("PCI device ", found, true);
}

// Finds numbered devices of unknown kinds in a /dev that was filled for this container. Such a
// device was given to the container on purpose, because no runtime adds it by default. It may also
// be a network card or a disk, so the result is not sure. A /dev with the kernel's log is a host's
// own, and contains many other devices, so it is not judged.
std::optional<DeviceCount> unknown_devices(Inputs& inputs, const PathState& dev) {
  constexpr auto kUsual = base::words(
      "console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr",
      "stdin", "stdout", "tty", "urandom", "zero", "block", "bus", "char", "cpu", "disk",
      "dma_heap", "dri", "hugepages", "infiniband", "input", "mapper", "net", "snd");
  if (has_entry(dev, "kmsg")) return pci_accelerators(inputs);
  if (auto names = series_in(dev); !names.empty()) return uncounted("/dev/", names, false);
  bool looked = true;
  for (const std::string& name : dev.entries) {
    // The control files of NVIDIA exist even without a device.
    if (name.starts_with("nvidia")) continue;
    if (std::ranges::find(kUsual, std::string_view(name)) != kUsual.end()) continue;
    const std::string path = "/dev/" + name;
    const PathState* inner = inputs.content(path);
    looked = looked && inner != nullptr;
    if (inner == nullptr) continue;
    if (auto names = series_in(*inner); !names.empty()) return uncounted(path + "/", names, false);
  }
  return looked ? std::optional(DeviceCount{}) : std::nullopt;
}

// Finds a list of devices for the runtime of an unknown maker: FOO_VISIBLE_DEVICES=0,1.
DeviceCount listed_by_variable(const Inputs& inputs) {
  constexpr auto kThings = base::words("DEVICES", "CHIPS", "CORES", "MODULES", "CARDS", "PUS");
  for (const std::string& entry : inputs.env().entries()) {
    std::string_view value = entry;
    const std::string_view name = base::take_part(value, '=');
    // RAY_EXPERIMENTAL_NOSET_*_VISIBLE_DEVICES of Ray are switches, not lists.
    if (!name.contains("_VISIBLE_") || name.contains("NOSET")) continue;
    const bool things =
        std::ranges::any_of(kThings, [name](auto thing) { return name.ends_with(thing); });
    const Listed listed = listed_devices(value, 0);
    if (!things || !listed.whole) continue;
    return {.count = listed.count, .source = std::string(name), .known = false};
  }
  return {};
}

}  // namespace

std::span<const DeviceKind> device_kinds() { return kKinds; }

std::optional<DeviceCount> count_known_kinds(Inputs& inputs) {
  const PathState* dev = inputs.content("/dev");
  if (dev == nullptr) return std::nullopt;
  for (const DeviceKind& kind : kKinds) {
    if (kind.prefix == "accel/accel" && has_entry(*dev, "kfd")) {
      auto count = count_kfd(inputs, *dev);
      if (!count || !count->source.empty()) return count;
    }
    auto files = device_files(inputs, *dev, kind.prefix);
    if (!files) return std::nullopt;
    const bool render = kind.prefix == kRender;
    if (render && !drop_displays(inputs, *files)) return std::nullopt;
    if (files->empty()) continue;
    auto count = count_kind(inputs, *dev, kind, *files);
    if (count && !count->known && render && files->size() == 1) {
      count->count = 0;     // the number of its tiles is not known
      count->sure = false;  // it may be the GPU of a virtual machine, or a second display's
    }
    return count;
  }
  return DeviceCount{.source = kNoDevice};
}

std::optional<DeviceCount> count_devices(Inputs& inputs) {
  auto count = count_known_kinds(inputs);
  if (!count || !count->known || count->source != kNoDevice) return count;
  auto sign = unknown_devices(inputs, *inputs.content("/dev"));
  if (!sign) return sign;
  const DeviceCount listed = listed_by_variable(inputs);
  if (sign->known) sign = listed;
  if (!listed.known) sign->sure = true;  // there are unknown files, and a list names their kind
  return sign->known ? count : sign;
}

std::optional<std::vector<std::string>> device_files(Inputs& inputs, const PathState& dev,
                                                     std::string_view prefix) {
  std::string place = "/dev/";
  const PathState* listing = &dev;
  if (const std::size_t slash = prefix.find('/'); slash != std::string_view::npos) {
    const std::string_view directory = prefix.substr(0, slash);
    if (!has_entry(dev, directory)) return std::vector<std::string>{};
    listing = inputs.content(place + std::string(directory));
    if (listing == nullptr) return std::nullopt;
    place += std::string(directory) + "/";
    prefix.remove_prefix(slash + 1);
  }
  std::vector<std::string> names = devices_in(*listing, prefix);
  for (std::string& name : names) name.insert(0, place);
  return names;
}

std::vector<int> device_numbers(const PathState& dev, std::string_view prefix) {
  const std::vector<std::string> names = devices_in(dev, prefix);
  std::vector<int> numbers;
  numbers.reserve(names.size());
  for (const std::string& name : names) {
    const auto number = base::parse_count<int>(std::string_view(name).substr(prefix.size()));
    if (!number) break;
    numbers.push_back(*number);
  }
  return numbers;
}

DeviceCount devices_listed(const Inputs& inputs) {
  DeviceCount seen{.known = false};
  const auto look = [&](std::string_view variable, int below) {
    const std::string_view value = inputs.variable(variable);
    const Listed listed = listed_devices(value, below);
    if (listed.count > 0 && !value.contains('.')) narrow(seen, variable, listed);
  };
  for (const std::string_view variable : {kCuda, kRocr, kHip}) look(variable, kAnyIndex);
  for (const DeviceKind& kind : kKinds) {
    if (kind.process_variable != kCuda) look(kind.process_variable, 0);
    look(kind.runtime_variable, 0);
  }
  return seen;
}

void note_uncounted(Inputs& inputs, const DeviceCount& devices, bool asked) {
  if (devices.known || (devices.count == 1 && !asked)) return;
  const bool sure = asked || devices.sure;
  inputs.note_uncounted({"counting the devices of this node", devices.source,
                         sure ? "accelerators that trainit cannot count"
                              : "devices of a kind that trainit does not know: one rank is planned",
                         "say how many ranks a node runs with --slots"},
                        sure);
}

std::optional<int> slots_of_node(Inputs& inputs, int told) {
  if (inputs.request().slots) return inputs.request().slots;
  if (told > 0) return told;
  auto devices = count_devices(inputs);
  if (!devices) return std::nullopt;
  note_uncounted(inputs, *devices);
  return devices->known ? std::max(1, devices->count) : 1;
}

}  // namespace envgen
