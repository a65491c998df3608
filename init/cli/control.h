#pragma once
// The commands that talk to the running instance: release, hold, extend, checkpoint. Each prints
// one line: the result on stdout, or a reason on stderr. Exit codes: 0 done, 1 not now or not
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

// Returns the run directory of the instance that the caller means, or "" if there is no directory.
// The instance is the one above the calling process, otherwise PID 1 of its container, otherwise
// the only one. If several remain, that is an error. Without a running instance the directory can
// be that of the last one. If root has no instance, it gets that of the user of PID 1. `rights`
// then holds that user's rights for as long as it lives, so a file that only root may read cannot
// be substituted.
base::Result<std::string> asked_run_dir(const Options& options, base::Environ env,
                                        std::optional<sys::AsUser>& rights);

base::Result<engine::ControlRequest> request_of(const Options& options);

// Returns the line that tells the user the instance's reply.
base::Result<std::string> describe_reply(const engine::ControlRequest& request,
                                         const engine::ControlReply& reply,
                                         const std::string& run_dir);
int code_of(engine::ControlAnswer answer);

// Prints that no instance runs and returns kNoInstance.
int no_instance(const std::string& what, const std::string& run_dir);

}  // namespace cli
