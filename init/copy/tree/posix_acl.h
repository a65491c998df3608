#pragma once
// The mode that is left of an access control list when it is dropped. The format is that of the
// attribute system.posix_acl_access (linux/posix_acl_xattr.h): a version, then {tag, permissions,
// id} each.

#include <cstdint>
#include <string_view>

namespace envgen {

// The mode of a copy without the list of its source, whose mode is `mode`: it gives nobody more.
// With a list, the group's bits of a mode are the most that any entry may give, and not what the
// group has. Who is named in the list is one of the group or of the others without it.
std::uint32_t without_acl(std::uint32_t mode, std::string_view acl);

}  // namespace envgen
