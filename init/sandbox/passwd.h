#pragma once
// Parsers of /etc/passwd and /etc/group, and the identity that USER[:GROUP] names in these texts. A
// static binary has no name service: users of LDAP and NIS are known by number only.
//
// Lines are read as by glibc's "files" service. Blank lines, comments (#), NIS entries (+ and -)
// and lines without readable numbers are skipped. Fields after the gid may be missing.

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

// Parse a text, in the order of its lines. If several entries have a name or number, the first is
// valid.
std::vector<PasswdEntry> parse_passwd(std::string_view text);
std::vector<GroupEntry> parse_group(std::string_view text);

// The highest uid and gid: the next one, -1, means "do not change" to the kernel.
inline constexpr std::uint32_t kMaxId = 0xFFFF'FFFE;
// The limit of setgroups(2).
inline constexpr std::size_t kMaxGroups = 65'536;

// Finds the identity that `docker run --user USER[:GROUP]` would use, by Docker's rules:
//   - A number is always an id, even if a name looks like it.
//   - A uid without an entry has gid 0 and the home "/".
//   - Supplementary groups are those that list the user; with GROUP there is only GROUP.
// Fails for a name without an entry. `option` names the place in errors.
base::Result<envgen::Identity> find_identity(std::string_view spec, std::string_view passwd,
                                             std::string_view group, std::string_view option);

// Adds to `identity` the groups that the platform gave this process. `present` are the
// supplementary groups of the process. A group counts as the platform's if `own` does not have it.
// `own` has the process's own group and the groups that list its user in the image. Docker adds
// such groups for its own --user, with --group-add; Kubernetes with fsGroup and supplementalGroups.
void keep_platform_groups(envgen::Identity& identity, const std::vector<std::uint32_t>& present,
                          const envgen::Identity& own);

}  // namespace sandbox
