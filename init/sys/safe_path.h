#pragma once
// Paths that lead through directories of other users, where a name may be swapped for a link at any
// moment: each component is opened in the one before it, and a link is followed only where nobody
// but root and we could have put it there, as the kernel's protected_symlinks judges (sysctl/fs).
// May hang on a dead mount: for children, and PID 1 in its own RUN_DIR.

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "envgen/plan/snapshot.h"
#include "init/sys/fd.h"

namespace sys {

// The directory that holds the last component of a path, open, so that nobody can swap it.
struct SafePath {
  Fd directory;      // O_PATH
  std::string name;  // "." for a directory without a name in another: "/", "x/..", "x/."
  std::string untrusted_directory;  // the directory by which others may change what the path means,
                                    // with owner and mode: "/home/job (owner 1000, mode 0755)"; ""
                                    // = there is none
  bool magic = false;  // the name is a link of /proc, as /dev/stdout leads to: open follows it
};

struct SafePathRule {
  // Of a job that has root's group, what that group may write is foreign too.
  const envgen::Identity* job_user = nullptr;
  bool follow_last = false;                        // the last component, where it is a link
  std::optional<std::uint32_t> make_parents = {};  // as mkdir -p, with this mode
};

// A relative path counts from the working directory. Foreign to root: what another user owns, or
// group or others may write; to an ordinary user: what another one but root owns, or everybody may
// write. A read-only file system is written by nobody; in a sticky directory an entry belongs to
// its owner. An Error names the link, and whose it is; or the component that is not there.
envgen::Result<SafePath> resolve_safely(const std::string& path, const SafePathRule& rule = {});
// The same of a path below `directory`, with whose name it begins, by what resolve_safely() has
// found of another path in it with the same `job_user`: without a walk to there, where that has no
// weakness and the directory was not removed since, as far as the kernel tells (overlayfs does
// not).
envgen::Result<SafePath> resolve_safely_from(const SafePath& known, const std::string& directory,
                                             const std::string& path,
                                             const SafePathRule& rule = {});

// What an error of resolve_safely() is: a link that others could have made; that something is not
// there.
bool is_foreign_link(const envgen::Error& error);
bool is_absent(const envgen::Error& error);

// The program or script at `path`, to be run with our rights: an Error where anybody but root and
// we may change it, the interpreter that it names, or what either path means. It names the file or
// directory, its owner and mode. With none the path can be used as it is: nobody can change it
// afterwards either. What is not there is no error. The same of each path in the first line of a
// script and, with `search`, a PATH, of the program that env finds in it; a first line that env
// would have to expand is then an Error.
envgen::Status check_ours_alone(const std::string& path, const envgen::Identity* job_user = nullptr,
                                std::string_view search = {});

// Whether somebody but root and we may put something else into the directory `fd`, as its mode,
// owner and access control list tell: a mount that is read-only, see mounts.h, is no matter here.
bool lets_others_change(int fd, const struct stat& status, const envgen::Identity* job_user);

// Root, we, or the user that stands for all those that our user namespace does not know.
bool is_ours(uid_t owner);

// "/home/job (owner 1000, group 1000, mode 0755)"
std::string described(const std::string& path, const struct stat& status);

// What an Error of the two below is about, where somebody else has put something there.
inline constexpr const char* kNotOurs = "opening the log file, which is not ours";

}  // namespace sys
