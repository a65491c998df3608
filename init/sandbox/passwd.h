#pragma once
// Texts of /etc/passwd and /etc/group, and the identity that USER[:GROUP] names in them. A static
// binary has no name service: users of LDAP and NIS are known by number only.
//
// Lines are read as glibc's "files" does: blank ones and comments (#) are passed over, as are NIS
// entries (+ and -) and lines without readable numbers; what follows the gid may be missing.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace envgen {

struct PasswdEntry {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;   // "" where the line has none
  std::string shell;  // "" where the line has none

  bool operator==(const PasswdEntry&) const = default;
};

struct GroupEntry {
  std::string name;
  std::uint32_t gid = 0;
  std::vector<std::string> members;

  bool operator==(const GroupEntry&) const = default;
};

// In the order of the lines. Of several entries with a name or number the first is the one meant.
std::vector<PasswdEntry> parse_passwd(std::string_view text);
std::vector<GroupEntry> parse_group(std::string_view text);

// The highest uid and gid: the next one, -1, means "do not change" to the kernel.
inline constexpr std::uint32_t kMaxId = 0xFFFF'FFFE;
// What setgroups(2) takes.
inline constexpr std::size_t kMaxGroups = 65'536;

// What `docker run --user USER[:GROUP]` takes, by its rules: a number is always an id, even if a
// name looks like it; a uid without an entry has gid 0 and the home "/"; supplementary groups are
// those that list the user, and none besides GROUP where it is given. Fails for a name without an
// entry. `option` names the place in errors.
Result<Identity> find_identity(std::string_view spec, std::string_view passwd,
                               std::string_view group, std::string_view option);

// Adds to `identity` the groups that the platform gave this process: those of `present`, its
// supplementary ones, that neither are its own group nor list its own user in the image. Docker
// does so for its own --user, with --group-add; Kubernetes with fsGroup and supplementalGroups.
void keep_platform_groups(Identity& identity, const std::vector<std::uint32_t>& present,
                          const Identity& own);

}  // namespace envgen
