#include "init/copy/publish/room.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "init/copy/publish/publish.h"
#include "init/copy/tree/copy.h"
#include "init/sys/fd.h"

namespace copy {
namespace {

// Returns whether two device numbers can be those of one file system. A file system without a block
// device (btrfs) has a number for each subvolume.
bool may_be_one(dev_t one, dev_t other) {
  return one == other || (::major(one) == 0 && ::major(other) == 0);
}

// Tries whether files in `directory` can share blocks.
bool shares_blocks(const std::string& directory) {
  const std::string names[2] = {directory + "/share.from", directory + "/share.to"};
  sys::Fd files[2];
  for (std::size_t i = 0; i < std::size(files); ++i) {
    files[i].reset(
        ::open(names[i].c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    ::unlink(names[i].c_str());
  }
  return files[0].valid() && files[1].valid() &&
         ::ioctl(files[1].get(), FICLONE, files[0].get()) == 0;
}

}  // namespace

Need need_of(const TreeSize& size, const Space& space, const std::vector<std::string>& begun,
             const Options& options) {
  Need need{.bytes = size.allocated, .inodes = size.entries};
  if (has_room(space, need)) return need;
  Options all = options;
  all.filter = {};
  all.report = {};
  for (const std::string& path : begun) {
    auto counters = SharedCounters::anonymous();
    if (!counters) continue;
    const auto there = scan_tree(root_of_copy(path), all, *counters);
    if (!there) continue;
    need.bytes -= std::min(need.bytes, there->size.allocated);
    need.inodes -= std::min(need.inodes, there->size.entries);
  }
  return need;
}

base::Error room_error(const Destination& destination, const Space& space, const Need& need) {
  return {"looking for room for a copy", destination.real, shortage(space, need),
          "make room there, name another place, or lower the headroom"};
}

base::Status check_room_for(const TreeSize& size, const Source& source,
                            const Destination& destination, const Options& options) {
  const auto space = space_of(destination.state, options.headroom);
  // A file system that does not report its space is not checked.
  if (!space) return {};
  const Need need = need_of(size, *space, {tree_of(destination), filling_of(destination)}, options);
  if (has_room(*space, need)) return {};
  struct stat status{};
  const bool near = ::stat(destination.state.c_str(), &status) == 0 &&
                    may_be_one(status.st_dev, static_cast<dev_t>(source.device));
  if (near && !options.verify && shares_blocks(destination.state)) return {};
  return std::unexpected(room_error(destination, *space, need));
}

}  // namespace copy
