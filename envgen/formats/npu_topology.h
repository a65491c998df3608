#pragma once
// The output of `npu-smi info -t topo`: a matrix of the links between the NPUs of a host, and in
// its last column the CPUs near each ("144-167"). Seen from drivers 22 to 25:
//
//            NPU0       NPU1       CPU Affinity
//     NPU0   X          HCCS       144-167
//     NPU1   HCCS       X          0-23
//
// and below it a legend. Super pods of some drivers have no such column.

#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cpu_list.h"

namespace envgen {

struct NpuAffinity {
  int npu = 0;  // the number behind NPU
  CpuList cpus;

  bool operator==(const NpuAffinity&) const = default;
};

// In the order of the lines, each NPU once; those whose CPUs the driver does not tell are left out.
// `where` names the text in errors.
Result<std::vector<NpuAffinity>> parse_npu_topology(std::string_view text, std::string_view where);

}  // namespace envgen
