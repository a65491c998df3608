#pragma once
// The commands that talk to the instance that runs: release, hold, extend, checkpoint. Each says
// one line, on stdout what is done, on stderr why not, and ends with 0 done, 1 not now or not
// allowed, 2 no instance, 125 bad input.

#include <optional>
#include <string>

#include "base/result.h"
#include "init/cli/options.h"
#include "init/engine/control/control.h"
#include "init/sys/as_user.h"

namespace cli {

inline constexpr int kNotNow = 1;
inline constexpr int kNoInstance = 2;

// The run directory of the instance that the caller means: the one that it is a process of, else
// that of its container, else the only one. "": none. An error if several are left. Root without an
// instance gets that of the user who runs PID 1, with that user's rights in `rights` for as long as
// `rights` lives: nobody can put a file in the way that only root may read.
envgen::Result<std::string> asked_run_dir(const Options& options, envgen::Environ env,
                                          std::optional<sys::AsUser>& rights);

envgen::Result<engine::ControlRequest> request_of(const Options& options);

// What a person is told of the instance's reply.
envgen::Result<std::string> describe_reply(const engine::ControlRequest& request,
                                           const engine::ControlReply& reply,
                                           const std::string& run_dir);
int code_of(engine::ControlAnswer answer);

// Says that there is none; kNoInstance.
int no_instance(const std::string& what, const std::string& run_dir);

}  // namespace cli
