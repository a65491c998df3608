#pragma once
// Accelerators of this node, counted as their frameworks count them, from what the container shows:
// /dev, the kernel's topology and the variables of runtimes. A count is the default for the ranks
// of a node that its platform did not tell. An accelerator under a name that is not known here, or
// that a rank may take a part of, is seen and not counted.

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
    kParts,     // each several that a rank may take, such as the cores of an AWS Neuron device
    kAnything,  // a GPU with tiles or a display's, a TPU or a network card
  };
  std::string_view prefix;            // of the name below /dev; digits follow
  std::string_view process_variable;  // which of them a process may use
  std::string_view runtime_variable;  // which of them the container was given; "" = none
  Holds holds = Holds::kDevice;       // what one file stands for
};
std::span<const DeviceKind> device_kinds();

struct DeviceCount {
  int count = 0;       // known: 0 on a CPU node; else files or items, 0 where one may hold several
  std::string source;  // "/dev/nvidia0 and 7 more", "CUDA_VISIBLE_DEVICES"
  bool known = true;   // false: accelerators, but not how many ranks they are for
  bool sure = true;    // false: not known, and perhaps no accelerators
};

// Nothing when a path is not in the snapshot yet. Kinds with a file for each device (NVIDIA,
// Cambricon, Ascend, Habana, TPU), narrowed by <KIND>_VISIBLE_DEVICES, and AMD's GPUs by the
// kernel's topology. NVIDIA's MIG devices count as one: a process sees no second one.
// Not known: GPUs with a render node alone, kinds that hold several, numbered devices of any other
// name in a /dev that was filled for the container, a *_VISIBLE_DEVICES without a device. A list
// for processes (ZE_AFFINITY_MASK, HIP_VISIBLE_DEVICES) makes a count known. Not sure: those other
// names without such a list, a single render node.
std::optional<DeviceCount> count_devices(Inputs& inputs);

// The same without the signs of other kinds: 0 then.
std::optional<DeviceCount> count_known_kinds(Inputs& inputs);

// The devices that lists pick, where /dev says nothing: the shortest one's. Not known without one.
DeviceCount devices_listed(const Inputs& inputs);

// Paths of the files of a kind below /dev, by number; nothing as above.
std::optional<std::vector<std::string>> device_files(Inputs& inputs, const PathState& dev,
                                                     std::string_view prefix);

// The numbers behind `prefix` in the names of a listing of /dev, ascending: nvidia0 is one of
// "nvidia", nvidiactl none.
std::vector<int> device_numbers(const PathState& dev, std::string_view prefix);

// Notes in `inputs` that the ranks of a node are not known, for the resolver to ask or to warn: of
// a count that is not known, and of a single listed device where the job `asked` for a rank on
// each.
void note_uncounted(Inputs& inputs, const DeviceCount& devices, bool asked = false);

// --slots, else `told` when it is above 0, else the devices, else 1. Devices that cannot be counted
// are noted, and 1 stands for them. Nothing as above.
std::optional<int> slots_of_node(Inputs& inputs, int told);

}  // namespace envgen
