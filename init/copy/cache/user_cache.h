#pragma once
// The directories of a node's cache: each user that copies has one of its own, which nobody else
// may write. So all that is in it is that user's, and whose copies are trusted is asked once:
// root's, our own, and those of the source's owner, who could change the source as well.
//
//   <root>/trainit-datasets              of whoever came first
//          trainit-datasets-<uid>        of another user; with -<digits> where that name is taken

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace copy {

struct UserCache {
  std::string path;
  uid_t owner = 0;
  gid_t group = 0;
  bool safe = false;  // only its owner can write it

  [[nodiscard]] bool is_ours() const;
};

// Returns all caches of a root by name, without symbolic links.
std::vector<UserCache> user_caches(const std::string& root);
// Ours, where there is one; else nothing.
std::optional<UserCache> own_cache(const std::string& root);
// Made where it is not there. Errors: no directory, not to be written.
base::Result<std::string> make_own_cache(const std::string& root);
// Returns the other caches whose copies this user trusts.
std::vector<std::string> trusted_caches(const std::string& root, uid_t source_owner);
// The cache that the path of a copy lies in is one of root's or ours.
bool is_in_trusted_cache(const std::string& cache);

}  // namespace copy
