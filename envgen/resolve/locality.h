#pragma once
// Locality: which devices of this container are its ranks', and which CPUs are near them. Of GPUs
// NCCL's topology file says it, else the kernel (/sys/bus/pci/devices/<id>); their PCI addresses
// are the driver's
// (/proc/driver/nvidia/gpus), else the topology file's. Of Ascend NPUs `npu-smi info -t topo` says
// it.

#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cpu_list.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

struct Locality {
  CpuList cpus;  // empty: not known
  // Who says so: "NUMA node 0 of GPU 0000:10:1c.0 (sysfs)". For empty `cpus`: why nobody does.
  std::string reason;
};

// Of the NPUs with these physical ids, in their order; without any of all devices that processes
// with this environment see, in CUDA's order or CANN's. An error: a source that must not be
// believed. Provisional as long as the snapshot lacks paths.
Result<std::vector<Locality>> find_localities(Inputs& inputs, const Environ& env,
                                              const std::vector<int>& npus);

// The device files of the same devices: those that a variable (CUDA_VISIBLE_DEVICES and its like)
// picks, all of /dev where it names one that cannot be told. Provisional as above.
std::vector<DeviceWait::Device> find_devices(Inputs& inputs, const Environ& env,
                                             const std::vector<int>& npus);

}  // namespace envgen
