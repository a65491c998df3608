#pragma once
// Access to paths with the rights of the job's user. Each switch changes the effective ids of the
// whole process, so these functions are only for a child with a single thread.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/safe_path.h"

namespace sys {

// The effective ids and the groups of another user, until the end of the scope. errno is preserved.
// Only root can switch. The parent-death signal is armed again at each switch.
class AsUser {
 public:
  explicit AsUser(const envgen::Identity& who);
  ~AsUser();
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  // Returns whether the ids are now the user's. If not, nothing was changed.
  [[nodiscard]] bool switched() const { return switched_; }

 private:
  [[nodiscard]] bool restore_groups() const;

  std::vector<gid_t> groups_;
  gid_t group_;
  bool switched_ = false;
  bool changed_groups_ = false;
};

// Returns whether this process is root and `job_user` is given and is not root, so that trainit has
// to switch.
[[nodiscard]] bool is_another_user(const envgen::Identity* job_user);

// Switches to the job's user, in `rights`, if is_another_user() holds; otherwise changes nothing.
// Returns false if the switch failed.
[[nodiscard]] bool take_rights(const std::optional<envgen::Identity>& job_user,
                               std::optional<AsUser>& rights);

// Opens the parent of `path` as the job's user, through every link that this user may follow. If
// the user may not replace the entry there, or this process is not root, calls resolve_safely()
// with trainit's own rights. Only for a child with a single thread.
base::Result<SafePath> resolve_safely_as(const envgen::Identity& job_user, const std::string& path,
                                         const SafePathRule& rule = {});

// Runs `work` on the resolved `path` with the effective ids of the job's user. If that fails, runs
// it with trainit's own ids, but only if no user except root and trainit's can change what the path
// means. If is_another_user() is false, runs it with trainit's own ids for any path, and `work`
// must check `untrusted_directory`. Only for a child with a single thread.
base::Status with_rights_of(const envgen::Identity* job_user, const std::string& path,
                            const SafePathRule& rule,
                            const std::function<base::Status(const SafePath&)>& work);

// Inspects `path` (inspect() of path_state.h). If any user except root and trainit's can change
// what the path means, uses the rights of the job's user. Only for a process with a single thread.
envgen::PathState inspect_as(const envgen::Identity* job_user, const std::string& path,
                             bool read_content);

}  // namespace sys
