#pragma once
// Parser for the output of `npu-smi info`: a table with two lines per chip, and a table of
// processes. The widths, and the meaning of the second word in the second line, differ by device:
//   | NPU   Name      | Health  | Power(W)  Temp(C)  Hugepages-Usage(page) |
//   | Chip            | Bus-Id  | ...   910B: one chip per NPU, no second word
//   | Chip  Phy-ID    | Bus-Id  | ...   A3: two chips per NPU; ids count across NPUs; can be "NA"
//   | Chip  Device    | Bus-Id  | ...   310P: number of the chip in the driver; no HBM column
// Sources: samples of npu-smi 22.0 to 26.0.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace doctor {

struct NpuChip {
  int npu = 0;
  int chip = 0;        // number on this NPU: 0, 1
  int device = 0;      // number in /dev/davinci<device>
  std::string name;    // "910B4"
  std::string health;  // "OK", "Warning", "Alarm", "Critical", "UNKNOWN"
  std::string bus_id;  // as in sysfs: "0000:c1:00.0"; "" if the tool shows "NA"

  bool operator==(const NpuChip&) const = default;
};

struct NpuProcess {
  int npu = 0;
  int chip = 0;
  int pid = 0;       // pid in the host's numbering, not the container's
  std::string name;  // can be ""

  bool operator==(const NpuProcess&) const = default;
};

struct NpuReport {
  std::string version;
  std::vector<NpuChip> chips;
  std::vector<NpuProcess> processes;

  bool operator==(const NpuReport&) const = default;
};

// Parses the output. Fails if a table has no header, or a chip only one of its lines; the error
// names the line.
base::Result<NpuReport> parse_npu_smi(std::string_view output, std::string_view where);

}  // namespace doctor
