#pragma once
// Copies symbolic links, removes entries, and writes lines of the manifest.

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "init/copy/manifest.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Creates the copy of the symlink `worker.path`, which has the target `worker.target`.
base::Status copy_link(Worker& worker, const DirectoryPair& directories, const char* name,
                       const struct stat& status);
// Deletes an entry of the copy, and everything below it.
base::Status remove_entry(Worker& worker, int directory, const char* name);
// Reads the target of a symbolic link; false with errno.
bool read_target(std::string& target, int directory, const char* name);

// Write a line of the manifest for the entry `worker.path`.
base::Status note_entry(Worker& worker, ManifestType type, const struct stat& status,
                        std::optional<std::uint64_t> hash);
base::Status note_part(Worker& worker, std::uint64_t begin, std::uint64_t size,
                       std::optional<std::uint64_t> hash);

}  // namespace copy
