#pragma once
// The look at a hook right before it runs: whether only root could have written it, whether it
// applies, and which environment it may have. The look examines the hook's path, its interpreter's
// and the paths in its variables. A mount that does not answer may block each of these calls for
// ever. A child therefore does the look, within the hook's time limit.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/fields.h"
#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace engine {

struct HookLook {
  // Reason why the hook may not run, as the parts of an Error; `found` is "" if it may run.
  std::string where;
  std::string found;
  std::string fix;
  bool applies = true;
  std::vector<std::string> env;   // the complete environment of the hook
  bool leaves_directory = false;  // start in /: the job's user may write in the current directory
};
inline void fields(base::FieldVisitor& v, HookLook& look) {
  v("where", look.where);
  v("found", look.found);
  v("fix", look.fix);
  v("applies", look.applies);
  v("env", look.env, {.most_items = 1U << 20});
  v("leaves_directory", look.leaves_directory);
}

// Returns the beginning of a hook, which contains its condition; "" if it cannot be read.
std::string hook_head(const std::string& path);

// Returns the look at the hook `path`, which would start with `env`. `is_script`: the lifecycle
// script, which always applies. May block for ever.
HookLook look_at_hook(const std::string& path, bool is_script, const base::Environ& env,
                      const std::optional<envgen::Identity>& job);

}  // namespace engine
