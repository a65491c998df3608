#pragma once
// The directories of a node's cache. Each user has a directory of its own, which no other user can
// write. So everything in a directory was made by its owner, and trust is decided for a whole
// directory. trainit trusts the copies of root, of its own user, and of the owner of the source,
// who could change the source as well.
//
//   <root>/trainit-datasets              of the first user
//          trainit-datasets-<uid>        of another user; with -<digits> if that name is taken

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
// Returns the directory of this user; nullopt if it does not exist.
std::optional<UserCache> own_cache(const std::string& root);
// Returns the directory of this user, which is created if it does not exist. Fails if `root` is not
// a directory or cannot be written.
base::Result<std::string> make_own_cache(const std::string& root);
// Returns the directories of other users whose copies this user trusts. `source_owner` is the owner
// of the source.
std::vector<std::string> trusted_caches(const std::string& root, uid_t source_owner);
// Returns true if `cache`, the directory that contains an entry, belongs to root or to this user.
bool is_in_trusted_cache(const std::string& cache);

}  // namespace copy
