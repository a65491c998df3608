#pragma once
// Where a tool of the devices' drivers (nvidia-smi, npu-smi, hccn_tool) is, and what it is run
// with. For workers: looking may hang on a dead mount.

#include <expected>
#include <string>

#include "envgen/environ.h"
#include "init/proc/exec.h"

namespace proc {

struct DriverTool {
  std::string path;  // without '/': to be looked up in the PATH of `env`
  envgen::Environ env;
};

// Root runs only what nobody else may write: looked for where drivers and images install it, then
// in the PATH of `env`, and started without what LD_* names, but with the drivers' own libraries.
// An ordinary user gets `name` and `env` back. Exit code 127: not found; 126: others may write it.
std::expected<DriverTool, StartFailure> find_driver_tool(const std::string& name,
                                                         const envgen::Environ& env);

}  // namespace proc
