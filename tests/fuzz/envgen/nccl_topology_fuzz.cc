// Any text as NCCL's topology file and as a PCI address; and as a CPU list and a CPU mask, which
// what was read can be written as.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "envgen/formats/cpu_list.h"
#include "envgen/formats/nccl_topology.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check_cpus(const envgen::CpuList& cpus) {
  require(std::ranges::is_sorted(cpus, std::ranges::less_equal()));
  require(cpus.empty() || (cpus.front() >= 0 && cpus.back() < envgen::kMaxCpus));
  require(envgen::parse_cpu_list(envgen::cpu_list_text(cpus)) == cpus);
  require(envgen::common_cpus(cpus, cpus) == cpus);
}

}  // namespace

TRAINIT_FUZZER(nccl_topology) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto cpus = envgen::parse_cpu_list(text)) check_cpus(*cpus);
  if (auto cpus = envgen::parse_cpu_mask(text)) check_cpus(*cpus);
  if (auto id = envgen::normal_bus_id(text)) require(envgen::normal_bus_id(*id) == *id);
  auto nodes = envgen::parse_nccl_topology(text, "fuzz");
  if (!nodes) return 0;
  for (const envgen::TopologyNode& node : *nodes) {
    require(node.numa_node >= 0 && !node.cpus.empty());
    check_cpus(node.cpus);
    for (const std::string& id : node.gpus) require(envgen::normal_bus_id(id) == id);
  }
  return 0;
}
