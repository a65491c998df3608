#pragma once
// The check of a hook right before it runs. It finds out whether only root could have written the
// hook, whether the hook's condition applies, and which environment the hook may have. The check
// examines the paths of the hook, of its interpreter and in its variables. On a mount that does not
// answer, such a call blocks for ever. So a child makes the check, within the hook's time limit.

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
  // The reason why the hook may not run, as the parts of a base::Error. If `found` is "", the hook
  // may run.
  std::string where;
  std::string found;
  std::string fix;
  bool applies = true;
  std::vector<std::string> env;  // the complete environment of the hook
  // Start the hook in /, because the job's user can write to the current directory.
  bool leaves_directory = false;
};
inline void fields(base::FieldVisitor& v, HookLook& look) {
  v("where", look.where);
  v("found", look.found);
  v("fix", look.fix);
  v("applies", look.applies);
  v("env", look.env, {.most_items = 1U << 20});
  v("leaves_directory", look.leaves_directory);
}

// Returns the first bytes of a hook, which contain its condition. Returns "" if the file cannot be
// read.
std::string hook_head(const std::string& path);

// Checks the hook `path`, which would start with `env`. `is_script`: the hook is the lifecycle
// script, which has no condition. `job`: the job's user; nullopt if it is trainit's own. May block
// for ever.
HookLook look_at_hook(const std::string& path, bool is_script, const base::Environ& env,
                      const std::optional<envgen::Identity>& job);

}  // namespace engine
