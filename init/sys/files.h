#pragma once
// Files and directories. Errors name the path, the errno text and what to do. Anything here may
// hang on a dead mount, so PID 1 calls it for its own RUN_DIR only; children call it for the rest.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/sys/path_state.h"

namespace sys {

// Writes beside `path` and renames over it, in the directory that resolve_safely() (safe_path.h)
// leads to; on failure the old file is untouched and no debris is left. The file has `mode`,
// whatever the umask. The parent directory must exist. A bind-mounted file (/dev/termination-log,
// /etc/hosts) cannot be replaced this way: EBUSY.
envgen::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                                 std::string_view content);
// One that need not outlive the machine is replaced without a wait for the disk: after a power
// failure it may be empty. The two change places then, and the old one goes: who is killed in
// between leaves the old one behind, by a hidden name.
enum class Lifetime : unsigned char { kLasting, kMachine };
// In a directory that was reached; `path` is for messages.
struct SafePath;
envgen::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
                                 std::string_view content, Lifetime lifetime = Lifetime::kLasting);

// Hands a text over piece by piece, where it need not be in memory as a whole.
using Sink = std::function<void(std::string_view)>;
using Producer = std::function<void(const Sink&)>;
envgen::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                                 const Producer& content);
envgen::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
                                 const Producer& content, Lifetime lifetime = Lifetime::kLasting);
// To a descriptor that may block: 0 or an errno, after which no piece is written.
int write_pieces(int fd, const Producer& content);

// In place, for what write_file_atomic had no room for; an existing file only. What is no longer
// than that needs no room. False: what is there now is neither the old nor the new.
bool overwrite_file(const std::string& path, std::string_view content);

// To a descriptor that may block. Returns how many bytes were written: where not all, errno says
// why.
std::size_t write_all(int fd, std::string_view bytes);

// mkdir -p; an existing directory is fine and stays as it is. Those made have `mode`, whatever the
// umask.
envgen::Status make_directories(const std::string& path, std::uint32_t mode);

// rm -rf that never follows a link out of `path` and never enters another file system (a data set
// mounted below it is not ours to delete); an absent path is fine. Directories of ours that are not
// writable are made so. Stops at the first failure. The way to it is resolve_safely()'s, or was:
// `shown` is for messages then.
envgen::Status remove_tree(const std::string& path);
envgen::Status remove_tree(const SafePath& place, const std::string& shown);

}  // namespace sys
