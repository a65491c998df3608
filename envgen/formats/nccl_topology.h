#pragma once
// A parser for NCCL's topology file (NCCL_TOPO_FILE, written by clouds and by NCCL_TOPO_DUMP_FILE):
// which CPUs are near which GPU. Format: NVIDIA/nccl src/graph/xml.cc, include/cpuset.h. The parser
// refuses what NCCL silently misreads: masks that are not words of hexadecimal digits, a NUMA node
// -1.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cpu_list.h"

namespace envgen {

struct TopologyNode {
  int numa_node = 0;
  CpuList cpus;                   // never empty
  std::vector<std::string> gpus;  // bus ids by normal_bus_id(), in the order of the file

  bool operator==(const TopologyNode&) const = default;
};

// Returns the file's <cpu> elements. `where` names the file in errors.
base::Result<std::vector<TopologyNode>> parse_nccl_topology(std::string_view document,
                                                            std::string_view where);

// Converts a bus id of nvidia-smi ("00000000:0A:00.0") or of NCCL to the form in sysfs,
// "0000:0a:00.0". Returns nullopt if the text is not a PCI address.
std::optional<std::string> normal_bus_id(std::string_view text);

}  // namespace envgen
