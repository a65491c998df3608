#pragma once
// Parser for the output of `nvidia-smi -q -x`: an XML log with a DTD that is never fetched. Element
// names differ by driver (nvsmi_device_v10 .. v13). Values can be "N/A", "[Not Supported]" or
// "Requested functionality has been deprecated". Sizes have units.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace doctor {

struct Gpu {
  std::string bus_id;  // as in sysfs: "0000:0a:00.0"
  std::string name;
  std::string uuid;
  int minor = -1;    // number in /dev/nvidia<minor>; the log has another order
  bool mig = false;  // the GPU is partitioned: ranks use its mig_devices
  int mig_devices = 0;
  std::uint64_t uncorrectable = 0;  // ECC errors since the driver was loaded
  std::uint64_t retired_pages = 0;  // pages or rows that were ever taken out of use because of
                                    // uncorrectable errors
  bool repair_pending = false;      // the next reset takes a page or row out of use
  bool repair_failed = false;       // no spare rows are left
  std::string recovery_action;      // "Reset", "Reboot" ...; "" = no action needed
  std::vector<std::string> broken;  // elements whose text reports a fault, such as "Unknown Error"
  std::vector<int> pids;            // processes that use the GPU, in the host's numbering
  std::vector<std::string> slowdowns;  // reasons for low clocks: "hw_thermal_slowdown"
  int link_width = 0;  // PCIe lanes in use; the next member is their maximum; 0 = unknown
  int max_link_width = 0;
  std::string fabric;          // state or fault of the NVSwitch; "" = no fault, or no NVSwitch
  bool ecc_off = false;        // the card supports ECC, but it is off
  std::uint64_t used_mib = 0;  // memory used by all processes
  std::uint64_t memory_mib = 0;

  bool operator==(const Gpu&) const = default;
};

struct GpuReport {
  std::string driver;
  std::string cuda;
  int attached = 0;                // number of GPUs that the driver has; the log can contain fewer
  std::vector<Gpu> gpus;           // in the order of the log
  std::vector<std::string> notes;  // lines before or after the log: "WARNING: infoROM is corrupted
                                   // ..."

  bool operator==(const GpuReport&) const = default;
};

struct GpuProcess {
  std::string bus_id;  // as in sysfs
  int pid = 0;         // pid in the host's numbering; 0 = unknown
  std::string name;    // "[Not Found]" from within a container; can be ""

  bool operator==(const GpuProcess&) const = default;
};

// Parses the output of `nvidia-smi --query-compute-apps=gpu_bus_id,pid,process_name
// --format=csv,noheader`. The result is empty if no process computes. Any line of another form is a
// message of nvidia-smi, and becomes the error.
base::Result<std::vector<GpuProcess>> parse_compute_apps(std::string_view output,
                                                         std::string_view where);

// Parses the log. If the output is not a log or is cut off, the error's `found` is nvidia-smi's own
// message.
base::Result<GpuReport> parse_nvidia_smi(std::string_view output, std::string_view where);

}  // namespace doctor
