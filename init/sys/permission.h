#pragma once
// Permission checks for the effective ids, which a process may have taken for a moment (AsUser of
// as_user.h).

#include <string>

namespace sys {

// Returns true if the effective user has the access R_OK, W_OK or X_OK. `path` is below `directory`
// (or AT_FDCWD), and links are followed. If it returns false, errno is the reason.
//
// glibc's faccessat(AT_EACCESS) is not used. Without faccessat2 (kernels before 5.8, older seccomp
// profiles) it checks the real ids, which are root's.
bool may_access(int directory, const char* path, int access);

// Returns true if the effective user can replace the entry `name`, which may be absent. In another
// user's sticky directory, only the owner of an entry can replace it.
bool may_replace(int directory, const std::string& name);

}  // namespace sys
