#pragma once
// Permission checks for the effective ids, which a process may have taken for a moment (AsUser of
// as_user.h).

#include <string>

namespace sys {

// Checks, as access(2) with the effective ids, `access` of R_OK, W_OK and X_OK. `path` is below
// `directory` (or AT_FDCWD), links are followed. If it returns false, errno is the reason.
//
// glibc's faccessat(AT_EACCESS) is not used: without faccessat2 (kernels before 5.8, older seccomp
// profiles) it checks the real ids, root's.
bool may_access(int directory, const char* path, int access);

// Returns whether the effective user may replace the entry `name`, which may be absent. Only the
// owner of an entry may replace it in another user's sticky directory.
bool may_replace(int directory, const std::string& name);

}  // namespace sys
