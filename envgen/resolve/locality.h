#pragma once
// Locality: the devices that the ranks of this container use, and the CPUs near these devices.
// Sources:
// - GPUs: NCCL's topology file, otherwise the kernel (/sys/bus/pci/devices/<id>). Their PCI
//   addresses
// come from the driver (/proc/driver/nvidia/gpus), otherwise from the topology file.
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
  // Where `cpus` comes from: "NUMA node 0 of GPU 0000:10:1c.0 (sysfs)". If `cpus` is empty: why
  // they are not known.
  std::string reason;
};

// Returns the localities of the NPUs with these physical ids, in the same order. If `npus` is
// empty, returns those of all devices that processes with this environment see, in the order of
// CUDA or CANN. Fails if a source is malformed. The result is provisional while the snapshot lacks
// paths.
base::Result<std::vector<Locality>> find_localities(Inputs& inputs, const base::Environ& env,
                                                    const std::vector<int>& npus);

// Returns the device files of these devices: those that a variable such as CUDA_VISIBLE_DEVICES
// selects. If the variable names a device that cannot be identified, returns all device files in
// /dev. The result is provisional while the snapshot lacks paths.
std::vector<DeviceWait::Device> find_devices(Inputs& inputs, const base::Environ& env,
                                             const std::vector<int>& npus);

}  // namespace envgen
