// Any text as what `npu-smi info -t topo` prints.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "envgen/formats/npu_topology.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(npu_topology) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto list = envgen::parse_npu_topology(text, "fuzz");
  if (!list) return 0;
  std::set<int> distinct;
  for (const envgen::NpuAffinity& one : *list) {
    if (one.npu < 0 || one.cpus.empty() || !distinct.insert(one.npu).second) std::abort();
  }
  if (list->empty()) std::abort();
  return 0;
}
