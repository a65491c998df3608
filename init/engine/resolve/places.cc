#include "init/engine/resolve/places.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "init/sys/as_user.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace engine {
namespace {

bool is_removed(const sys::Fd& directory) {
  struct stat status{};
  return ::fstat(directory.get(), &status) != 0 || status.st_nlink == 0;
}

bool is_in(const std::string& path, const std::string& directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

base::Status work_at(const std::string& path, const sys::SafePathRule& rule,
                     const sys::SafePath& place,
                     const std::function<base::Status(const sys::SafePath&)>& work) {
  struct stat status{};
  const bool link =
      rule.follow_last &&
      ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(status.st_mode);
  if (!link) return work(place);
  TRY_ASSIGN(const auto target, sys::resolve_safely(path, rule));
  return work(target);
}

}  // namespace

// Returns the kept entry of `parent`, or otherwise of the deepest kept directory that contains it;
// end(): there is none.
Places::Kept::iterator Places::nearest(const std::string& parent) {
  auto best = known_.end();
  for (auto one = known_.begin(); one != known_.end(); ++one) {
    if (!is_in(parent, one->path)) continue;
    if (best == known_.end() || best->path.size() < one->path.size()) best = one;
  }
  return best;
}

// Returns the entry of `parent`, which is the directory of `path`. Opens the directory if it is not
// kept yet. The entry becomes the most recently used one.
base::Result<Places::Kept::iterator> Places::open(const std::string& parent,
                                                  const std::string& path,
                                                  const sys::SafePathRule& rule) {
  const auto near = nearest(parent);
  const bool same = near != known_.end() && near->path == parent;
  if (same && !is_removed(near->place.directory)) {
    known_.splice(known_.end(), known_, near);
    return near;
  }
  auto place = near != known_.end() && !same
                   ? sys::resolve_safely_from(near->place, near->path, path, rule)
                   : sys::resolve_safely(path, rule);
  if (!place) return std::unexpected(std::move(place.error()));
  if (same) known_.erase(near);
  if (known_.size() == kMax) known_.pop_front();
  return known_.insert(known_.end(), {parent, std::move(*place)});
}

base::Status Places::at(const std::string& path, const sys::SafePathRule& rule,
                        const std::function<base::Status(const sys::SafePath&)>& work) {
  if (who_) return sys::with_rights_of(&*who_, path, rule, work);
  sys::SafePathRule no_further = rule;
  no_further.follow_last = false;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") {
    TRY_ASSIGN(const auto place, sys::resolve_safely(path, no_further));
    return work_at(path, rule, place, work);
  }
  TRY_ASSIGN(const auto known, open(sys::parent_of(path), path, no_further));
  known->place.name = name;
  return work_at(path, rule, known->place, work);
}

}  // namespace engine
