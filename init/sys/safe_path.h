#pragma once
// Safe path resolution: for paths through directories of other users, who can replace a name by a
// link at any moment. Each component is opened relative to the one before it. A link is followed
// only if no user except root and trainit's could have created it. The kernel's protected_symlinks
// (sysctl/fs) works in the same way. The functions may block on a dead mount: they are for
// children, and for PID 1 only in its own RUN_DIR.

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

// The result of a resolution: the directory that contains the last component, open, so that no user
// can replace it.
struct SafePath {
  Fd directory;  // O_PATH
  // The last component. A directory without a name in its parent ("/", "x/..", "x/.") is ".".
  std::string name;
  // The directory through which other users can change what the path means: "/home/job (owner 1000,
  // group 1000, mode 0755)". "": no user can.
  std::string untrusted_directory;
  // True if the last component is a link of /proc, which open() then follows. (/dev/stdout leads to
  // one.)
  bool magic = false;
};

struct SafePathRule {
  // The job's user. If the job has root's group, directories that this group can write are foreign
  // too.
  const envgen::Identity* job_user = nullptr;
  bool follow_last = false;                        // follow the last component if it is a link
  std::optional<std::uint32_t> make_parents = {};  // mode for missing parents (mkdir -p)
};

// Resolves a path; a relative one begins at the working directory. Foreign entries are those that
// other users can change. For root, these are the entries of another user, and those that group or
// others can write. For an ordinary user, they are the entries of users other than this one and
// root, and those that all can write. Nothing on a read-only file system is foreign. In a sticky
// directory, only the owner of an entry counts. The error names the link and its owner, or the
// missing component.
base::Result<SafePath> resolve_safely(const std::string& path, const SafePathRule& rule = {});
// Resolves a path below `directory`; `path` begins with that name. `known` is the result of
// resolve_safely() for another path in `directory` with the same `job_user`. If `known` has no
// untrusted directory, and `directory` still exists, the walk to it is skipped. The kernel reports
// if the directory was deleted, except on overlayfs.
base::Result<SafePath> resolve_safely_from(const SafePath& known, const std::string& directory,
                                           const std::string& path, const SafePathRule& rule = {});

// Return true if an error of resolve_safely() is about a link that other users could have created,
// or about a missing component.
bool is_foreign_link(const base::Error& error);
bool is_absent(const base::Error& error);

// Checks the program or script at `path`, which is to run with trainit's rights. Returns an Error
// if any user except root and trainit's may change it, its interpreter, or what either path means.
// The Error names the file or directory, its owner and mode. If there is no Error, the path can be
// used as it is, as no such user can change it afterwards either. A missing file is no error.
//
// The check covers each path in the first line of a script. If `search`, a PATH, is given, the
// check also covers the program that env finds there. A first line that env would have to expand is
// then an Error.
base::Status check_ours_alone(const std::string& path, const envgen::Identity* job_user = nullptr,
                              std::string_view search = {});

// Returns true if users other than root and trainit's can change the entries of the directory `fd`,
// by its mode, owner and access control list. It does not matter here whether the mount is
// read-only (see mounts.h).
bool lets_others_change(int fd, const struct stat& status, const envgen::Identity* job_user);

// Returns true if `owner` is root, this process's user, or the uid that the kernel shows for users
// that this user namespace does not map.
bool is_ours(uid_t owner);

// Returns a path with its owner and mode, for messages: "/home/job (owner 1000, group 1000, mode
// 0755)".
std::string described(const std::string& path, const struct stat& status);

// Error::what if another user owns the log file or could have created it (open_log.h).
inline constexpr const char* kNotOurs = "opening the log file, which is not ours";

}  // namespace sys
