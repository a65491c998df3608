#pragma once
// Warm restarts: decides which processes of a plan can have a spare, and whether a spare can become
// the rank that is to be started. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// The file that a spare loads first. It is in WarmPlan::directory, the first entry of the spare's
// PYTHONPATH. envgen/resolve/warm.py has its text, and explains how it works.
inline constexpr std::string_view kWarmFile = "sitecustomize.py";
extern const std::string_view kWarmPython;
// The variable that makes a Python process a spare: "probe FD REST" or "park FD REST". REST is "-"
// if the rank has no PYTHONPATH, otherwise "=" followed by its value.
inline constexpr std::string_view kWarmVariable = "TRAINIT_WARM_PARK";

// Sets plan.warm by request.warm. Requires that the plan has its processes and policy.
void plan_warm(const Inputs& inputs, Plan& plan);

// The conditions of a process's start that modules can depend on during their import.
struct WarmStart {
  std::vector<std::string> argv;
  base::Environ env;
  std::string cwd;
  std::string cpus;
};
// Compares `kept`, with which the spare was started, with `now`, with which the rank should start.
// Returns the first difference that a spare cannot adopt ("its command is another one",
// "OMP_NUM_THREADS is another one"), or "" if there is no such difference. Variables in `free` may
// differ.
std::string warm_difference(const WarmStart& kept, const WarmStart& now,
                            const std::vector<std::string>& free);
// Returns the variables that the spare must set ("NAME=VALUE") or unset ("NAME") to become `now`.
std::vector<std::string> warm_edits(const base::Environ& kept, const base::Environ& now);

// Returns the environment of a spare for a rank whose environment is `env`.
base::Environ warm_environment(const base::Environ& env, const WarmPlan& warm, int channel);
// Returns the command of a spare: the interpreter with its own options. It runs the rank's command
// only if it has loaded kWarmFile. Otherwise the program would already run before the restart.
std::vector<std::string> warm_command(const std::vector<std::string>& argv,
                                      const WarmProcess& process);

}  // namespace envgen
