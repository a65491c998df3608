#pragma once
// The space that a file system has left for a copy. Only of local ones: a dead mount would hang
// whoever asks.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/dataset.h"

namespace copy {

struct Space {
  std::uint64_t available_bytes = 0;  // for us
  std::uint64_t free_bytes = 0;       // of these, without the headroom
  std::uint64_t headroom = 0;         // bytes that must stay free
  std::uint64_t free_inodes = 0;      // the most there is where it does not count them
};

// Of the one that `path` lies on.
envgen::Result<Space> space_of(const std::string& path, const envgen::Headroom& headroom);

// What a copy needs.
struct Need {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
};
bool has_room(const Space& space, const Need& need);
// What there is of it, for an error.
std::string shortage(const Space& space, const Need& need);

}  // namespace copy
