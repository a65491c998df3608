#pragma once
// Reads the source of a job that runs as another user. A directory that other users can write, and
// everything below it, is read with the job user's rights: the others could place symbolic links to
// root's files there at any moment. Directories that only root can write are read as root.

#include <optional>

#include "init/copy/tree/worker.h"
#include "init/sys/as_user.h"
#include "init/sys/safe_path.h"

namespace copy {

// Opens worker.job.source (O_PATH). Not valid: errno says why.
sys::Fd open_source_root(Worker& worker);

// Opens a path below the source, as open_below() does. Sets `worker.foreign` for the entries of the
// opened directory.
sys::Fd open_below_source(Worker& worker, std::string_view path, int flags);

// Opens a path below `source`, which a published copy is compared with. `source` may be a file;
// `path` is then empty.
sys::Fd open_in_source(Worker& worker, const std::string& source, std::string_view path, int flags);

// Holds the rights for reading an entry, until the object is destroyed.
class Reader {
 public:
  explicit Reader(const Worker& worker);
  // False with errno: this process cannot become that user.
  [[nodiscard]] bool may_read() const { return !user_ || user_->switched(); }

 private:
  std::optional<sys::AsUser> user_;
};

}  // namespace copy
