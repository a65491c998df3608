#pragma once
// Accelerators of this node, counted as their frameworks count them. The count comes from what the
// container shows: /dev, the kernel's topology and the variables of runtimes. It is the default
// number of ranks of a node if the platform gives none. Two kinds of accelerators are seen but not
// counted: those with an unknown name, and those of which a rank may take a part.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"

namespace envgen {

struct DeviceKind {
  enum class Holds : std::uint8_t {
    kDevice,
    kParts,     // several parts that a rank may take, such as the cores of an AWS Neuron device
    kAnything,  // a GPU with tiles or a display's, a TPU or a network card
  };
  std::string_view prefix;            // of the file's name below /dev; digits follow
  std::string_view process_variable;  // names the devices that a process may use
  std::string_view runtime_variable;  // names the devices that the container was given; "" = none
  Holds holds = Holds::kDevice;       // content of one file
};
std::span<const DeviceKind> device_kinds();

struct DeviceCount {
  int count = 0;       // known: 0 on a CPU node; else files or items, 0 if one may hold several
  std::string source;  // "/dev/nvidia0 and 7 more", "CUDA_VISIBLE_DEVICES"
  bool known = true;   // false: accelerators exist, but the number of ranks for them is not known
  bool sure = true;    // false: not known, and perhaps the devices are no accelerators
};

// Counts the devices of this node. Returns nothing if a path is not in the snapshot yet.
// - Known: kinds with a file for each device (NVIDIA, Cambricon, Ascend, Habana, TPU), narrowed by
//   <KIND>_VISIBLE_DEVICES. AMD's GPUs, by the kernel's topology. NVIDIA's MIG devices count as
//   one, as a process sees no second one.
// - Not known: GPUs with only a render node, kinds that hold several, a *_VISIBLE_DEVICES without a
//   device. Numbered devices of any other name in a /dev that was filled for the container. A list
//   for processes (ZE_AFFINITY_MASK, HIP_VISIBLE_DEVICES) makes a count known.
// - Not sure: those other names without a *_VISIBLE_DEVICES list, and a single render node.
std::optional<DeviceCount> count_devices(Inputs& inputs);

// Counts like count_devices(), but ignores signs of unknown kinds. A node with only such signs has
// the count 0.
std::optional<DeviceCount> count_known_kinds(Inputs& inputs);

// Counts the devices that the lists of variables name, for a container whose /dev has no devices.
// The shortest list applies. Without a list the count is not known.
DeviceCount devices_listed(const Inputs& inputs);

// Returns the paths of a kind's files below /dev, sorted by number. Returns nothing if a path is
// not in the snapshot yet.
std::optional<std::vector<std::string>> device_files(Inputs& inputs, const PathState& dev,
                                                     std::string_view prefix);

// Returns the numbers after `prefix` in the names of a listing of /dev, ascending: nvidia0 is a
// "nvidia" device, nvidiactl is not.
std::vector<int> device_numbers(const PathState& dev, std::string_view prefix);

// Notes in `inputs` that the number of ranks of a node is not known, so that the resolver fails or
// warns. This happens for a count that is not known. A single listed device is noted only if the
// job `asked` for a rank on each device.
void note_uncounted(Inputs& inputs, const DeviceCount& devices, bool asked = false);

// Returns the ranks of a node: --slots, else `told` (from the platform) if above 0, else the number
// of devices, else 1. If the devices cannot be counted, notes that and returns 1. Returns nothing
// if a path is not in the snapshot yet.
std::optional<int> slots_of_node(Inputs& inputs, int told);

}  // namespace envgen
