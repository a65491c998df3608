#pragma once
// Locality: the devices that this container's ranks use, and the CPUs near them. The sources:
// - GPUs: NCCL's topology file, else the kernel (/sys/bus/pci/devices/<id>). Their PCI addresses
//   come from the driver (/proc/driver/nvidia/gpus), else from the topology file.
// - Ascend NPUs: `npu-smi info -t topo`.

#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cpu_list.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

struct Locality {
  CpuList cpus;  // empty: not known
  // Source of `cpus`: "NUMA node 0 of GPU 0000:10:1c.0 (sysfs)". If `cpus` is empty: why they are
  // not known.
  std::string reason;
};

// Returns the localities of the NPUs with these physical ids, in their order. If `npus` is empty,
// returns those of all devices that processes with this environment see, in CUDA's order or CANN's.
// Error: a source that must not be believed. The result is provisional while the snapshot lacks
// paths.
base::Result<std::vector<Locality>> find_localities(Inputs& inputs, const base::Environ& env,
                                                    const std::vector<int>& npus);

// Returns the device files of the same devices: those that a variable such as CUDA_VISIBLE_DEVICES
// picks. If it names a device that cannot be identified, returns all of /dev. The result is
// provisional while the snapshot lacks paths.
std::vector<DeviceWait::Device> find_devices(Inputs& inputs, const base::Environ& env,
                                             const std::vector<int>& npus);

}  // namespace envgen
