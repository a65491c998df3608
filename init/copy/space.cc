#include "init/copy/space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/text.h"
#include "init/copy/copy_progress.h"
#include "init/sys/files.h"

namespace copy {

base::Result<Space> space_of(const std::string& path, const envgen::Headroom& headroom) {
  constexpr std::uint64_t kPercent = 100;
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0) {
    return base::fail("asking how much room there is", path, sys::errno_text(errno),
                      "name a directory that is there");
  }
  Space space;
  const std::uint64_t size = status.f_blocks * status.f_frsize;
  space.headroom = std::max(static_cast<std::uint64_t>(std::max<std::int64_t>(headroom.bytes, 0)),
                            size / kPercent * static_cast<std::uint64_t>(headroom.percent));
  space.available_bytes = status.f_bavail * status.f_frsize;
  space.free_bytes = space.available_bytes - std::min(space.available_bytes, space.headroom);
  // A file system with the size 0 does not report its space.
  if (status.f_blocks == 0) {
    space.free_bytes = space.available_bytes = std::numeric_limits<std::uint64_t>::max();
  }
  space.free_inodes =
      status.f_files == 0 ? std::numeric_limits<std::uint64_t>::max() : status.f_favail;
  return space;
}

bool has_room(const Space& space, const Need& need) {
  return space.free_bytes >= need.bytes && space.free_inodes >= need.inodes;
}

std::string shortage(const Space& space, const Need& need) {
  if (space.free_bytes >= need.bytes) {
    return std::to_string(space.free_inodes) + " free inodes for " + std::to_string(need.inodes) +
           " entries";
  }
  return base::size_text(space.free_bytes) + " for " + base::size_text(need.bytes) + ", with " +
         base::size_text(space.headroom) + " to stay free";
}

}  // namespace copy
