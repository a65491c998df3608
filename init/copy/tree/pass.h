#pragma once
// A pass of a copy: all of a tree, once, by several processes. The caller waits for them, and looks
// at the time and the room meanwhile.

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

envgen::Result<SharedHeaderPtr> make_shared_header();

// sys::remove_tree() by a process of its own, so that `keep` is called meanwhile; an error of it
// ends the removal.
envgen::Status remove_tree(const std::string& path, const Keep& keep);

// Whether the copy's file system has what is to stay free; it is local: this process may ask it.
envgen::Status check_room(const CopyJob& job);

// Where what --verify has read need not be what the disk has.
void warn_of_memory(const CopyJob& job, const std::string& where);

using Body = envgen::Status (*)(Worker&);

// Has `size` processes run `body` on a list of these items. Each writes a part of the manifest
// where `manifest` is set.
envgen::Status run_pass(const CopyJob& job, int size, std::span<const Item> items, bool manifest,
                        Body body);

}  // namespace copy
