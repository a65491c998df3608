#pragma once
// The places of a plan's directories and files. For children of PID 1: a call may hang on a dead
// mount.

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/safe_path.h"

namespace engine {

// Resolves paths one after the other, as sys::resolve_safely() does. One result differs:
// SafePath::untrusted_directory may be that of another entry. The last directories stay open, so
// that a second path in or below one of them needs no walk from the root. A directory that is
// renamed meanwhile stays in use. With the rights of the job's user each path is resolved
// separately.
class Places {
 public:
  // `who`: the job's user; nullopt if it is trainit's own. Must outlive this object.
  explicit Places(const std::optional<envgen::Identity>& who) : who_(who) {}

  // Resolves `path` and calls `work` with its place. Returns an Error of resolve_safely() or of
  // `work`.
  base::Status at(const std::string& path, const sys::SafePathRule& rule,
                  const std::function<base::Status(const sys::SafePath&)>& work);
  // Closes all directories. Call it after a tree was removed: each of them may have been in it, by
  // any name. For a directory that overlayfs has merged, the kernel does not report the removal.
  void forget() { known_.clear(); }

 private:
  // Enough for these directories by turns: the parents of the ranks' directories and of their logs,
  // and the run directory.
  static constexpr std::size_t kMax = 8;
  struct Known {
    std::string path;
    sys::SafePath place;  // place of a path in this directory
  };
  using Kept = std::list<Known>;

  base::Result<Kept::iterator> open(const std::string& parent, const std::string& path,
                                    const sys::SafePathRule& rule);
  Kept::iterator nearest(const std::string& parent);

  const std::optional<envgen::Identity>& who_;
  Kept known_;  // least recently used first
};

}  // namespace engine
