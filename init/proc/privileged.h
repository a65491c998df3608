#pragma once
// Finds programs that trainit runs with its own rights, although another user may have written the
// job's environment: the tools of drivers (nvidia-smi, npu-smi, hccn_tool), getent, and hooks. Only
// this unit decides which file is run and with which environment. `start` is the environment in
// which trainit was started, and never the job's, which scripts and hooks change. Only workers call
// it, because a look at a directory may block on a dead mount.

#include <expected>
#include <string>
#include <string_view>

#include "base/environ.h"
#include "envgen/plan/sandbox.h"
#include "init/proc/exec.h"

namespace proc {

struct Tool {
  std::string path;  // a name without '/' is searched in the PATH of `env`
  base::Environ env;
  std::string cwd = {};  // "": trainit's own directory
};

// Finds a driver's tool. Root gets a program that no other user may change. The search covers the
// fixed directories of drivers and packages, then those of `start`'s PATH. The environment is a new
// one: a fixed PATH, HOME and LC_ALL, the libraries, and the variables of libc's resolver from
// `start`. The libraries are the drivers' and `start`'s LD_LIBRARY_PATH, without the directories
// that other users may change.
//
// An ordinary user gets `name`, and `start` with the drivers' libraries in front. Exit code 127
// means not found, 126 that other users may change the program.
std::expected<Tool, StartFailure> find_driver_tool(const std::string& name,
                                                   const base::Environ& start);

// Finds a program of the image. For root, the program must be one that no other user can change, as
// above, but the search covers only the PATH of `start`. An ordinary user gets `name` and `start`.
std::expected<Tool, StartFailure> find_image_tool(const std::string& name,
                                                  const base::Environ& start);

// Returns true if the job's user can change what `path` means, or can create it if it is missing.
// Only for root.
bool may_change(const envgen::Identity& job, std::string path);

// Returns those directories of kTrustedPath that exist and that only root can change, as a PATH.
// Only for root.
std::string trusted_path(const envgen::Identity& job);

// Returns the environment of a hook that root runs for another user's job. It is `env` with
// trusted_path(), and without paths that the job's user can change. Variables whose names begin
// with TRAINIT_ stay unchanged. So do variables whose names occur in `text`, the text of the hook,
// except those that a loader or an interpreter reads first (LD_PRELOAD, PYTHONPATH). If the user
// can change HOME, it becomes /root. Only for root.
base::Environ trusted_env(const base::Environ& env, const envgen::Identity& job,
                          std::string_view text);

}  // namespace proc
