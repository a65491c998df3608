#pragma once
// A pass: several processes work on all entries of a tree. The caller waits for them, and checks
// the deadline and the free space meanwhile.

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

// Deletes a tree with a child process, and calls `keep` meanwhile. If `keep` fails, the deletion
// ends.
base::Status remove_tree(const std::string& path, const Keep& keep);

// Fails if the file system of the copy has less free space than the headroom. It is a local file
// system, so this process does not block.
base::Status check_room(const CopyJob& job);

// Warns if --verify may have read the page cache instead of the disk.
void warn_of_memory(const CopyJob& job, const std::string& where);

using Body = base::Status (*)(Worker&);

// Runs `body` in `size` processes, with a work list that begins with `items`. With `manifest`, each
// process writes a part of the manifest.
base::Status run_pass(const CopyJob& job, int size, std::span<const Item> items, bool manifest,
                      Body body);

}  // namespace copy
