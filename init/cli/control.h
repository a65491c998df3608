#pragma once
// The commands that talk to the instance that runs: release, hold, extend, checkpoint. Each says
// one line, on stdout what is done, on stderr why not, and ends with 0 done, 1 not now or not
// allowed, 2 no instance, 125 bad input.

#include <string>

#include "base/result.h"
#include "init/cli/invocation.h"
#include "init/cli/options.h"
#include "init/engine/control/control.h"

namespace cli {

inline constexpr int kNotNow = 1;
inline constexpr int kNoInstance = 2;

// The arguments of a command that takes options alone; `env` gets the run directory that they name.
envgen::Result<Options> options_alone(Arguments arguments, envgen::Environ& env);

// A request as it stands on the command line of `name`, with the arguments that are none of it.
struct Asked {
  engine::ControlRequest request;
  std::vector<std::string> rest;
};
envgen::Result<Asked> parse_request(std::string_view name, Arguments arguments);

// What a person is told of the instance's reply.
envgen::Result<std::string> describe_reply(const engine::ControlRequest& request,
                                           const engine::ControlReply& reply,
                                           const std::string& run_dir);
int code_of(engine::ControlAnswer answer);

// Says that there is none; kNoInstance.
int no_instance(const std::string& what, const std::string& run_dir);

}  // namespace cli
