#pragma once
// Hooks: the programs that an image or a job wants to run at phases of the job.
//
// <event>.d below /etc/trainit/hooks and below --hooks-dir, by file name over both; a file of
// --hooks-dir replaces the image's one of the same name, and a link to /dev/null takes it away.
// Names that run-parts and editors pass over are passed over. The lifecycle script is called last,
// for each phase event of the job, with the event's name.

#include <cstdint>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

inline constexpr const char* kHooksDirectory = "/etc/trainit/hooks";

inline constexpr std::size_t kMaxHooks = 256;  // of one event

// Fills plan.hooks; warns of files that look like hooks and will not run. One look where there is
// no directory.
Status find_hooks(Inputs& inputs, Plan& plan);

// The plan's facts as variables: plan.hook_env. For a plan with hooks, after its launcher.
void add_hook_environment(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

// Beside a hook, not one: ".x", "x~", "x.bak", "README.md", "x.dpkg-old", "x.rpmsave".
bool is_passed_over(std::string_view name);

}  // namespace envgen
