#pragma once
// Programs that trainit runs with its own rights, although another user may have written the job's
// environment: the tools of drivers (nvidia-smi, npu-smi, hccn_tool), getent, and hooks. Only this
// unit decides where such a program is found and what its environment is. `start` is the
// environment that trainit was started with, never the job's, which scripts and hooks change. Only
// workers call it: a look at a directory may block on a dead mount.

#include <expected>
#include <string>
#include <string_view>

#include "base/environ.h"
#include "envgen/plan/sandbox.h"
#include "init/proc/exec.h"

namespace proc {

struct Tool {
  std::string path;  // a path without '/' is looked up in the PATH of `env`
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

// Finds a program of the image. Root gets it as above, but from the PATH of `start` only. An
// ordinary user gets `name` and `start`.
std::expected<Tool, StartFailure> find_image_tool(const std::string& name,
                                                  const base::Environ& start);

// Returns whether the job's user may change what `path` means, or create it if it is missing. Only
// for root.
bool may_change(const envgen::Identity& job, std::string path);

// Returns the directories of kTrustedPath that exist and that only root may change. Only for root.
std::string trusted_path(const envgen::Identity& job);

// Returns the environment of a hook that root runs for another user's job: `env` with
// trusted_path(), and without the paths that this user may change. TRAINIT_ variables stay
// unchanged, and so does a variable whose name occurs in `text`, the text of the hook. Variables
// that a loader or an interpreter reads first (LD_PRELOAD, PYTHONPATH) are excepted. If the user
// may change HOME, it becomes /root. Only for root.
base::Environ trusted_env(const base::Environ& env, const envgen::Identity& job,
                          std::string_view text);

}  // namespace proc
