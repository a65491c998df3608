#pragma once
// Warm restarts: which processes of a plan can be kept warm, and whether one that was kept may
// become the rank that starts now. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// The file that a process which stands by loads before anything else, below WarmPlan::directory,
// which stands in front on its PYTHONPATH. envgen/resolve/warm.py has its text, and says how it
// works.
inline constexpr std::string_view kWarmFile = "sitecustomize.py";
extern const std::string_view kWarmPython;
// What tells it to stand by: "probe FD REST" or "park FD REST". REST is "-" for a rank without
// PYTHONPATH, else "=" with its value.
inline constexpr std::string_view kWarmVariable = "TRAINIT_WARM_PARK";

// Fills plan.warm as request.warm asks for. For a plan with its processes and policy.
void plan_warm(const Inputs& inputs, Plan& plan);

// How a process is started, as far as modules may see it while they are imported.
struct WarmStart {
  std::vector<std::string> argv;
  Environ env;
  std::string cwd;
  std::string cpus;
};
// What a rank that starts as `now` has that one which was kept warm as `kept` cannot have: "its
// command is another one", "OMP_NUM_THREADS is another one"; "" = they are alike but for the
// variables that may be others.
std::string warm_difference(const WarmStart& kept, const WarmStart& now,
                            const std::vector<std::string>& free);
// The variables that it has to set ("NAME=VALUE") or to unset ("NAME") to be `now`.
std::vector<std::string> warm_edits(const Environ& kept, const Environ& now);

// The environment that such a process is started with, for a rank with `env`.
Environ warm_environment(const Environ& env, const WarmPlan& warm, int channel);
// The command that starts it: the interpreter with its own options, which runs the rank's command
// only where it has loaded kWarmFile. The program itself must not run before its time.
std::vector<std::string> warm_command(const std::vector<std::string>& argv,
                                      const WarmProcess& process);

}  // namespace envgen
