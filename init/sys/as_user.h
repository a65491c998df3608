#pragma once
// Paths with the rights of the job's user.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/safe_path.h"

namespace sys {

// The effective ids and the groups of another user, until it goes out of scope; errno stays. Root's
// only, in a child with a single thread; the signal at the parent's death is armed again each time.
class AsUser {
 public:
  explicit AsUser(const envgen::Identity& who);
  ~AsUser();
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  // Whether the ids are the user's now. Where not, nothing was changed.
  [[nodiscard]] bool switched() const { return switched_; }

 private:
  [[nodiscard]] bool restore_groups() const;

  std::vector<gid_t> groups_;
  gid_t group_;
  bool switched_ = false;
  bool changed_groups_ = false;
};

// Whether there is a job's user who is not us, and whom we, root, can become.
[[nodiscard]] bool is_another_user(const envgen::Identity* job_user);

// Takes the rights of the job's user in `rights`, where there is one that is not us and we are
// root; false: they could not be taken.
[[nodiscard]] bool take_rights(const std::optional<envgen::Identity>& job_user,
                               std::optional<AsUser>& rights);

// As the job's user would, following whatever that user may follow, where it may write in that
// directory; otherwise resolve_safely(). Only root can switch; anybody else just reaches. Switches
// the ids of the process for a moment: only for a child, and one with a single thread.
envgen::Result<SafePath> resolve_safely_as(const envgen::Identity& job_user,
                                           const std::string& path, const SafePathRule& rule = {});

// Does `work` at the place of `path` with the effective ids of the job's user; where that fails,
// with our own, but only where nobody but root and we can change what the path means. Without a
// job, or with one that is us, with our own wherever it is: `work` looks at `weakness` itself. In a
// child with a single thread, as resolve_safely_as().
envgen::Status with_rights_of(const envgen::Identity* job_user, const std::string& path,
                              const SafePathRule& rule,
                              const std::function<envgen::Status(const SafePath&)>& work);

// inspect() of files.h: with the rights of the job's user where anybody but root and we can change
// what the path means. In a process with a single thread, as with_rights_of().
envgen::PathState inspect_as(const envgen::Identity* job_user, const std::string& path,
                             bool read_content);

}  // namespace sys
