#pragma once
// Errors of NVIDIA GPUs in the kernel's log, such as "NVRM: Xid (PCI:0000:0a:00): 79, pid=..., GPU
// has fallen off the bus." (https://docs.nvidia.com/deploy/xid-errors/).

#include <string>
#include <string_view>
#include <vector>

namespace doctor {

struct Xid {
  int code = 0;
  std::string device;  // as in the log: "0000:0a:00"
  std::string text;    // the text after the code

  bool operator==(const Xid&) const = default;
};

// Returns the last error for each pair of device and code, in the order of the log.
std::vector<Xid> find_xids(std::string_view kernel_log);

// Returns true if the code means a fault of the hardware: the card, its memory, its link. Other
// codes are caused by programs, and a log can contain many of them.
bool is_of_hardware(int code);

}  // namespace doctor
