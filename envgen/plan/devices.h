#pragma once
// Counts the accelerators of this node as their frameworks do. The count comes from what the
// container shows: /dev, the kernel's topology and the variables of container runtimes. It is the
// default number of ranks of a node if the platform gives none. Two kinds of accelerators are seen
// but not counted: those with an unknown name, and those of which a rank may use a part.

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
    kParts,     // several parts, of which a rank may use some, such as the cores of an AWS Neuron
                // device
    kAnything,  // not known: a GPU with tiles or one for a display, a TPU or a network card
  };
  std::string_view prefix;            // beginning of the file's name below /dev; digits follow
  std::string_view process_variable;  // names the devices that a process may use
  std::string_view runtime_variable;  // names the devices that the container was given; "" = none
  Holds holds = Holds::kDevice;       // what one device file stands for
};
std::span<const DeviceKind> device_kinds();

struct DeviceCount {
  int count = 0;  // if known: the number, 0 on a CPU node; otherwise files or items, or 0 if one
                  // may hold several
  std::string source;  // where the count comes from: "/dev/nvidia0 and 7 more",
                       // "CUDA_VISIBLE_DEVICES"
  bool known = true;   // false: accelerators exist, but the number of ranks for them is not known
  bool sure = true;    // false: not known, and the devices may be no accelerators
};

// Counts the devices of this node. Returns nullopt while the snapshot lacks a path.
// - Known: kinds with a file for each device (NVIDIA, Cambricon, Ascend, Habana, TPU), narrowed by
// <KIND>_VISIBLE_DEVICES. AMD's GPUs, counted by the kernel's topology. NVIDIA's MIG devices count
// as one, because a process sees only one of them.
// - Not known: GPUs with only a render node, kinds whose file can hold several, a *_VISIBLE_DEVICES
// without a device. Also numbered devices of any other name, in a /dev that was filled for the
// container. A variable that lists the devices for processes (ZE_AFFINITY_MASK,
// HIP_VISIBLE_DEVICES) makes a count known.
// - Not sure: those other names without a *_VISIBLE_DEVICES list, and a single render node.
std::optional<DeviceCount> count_devices(Inputs& inputs);

// Counts like count_devices(), but only kinds with a known name. A node with only other devices has
// the count 0.
std::optional<DeviceCount> count_known_kinds(Inputs& inputs);

// Counts the devices that variables list, for a container whose /dev shows none. The shortest list
// applies. If no variable has a list, the count is not known.
DeviceCount devices_listed(const Inputs& inputs);

// Returns the paths of a kind's device files below /dev, sorted by number. Returns nullopt while
// the snapshot lacks a path.
std::optional<std::vector<std::string>> device_files(Inputs& inputs, const PathState& dev,
                                                     std::string_view prefix);

// Returns the numbers after `prefix` in the names of /dev, in ascending order. For "nvidia", the
// name nvidia0 has a number, nvidiactl does not.
std::vector<int> device_numbers(const PathState& dev, std::string_view prefix);

// Notes in `inputs` that the number of this node's ranks is not known, so that the resolver fails
// or warns. Does nothing if the count is known. A count of one listed device is noted only if the
// job `asked` for a rank on each device.
void note_uncounted(Inputs& inputs, const DeviceCount& devices, bool asked = false);

// Returns the number of ranks of a node: --slots, otherwise `told` (from the platform) if it is
// above 0, otherwise the number of devices, otherwise 1. If the devices cannot be counted, notes
// that and returns 1. Returns nullopt while the snapshot lacks a path.
std::optional<int> slots_of_node(Inputs& inputs, int told);

}  // namespace envgen
