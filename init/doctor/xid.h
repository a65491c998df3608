#pragma once
// The errors of NVIDIA's GPUs in the kernel's log: "NVRM: Xid (PCI:0000:0a:00): 79, pid=..., GPU
// has fallen off the bus." (https://docs.nvidia.com/deploy/xid-errors/).

#include <string>
#include <string_view>
#include <vector>

namespace envgen {

struct Xid {
  int code = 0;
  std::string device;  // "0000:0a:00", as the log has it
  std::string text;    // what stands behind the code

  bool operator==(const Xid&) const = default;
};

// By device and code, the last of each; in the order of the log.
std::vector<Xid> find_xids(std::string_view kernel_log);

// What is broken: the card, its memory, its link. Others tell of programs, which a log is full of.
bool is_of_hardware(int code);

}  // namespace envgen
