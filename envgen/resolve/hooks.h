#pragma once
// Hooks: the programs of an image or a job that run at phases of the job.
//
// Hooks are in <event>.d below /etc/trainit/hooks and below --hooks-dir, and run in the order of
// their file names over both. A file of --hooks-dir replaces the image's file of the same name; a
// link to /dev/null disables it. Names that run-parts and editors ignore are ignored here too. The
// lifecycle script is called last, at each phase event of the job, with the event's name.

#include <cstdint>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

inline constexpr const char* kHooksDirectory = "/etc/trainit/hooks";

inline constexpr std::size_t kMaxHooks = 256;  // for one event

// Fills plan.hooks. Warns of files that look like hooks and will not run. Without a hooks directory
// this costs one look at a path.
base::Status find_hooks(Inputs& inputs, Plan& plan);

// Fills plan.hook_env with the plan's facts as variables. Requires a plan with hooks, after its
// launcher.
void add_hook_environment(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

// Returns whether a file beside hooks is no hook: ".x", "x~", "x.bak", "README.md", "x.dpkg-old",
// "x.rpmsave".
bool is_passed_over(std::string_view name);

}  // namespace envgen
