#pragma once
// The programs that trainit runs with its own rights although another user may have written the
// job's environment: the tools of the devices' drivers (nvidia-smi, npu-smi, hccn_tool), getent,
// and hooks. The only place that decides where such a program is found and what its environment is.
// `start` is the environment that trainit was started with, never the job's: scripts and hooks
// change that.
// Called by workers: a look at a directory may hang on a dead mount.

#include <expected>
#include <string>
#include <string_view>

#include "base/environ.h"
#include "envgen/plan/sandbox.h"
#include "init/proc/exec.h"

namespace proc {

struct Tool {
  std::string path;  // without '/': to be looked up in the PATH of `env`
  envgen::Environ env;
  std::string cwd = {};  // "": that of trainit
};

// As root: a program that nobody else may change, in one of the fixed directories of drivers and
// packages, then in those of `start`'s PATH. Its environment is made here: a fixed PATH, HOME and
// LC_ALL, the drivers' libraries and `start`'s LD_LIBRARY_PATH, without the directories that others
// may change, and of `start` what the resolver of libc reads. An ordinary user gets `name` and
// `start` with the drivers' libraries in front. Exit code 127: not found; 126: others may change
// it.
std::expected<Tool, StartFailure> find_driver_tool(const std::string& name,
                                                   const envgen::Environ& start);

// The same for a program of the image: in the PATH of `start` only.
std::expected<Tool, StartFailure> find_image_tool(const std::string& name,
                                                  const envgen::Environ& start);

// Whether the job's user may change what `path` means, or make what is not there. Root asks.
bool may_change(const envgen::Identity& job, std::string path);

// The directories of kTrustedPath that are there and that nobody but root may change; root asks.
std::string trusted_path(const envgen::Identity& job);

// The environment of a hook of root's, where the job is another user's: `env` with trusted_path(),
// and without the paths that this user may change. A variable stays as it is if it is TRAINIT's, or
// if `text`, the hook's own, has its name; HOME becomes /root all the same. Root asks.
envgen::Environ trusted_env(const envgen::Environ& env, const envgen::Identity& job,
                            std::string_view text);

}  // namespace proc
