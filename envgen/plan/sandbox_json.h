#pragma once
// A sandbox as `trainit plan` shows it.

#include <string>

#include "base/json.h"
#include "envgen/plan/sandbox.h"

namespace envgen {

// The object {user, capabilities, ambient, no_new_privs, seccomp, limits, umask, nice,
// oom_score_adj} without what was not asked for.
void write_sandbox(json::Writer& out, const Sandbox& sandbox);

// "user bob (1000:100), capabilities none, no_new_privs": one line.
std::string sandbox_text(const Sandbox& sandbox);

}  // namespace envgen
