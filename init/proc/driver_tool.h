#pragma once
// The path of a tool that trainit asks by itself, and what it is run with: those of the devices'
// drivers (nvidia-smi, npu-smi, hccn_tool), and the image's getent. Root runs only what nobody else
// may write, without LD_*; an ordinary user gets `name` and `env` back. Exit code 127: not found;
// 126: others may write it. For workers: looking may hang on a dead mount.

#include <expected>
#include <string>

#include "base/environ.h"
#include "init/proc/exec.h"

namespace proc {

struct Tool {
  std::string path;  // without '/': to be looked up in the PATH of `env`
  envgen::Environ env;
};

// Where drivers and images install it, then in the PATH of `env`; with the drivers' own libraries.
std::expected<Tool, StartFailure> find_driver_tool(const std::string& name,
                                                   const envgen::Environ& env);

// In the PATH of `env`.
std::expected<Tool, StartFailure> find_image_tool(const std::string& name,
                                                  const envgen::Environ& env);

}  // namespace proc
