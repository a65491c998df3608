#pragma once
// Borrowed rights, which this program has and whoever started it has not: a set-user-ID or
// set-group-ID copy, or one with file capabilities.

#include <sys/types.h>

#include <string>

namespace sys {

// What the kernel says of an exec.
struct ExecRights {
  bool secure = false;  // AT_SECURE; a change of the SELinux domain sets it too
  uid_t uid = 0;
  uid_t effective_uid = 0;
  gid_t gid = 0;
  gid_t effective_gid = 0;
  bool gains_capabilities = false;  // permitted, and not ambient ones of the caller
};
ExecRights exec_rights();

// "the set-user-ID bit: uid 1000 has the rights of uid 0"; "" where nothing is borrowed.
std::string borrowed(const ExecRights& rights);

}  // namespace sys
