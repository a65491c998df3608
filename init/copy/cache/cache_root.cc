// Chooses the directory for a node's cache.

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "init/copy/cache/cache.h"
#include "init/copy/cache/user_cache.h"
#include "init/copy/space.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "looking for local storage";
// Directories where clusters commonly have local storage. ModelArts mounts its local NVMe drives at
// /cache.
constexpr auto kCandidates =
    std::to_array({"/cache", "/local", "/scratch", "/mnt/local", "/local_scratch"});

base::Status check_root(const std::string& root) {
  struct stat status{};
  if (!root.starts_with('/')) {
    return base::fail(kWhat, root, "a relative path", "give --data-root an absolute one");
  }
  if (::stat(root.c_str(), &status) != 0) {
    return base::fail(kWhat, root, sys::errno_text(errno),
                      "make it, or name another directory with --data-root");
  }
  if (!S_ISDIR(status.st_mode)) {
    return base::fail(kWhat, root, "no directory", "name a directory with --data-root");
  }
  // A root that cannot be written can be used if it contains caches, whose copies may be usable.
  const int error = ::access(root.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  if (error != 0 && user_caches(root).empty()) {
    return base::fail(kWhat, root, sys::errno_text(error),
                      "let it be written, or name another directory with --data-root");
  }
  return {};
}

}  // namespace

std::vector<std::string> data_roots(const std::string& asked) {
  if (!asked.empty()) return {asked};
  std::vector<std::string> roots;
  roots.reserve(kCandidates.size());
  for (const char* candidate : kCandidates) {
    if (check_root(candidate)) roots.emplace_back(candidate);
  }
  return roots;
}

base::Result<std::string> choose_root(const std::string& asked, std::uint64_t bytes,
                                      const envgen::Headroom& headroom) {
  if (!asked.empty()) {
    TRY(check_root(asked));
    return asked;
  }
  const std::vector<std::string> roots = data_roots("");
  if (roots.empty()) {
    std::string all;
    for (const char* candidate : kCandidates) {
      if (!all.empty()) all += ", ";
      all += candidate;
    }
    return base::fail(kWhat, all, "none that is there and can be written",
                      "name a directory on a local disk with --data-root");
  }
  for (const std::string& root : roots) {
    const auto space = space_of(root, headroom);
    if (space && space->free_bytes >= bytes) return root;
  }
  // No root has enough room: room is then made in the first one.
  return roots.front();
}

}  // namespace copy
