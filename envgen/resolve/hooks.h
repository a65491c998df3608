#pragma once
// Hooks: programs of an image or a job that trainit runs at events of the job.
//
// Hooks of an event are in the directories <event>.d below /etc/trainit/hooks and below
// --hooks-dir. They run in the order of their file names, those of both directories together. A
// file of --hooks-dir replaces the image's file of the same name; a symlink to /dev/null disables
// it. Names that run-parts and editors ignore are ignored. The lifecycle script is called last, at
// each phase event of the job, with the event's name.

#include <cstdint>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

inline constexpr const char* kHooksDirectory = "/etc/trainit/hooks";

inline constexpr std::size_t kMaxHooks = 256;  // for one event

// Sets plan.hooks. Warns of files that look like hooks but will not run. If no hooks directory
// exists, only one path is looked at.
base::Status find_hooks(Inputs& inputs, Plan& plan);

// Sets plan.hook_env: the plan's facts as variables. Call it after the launcher, for a plan that
// has hooks.
void add_hook_environment(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

// Returns true if a file in a hooks directory is ignored: ".x", "x~", "x.bak", "README.md",
// "x.dpkg-old", "x.rpmsave".
bool is_passed_over(std::string_view name);

}  // namespace envgen
