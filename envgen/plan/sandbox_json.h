#pragma once
// A sandbox as `trainit plan` shows it.

#include <string>

#include "base/json.h"
#include "envgen/plan/sandbox.h"

namespace envgen {

// Writes the object {user, capabilities, ambient, no_new_privs, seccomp, limits, umask, nice,
// oom_score_adj}. Parts that were not requested are left out.
void write_sandbox(base::json::Writer& out, const Sandbox& sandbox);

// Returns one line: "user bob (1000:100), capabilities none, no_new_privs".
std::string sandbox_text(const Sandbox& sandbox);

}  // namespace envgen
