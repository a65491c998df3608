#pragma once
// A source for a job of another user: what lies in a directory that others may change, and all
// below it, is read with that user's rights. They may have put links to what is root's there, and
// exchange one for the other at any moment. What nobody else may write is read with ours.

#include <optional>

#include "init/copy/tree/worker.h"
#include "init/sys/as_user.h"
#include "init/sys/reach.h"

namespace copy {

// Opens worker.job.source (O_PATH). Not valid: errno says why.
sys::Fd open_source_root(Worker& worker);

// open_below() of the source. From then on `worker.foreign` is for the entries of what was opened.
sys::Fd open_below_source(Worker& worker, std::string_view path, int flags);

// Both in one, of a source that is not the worker's own: a copy is compared with it. `source` may
// be the file itself, with an empty `path`.
sys::Fd open_in_source(Worker& worker, const std::string& source, std::string_view path, int flags);

// The rights to read an entry with, until it goes out of scope.
class Reader {
 public:
  explicit Reader(const Worker& worker);
  // False: we cannot become that user; errno is set.
  [[nodiscard]] bool may_read() const { return !user_ || user_->switched(); }

 private:
  std::optional<sys::AsUser> user_;
};

}  // namespace copy
