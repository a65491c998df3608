#pragma once
// Entries of a copy beside files' contents: links, what is removed, lines of the manifest.

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "init/copy/manifest.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Of an entry, `worker.path`, of a pair of directories.
envgen::Status copy_link(Worker& worker, const DirectoryPair& directories, const char* name);
// Removes what is not wanted, whatever it is.
envgen::Status remove_entry(Worker& worker, int directory, const char* name);
// The target of a link; false with errno.
bool read_target(std::string& target, int directory, const char* name);

// A line of the manifest.
envgen::Status note_entry(Worker& worker, envgen::ManifestType type, const struct stat& status,
                          std::optional<std::uint64_t> hash);
envgen::Status note_part(Worker& worker, std::uint64_t begin, std::uint64_t size,
                         std::uint64_t hash);

}  // namespace copy
