#pragma once
// Safe resolution of many paths of a plan (sys::resolve_safely). For children of PID 1: a call may
// hang on a dead mount.

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/safe_path.h"

namespace engine {

// Resolves paths as sys::resolve_safely() does, but keeps the last directories open. So a second
// path in or below one of them needs no walk from the root, and a directory that is renamed
// meanwhile stays in use. One result can differ: SafePath::untrusted_directory may be that of
// another path in the same directory. A path that is resolved with the rights of the job's user is
// always walked from the root.
class Places {
 public:
  // `who`: the job's user; nullopt if it is trainit's own. Must outlive this object.
  explicit Places(const std::optional<envgen::Identity>& who) : who_(who) {}

  // Resolves `path` and calls `work` with the result. Returns the Error of resolve_safely() or of
  // `work`.
  base::Status at(const std::string& path, const sys::SafePathRule& rule,
                  const std::function<base::Status(const sys::SafePath&)>& work);
  // Closes all directories. Call it after a tree was removed, because any of them may have been in
  // the tree under another name. In a directory that overlayfs has merged, the kernel does not
  // report the removal.
  void forget() { known_.clear(); }

 private:
  // Number of directories kept open. Enough for the parents of the ranks' directories and of their
  // logs, and the run directory, which the plan uses in turn.
  static constexpr std::size_t kMax = 8;
  struct Known {
    std::string path;
    sys::SafePath place;  // place of a path in the directory, which it keeps open
  };
  using Kept = std::list<Known>;

  base::Result<Kept::iterator> open(const std::string& parent, const std::string& path,
                                    const sys::SafePathRule& rule);
  Kept::iterator nearest(const std::string& parent);

  const std::optional<envgen::Identity>& who_;
  Kept known_;  // least recently used first
};

}  // namespace engine
