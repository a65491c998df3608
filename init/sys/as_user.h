#pragma once
// Access to paths with the rights of the job's user. A switch changes the effective ids of the
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

// A switch to the effective ids and groups of another user, until the end of the scope. It does not
// change errno. Only root can switch. The parent-death signal, which the kernel clears at each
// switch, is set again.
class AsUser {
 public:
  explicit AsUser(const envgen::Identity& who);
  ~AsUser();
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  // Returns true if the ids are now those of the user. Otherwise nothing was changed.
  [[nodiscard]] bool switched() const { return switched_; }

 private:
  [[nodiscard]] bool restore_groups() const;

  std::vector<gid_t> groups_;
  gid_t group_;
  bool switched_ = false;
  bool changed_groups_ = false;
};

// Returns true if trainit must switch: this process is root, and `job_user` is given and is not
// root.
[[nodiscard]] bool is_another_user(const envgen::Identity* job_user);

// Switches to the job's user, in `rights`, if is_another_user() holds; otherwise changes nothing.
// Returns false if the switch failed.
[[nodiscard]] bool take_rights(const std::optional<envgen::Identity>& job_user,
                               std::optional<AsUser>& rights);

// Opens the parent directory of `path` as the job's user, through every link that this user may
// follow. If that user cannot replace the entry there, or if this process is not root, uses
// resolve_safely() with trainit's own rights instead. Only for a child with a single thread.
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
