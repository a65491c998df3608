#pragma once
// A pass over a tree by several processes. The caller waits for them, and checks the deadline and
// the free space meanwhile.

#include <sys/mman.h>

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

struct Unmap {
  void operator()(SharedHeader* header) const { ::munmap(header, sizeof(SharedHeader)); }
};
using SharedHeaderPtr = std::unique_ptr<SharedHeader, Unmap>;

base::Result<SharedHeaderPtr> make_shared_header();

// Removes a tree in a child process, and calls `keep` meanwhile. An error of `keep` ends the
// removal.
base::Status remove_tree(const std::string& path, const Keep& keep);

// Fails if the copy's file system has less free space than the headroom. The file system is local,
// so this process does not block.
base::Status check_room(const CopyJob& job);

// Warns if --verify may have read the page cache instead of the disk.
void warn_of_memory(const CopyJob& job, const std::string& where);

using Body = base::Status (*)(Worker&);

// Runs `body` in `size` processes on a list of these items. With `manifest`, each process writes a
// part of the manifest.
base::Status run_pass(const CopyJob& job, int size, std::span<const Item> items, bool manifest,
                      Body body);

}  // namespace copy
