#pragma once
// Permissions of the effective ids: those that a process has taken for a moment (AsUser,
// safe_path.h).

#include <string>

namespace sys {

// access(2) by the effective ids: `access` of R_OK, W_OK and X_OK, of `path` below `directory` (or
// AT_FDCWD), links followed. False: errno says why. Not by glibc's faccessat(AT_EACCESS), which
// without faccessat2 (kernels before 5.8, older seccomp profiles) asks for the real ids, root's.
bool may_access(int directory, const char* path, int access);

// Whether the effective user may put something else in the place of `name`, there or not: in a
// sticky directory what is another user's stays that one's.
bool may_replace(int directory, const std::string& name);

}  // namespace sys
