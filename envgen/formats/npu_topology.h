#pragma once
// A parser for the output of `npu-smi info -t topo`: a matrix of the links between the NPUs of a
// host. The last column has the CPUs near each NPU ("144-167"). Observed with drivers 22 to 25:
//
//          NPU0       NPU1       CPU Affinity
//   NPU0   X          HCCS       144-167
//   NPU1   HCCS       X          0-23
//
// A legend follows the matrix. On super pods, some drivers print no CPU column.

#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cpu_list.h"

namespace envgen {

struct NpuAffinity {
  int npu = 0;  // the number after "NPU"
  CpuList cpus;

  bool operator==(const NpuAffinity&) const = default;
};

// Returns each NPU once, in the order of the lines. NPUs whose CPUs the driver does not report are
// left out. `where` names the text in errors.
base::Result<std::vector<NpuAffinity>> parse_npu_topology(std::string_view text,
                                                          std::string_view where);

}  // namespace envgen
