#pragma once
// Parser for the output of `npu-smi info`: a table with two lines per chip, and a table of
// processes. The widths, and the meaning of the second word in the second line, differ by version:
//   | NPU   Name      | Health  | Power(W)  Temp(C)  Hugepages-Usage(page) |
//   | Chip            | Bus-Id  | ...   910B: one chip an NPU
//   | Chip  Phy-ID    | Bus-Id  | ...   A3: two chips, numbered through; or "NA"
//   | Chip  Device    | Bus-Id  | ...   310P: a chip's number in the driver; no HBM column
// Sources: samples of npu-smi 22.0 to 26.0.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace doctor {

struct NpuChip {
  int npu = 0;
  int chip = 0;        // number on this NPU: 0, 1
  int device = 0;      // /dev/davinci<device>
  std::string name;    // "910B4"
  std::string health;  // "OK", "Warning", "Alarm", "Critical", "UNKNOWN"
  std::string bus_id;  // sysfs form: "0000:c1:00.0"; "" for "NA"

  bool operator==(const NpuChip&) const = default;
};

struct NpuProcess {
  int npu = 0;
  int chip = 0;
  int pid = 0;       // host's numbering
  std::string name;  // can be ""

  bool operator==(const NpuProcess&) const = default;
};

struct NpuReport {
  std::string version;
  std::vector<NpuChip> chips;
  std::vector<NpuProcess> processes;

  bool operator==(const NpuReport&) const = default;
};

// Parses the output. A table without its header, or with half a chip, is an error that names the
// line.
base::Result<NpuReport> parse_npu_smi(std::string_view output, std::string_view where);

}  // namespace doctor
