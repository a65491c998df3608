#pragma once
// Detects borrowed rights: rights that this program has and its caller does not have. The program
// is then a set-user-ID or set-group-ID file, or a file with capabilities.

#include <sys/types.h>

#include <string>

namespace sys {

// The ids and capabilities that the kernel gave this process at its exec.
struct ExecRights {
  bool secure = false;  // AT_SECURE; also set by a change of the SELinux domain
  uid_t uid = 0;
  uid_t effective_uid = 0;
  gid_t gid = 0;
  gid_t effective_gid = 0;
  bool gains_capabilities = false;  // has permitted capabilities that are not ambient
};
ExecRights exec_rights();

// Returns a text about the borrowed rights: "the set-user-ID bit: uid 1000 would have the rights of
// uid 0". Returns "" if nothing is borrowed.
std::string borrowed(const ExecRights& rights);

}  // namespace sys
