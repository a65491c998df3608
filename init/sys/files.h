#pragma once
// Functions that write and remove files and directories. Errors name the path, the errno text and
// the fix. Each function may block on a dead mount: PID 1 calls them for its own RUN_DIR only,
// children call them for other paths.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/sys/path_state.h"

namespace sys {

// Writes a temporary file beside `path` and renames it to `path`, in the directory that
// resolve_safely() (safe_path.h) finds. On failure the old file is unchanged, and the temporary
// file is deleted. The file gets `mode`, whatever the umask is. The parent directory must exist. A
// bind-mounted file (/dev/termination-log, /etc/hosts) cannot be replaced in this way: EBUSY.
base::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                               std::string_view content);
// How long a file must last. A kMachine file is not needed after the machine stops, so replacing it
// does not wait for the disk; after a power failure it may be empty. The new file and the old one
// are exchanged, then the old one is deleted. A kill in between leaves the old one under a hidden
// name.
enum class Lifetime : unsigned char { kLasting, kMachine };
// Does the same in a directory that is already resolved; `path` is for messages.
struct SafePath;
base::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
                               std::string_view content, Lifetime lifetime = Lifetime::kLasting);

// A function that receives a text in pieces. A Producer calls it, so that the whole text need not
// be in memory.
using Sink = std::function<void(std::string_view)>;
using Producer = std::function<void(const Sink&)>;
base::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                               const Producer& content);
base::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
                               const Producer& content, Lifetime lifetime = Lifetime::kLasting);
// Writes the pieces to a descriptor; blocks if the descriptor blocks. Returns 0 or an errno. After
// an error no further piece is written.
int write_pieces(int fd, const Producer& content);

// Overwrites an existing file in place, if write_file_atomic() had no room for the content. Content
// that is not longer than the file needs no room. If it returns false, the file may contain a
// mixture of the old and the new content.
bool overwrite_file(const std::string& path, std::string_view content);

// Writes all bytes to a descriptor; blocks if the descriptor blocks. Returns the number of bytes
// that were written. If these are not all, errno is the reason.
std::size_t write_all(int fd, std::string_view bytes);

// Creates a directory and its parents, as mkdir -p. An existing directory is no error and stays
// unchanged. New directories have `mode`, whatever the umask.
base::Status make_directories(const std::string& path, std::uint32_t mode);

// Deletes a tree, as rm -rf. Never follows a link out of `path`, and never enters another file
// system: a dataset that is mounted below must not be deleted. If `path` does not exist, that is no
// error. Directories that trainit owns and cannot write are made writable. Stops at the first
// failure. `path` is resolved by resolve_safely(); `place` is the result of that, with `shown` for
// messages.
base::Status remove_tree(const std::string& path);
base::Status remove_tree(const SafePath& place, const std::string& shown);

}  // namespace sys
