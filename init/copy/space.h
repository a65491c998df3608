#pragma once
// The free space of a file system. Only for local file systems, because a dead mount would block
// the caller.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/dataset.h"

namespace copy {

struct Space {
  std::uint64_t available_bytes = 0;  // free space that this user can use
  std::uint64_t free_bytes = 0;       // `available_bytes` minus the headroom
  std::uint64_t headroom = 0;         // bytes that must stay free
  std::uint64_t free_inodes = 0;      // UINT64_MAX if the file system does not count them
};

// Returns the space of the file system that `path` lies on.
base::Result<Space> space_of(const std::string& path, const envgen::Headroom& headroom);

// The space that a copy needs.
struct Need {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
};
bool has_room(const Space& space, const Need& need);
// Returns what is missing as text for an error: `need` compared with `space`.
std::string shortage(const Space& space, const Need& need);

}  // namespace copy
