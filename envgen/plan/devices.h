#pragma once
// Accelerators of this node, counted from what the container shows: /dev and the variables of the
// container runtimes. A count is the default for the ranks of a node that its platform did not
// tell.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"

namespace envgen {

struct DeviceKind {
  std::string_view prefix;            // of the name under /dev; digits follow
  std::string_view process_variable;  // which of them a process may use
  std::string_view runtime_variable;  // which of them the container was given
};
std::span<const DeviceKind> device_kinds();

// How many a list such as CUDA_VISIBLE_DEVICES names, as far as CUDA reads it.
int count_listed(std::string_view list);

struct DeviceCount {
  int count = 0;       // 0: a CPU node
  std::string source;  // "/dev/nvidia0 and 7 more", "CUDA_VISIBLE_DEVICES"
};

// Nothing when /dev is not in the snapshot yet. GPUs (/dev/nvidia<N>), Cambricon MLUs
// (/dev/cambricon_dev<N>) or Ascend NPUs (/dev/davinci<N>); <KIND>_VISIBLE_DEVICES narrows them.
std::optional<DeviceCount> count_devices(Inputs& inputs);

// The numbers behind `prefix` in the names of a listing of /dev, ascending: nvidia0 is one of
// "nvidia", nvidiactl none.
std::vector<int> device_numbers(const PathState& dev, std::string_view prefix);

// --slots, else `told` when it is above 0, else the devices, else 1. Nothing as above.
std::optional<int> slots_of_node(Inputs& inputs, int told);

}  // namespace envgen
