#pragma once
// Parsers for /etc/passwd and /etc/group, which also find the user and group that USER[:GROUP]
// means. A static binary has no name service, so users of LDAP and NIS are known only by number.
//
// Lines are read as glibc's "files" service reads them. Blank lines, comments (#), NIS entries (+
// and -) and lines without readable numbers are skipped. Fields after the gid may be missing.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

struct PasswdEntry {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;   // "" if missing in the line
  std::string shell;  // "" if missing in the line

  bool operator==(const PasswdEntry&) const = default;
};

struct GroupEntry {
  std::string name;
  std::uint32_t gid = 0;
  std::vector<std::string> members;

  bool operator==(const GroupEntry&) const = default;
};

// Return the entries of a text in the order of its lines. If several entries have the same name or
// number, the first one counts.
std::vector<PasswdEntry> parse_passwd(std::string_view text);
std::vector<GroupEntry> parse_group(std::string_view text);

// The highest possible uid and gid. The next number, -1, means "do not change" to the kernel.
inline constexpr std::uint32_t kMaxId = 0xFFFF'FFFE;
// The maximum number of groups for setgroups(2).
inline constexpr std::size_t kMaxGroups = 65'536;

// Finds the identity that `docker run --user USER[:GROUP]` would use, by Docker's rules:
//  - A number is always an id, even if there is a user with that name.
//  - A uid without an entry has gid 0 and the home "/".
//  - Supplementary groups are those that list the user; if GROUP is given, only GROUP.
// Fails for a name without an entry. `option` names the place in errors.
base::Result<envgen::Identity> find_identity(std::string_view spec, std::string_view passwd,
                                             std::string_view group, std::string_view option);

// Adds to `identity` the groups that the platform gave to this process. `present` are the
// supplementary groups of this process. Those that `own` does not contain come from the platform:
// `own` are the groups of this process's user in the image. Docker adds such groups with
// --group-add, Kubernetes with fsGroup and supplementalGroups.
void keep_platform_groups(envgen::Identity& identity, const std::vector<std::uint32_t>& present,
                          const envgen::Identity& own);

}  // namespace sandbox
