#pragma once
// Reads the source of a job that runs as another user. A directory that users other than root can
// write, and everything below it, is read with the rights of the job's user. Otherwise those users
// could place symlinks to root's files there at any moment. Directories that only root can write
// are read as root.

#include <optional>

#include "init/copy/tree/worker.h"
#include "init/sys/as_user.h"
#include "init/sys/safe_path.h"

namespace copy {

// Opens worker.job.source (O_PATH). Returns an invalid descriptor on failure, with errno.
sys::Fd open_source_root(Worker& worker);

// Opens a path below the source, as open_below() does. Sets `worker.foreign`: whether the entries
// of this directory must be read as the job's user.
sys::Fd open_below_source(Worker& worker, std::string_view path, int flags);

// Opens a path below `source`, with which a published copy is compared. If `source` is a file,
// `path` is empty.
sys::Fd open_in_source(Worker& worker, const std::string& source, std::string_view path, int flags);

// Holds the rights for reading an entry, until the object is destroyed.
class Reader {
 public:
  explicit Reader(const Worker& worker);
  // Returns false, with errno, if this process cannot become that user.
  [[nodiscard]] bool may_read() const { return !user_ || user_->switched(); }

 private:
  std::optional<sys::AsUser> user_;
};

}  // namespace copy
