#pragma once
// Where a plan's directories and files go. May hang on a dead mount: for children.

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/safe_path.h"

namespace engine {

// Reaches paths one after the other, as sys::resolve_safely() does, but for `weakness`, which may
// be that of another entry. The directories that it came to last stay open, so that a second path
// in or below one needs no walk from the root; one that is renamed meanwhile is used on. With the
// rights of the job's user each path is reached by itself.
class Places {
 public:
  // `who`: the job's user, where that is another than ours; outlives this.
  explicit Places(const std::optional<envgen::Identity>& who) : who_(who) {}

  // An Error of resolve_safely(), or of `work`.
  envgen::Status at(const std::string& path, const sys::SafePathRule& rule,
                    const std::function<envgen::Status(const sys::SafePath&)>& work);
  // A tree was removed: any of them may have been in it, by whatever name. Of a directory that
  // overlayfs has merged the kernel does not tell.
  void forget() { known_.clear(); }

 private:
  // By turns the parents of the ranks' directories and of their logs, and the run directory's own.
  static constexpr std::size_t kMax = 8;
  struct Known {
    std::string path;
    sys::SafePath place;  // of something in it
  };
  using Kept = std::list<Known>;

  envgen::Result<Kept::iterator> open(const std::string& parent, const std::string& path,
                                      const sys::SafePathRule& rule);
  Kept::iterator nearest(const std::string& parent);

  const std::optional<envgen::Identity>& who_;
  Kept known_;  // in the order of their last use
};

}  // namespace engine
