#pragma once
// The output of `nvidia-smi -q -x`: an XML log with a DTD that is never fetched. Element names
// differ by driver (nvsmi_device_v10 .. v13), values may be "N/A", "[Not Supported]" or "Requested
// functionality has been deprecated", and sizes have units.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

struct Gpu {
  std::string bus_id;  // as sysfs has it: "0000:0a:00.0"
  std::string name;
  std::string uuid;
  int minor = -1;    // /dev/nvidia<minor>; the log's order is another one
  bool mig = false;  // divided: ranks use its mig_devices
  int mig_devices = 0;
  std::uint64_t uncorrectable = 0;     // ECC errors since the driver was loaded
  std::uint64_t retired_pages = 0;     // or remapped rows, for uncorrectable errors, ever
  bool repair_pending = false;         // a page or row is taken out of use at the next reset
  bool repair_failed = false;          // no spare rows are left
  std::string recovery_action;         // "Reset", "Reboot" ...; "" = none is asked for
  std::vector<std::string> broken;     // elements that say "Unknown Error" and the like
  std::vector<int> pids;               // as the host numbers them
  std::vector<std::string> slowdowns;  // what holds its clocks down: "hw_thermal_slowdown"
  int link_width = 0;                  // PCIe lanes in use, and that it has; 0: not told
  int max_link_width = 0;
  std::string fabric;          // of NVSwitch: its state, or why it failed; "" = well, or none
  bool ecc_off = false;        // on a card that has it
  std::uint64_t used_mib = 0;  // of its memory, by anybody
  std::uint64_t memory_mib = 0;

  bool operator==(const Gpu&) const = default;
};

struct GpuReport {
  std::string driver;
  std::string cuda;
  int attached = 0;                // that the driver has; the log may list fewer
  std::vector<Gpu> gpus;           // in the log's order
  std::vector<std::string> notes;  // lines around the log: "WARNING: infoROM is corrupted ..."

  bool operator==(const GpuReport&) const = default;
};

struct GpuProcess {
  std::string bus_id;  // as sysfs has it
  int pid = 0;         // as the host numbers it; 0 = not told
  std::string name;    // "[Not Found]" from within a container; may be ""

  bool operator==(const GpuProcess&) const = default;
};

// Of `nvidia-smi --query-compute-apps=gpu_bus_id,pid,process_name --format=csv,noheader`; nothing
// where nobody computes. Refuses any other line: it is nvidia-smi's reason.
Result<std::vector<GpuProcess>> parse_compute_apps(std::string_view output, std::string_view where);

// Refuses what is no log, or is cut; nvidia-smi's own message is then what was found.
Result<GpuReport> parse_nvidia_smi(std::string_view output, std::string_view where);

}  // namespace envgen
