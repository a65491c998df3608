#include "init/copy/tree/copy_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "init/copy/copy_proof.h"
#include "init/copy/copy_record.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/tree_digest.h"
#include "init/copy/tree/worker_pool.h"
#include "init/sys/files.h"

namespace copy {
namespace {

// Returns how many processes should check. A few entries are checked faster than processes start.
int workers_for(const std::string& manifest, int asked) {
  constexpr off_t kForOne = 65536;  // bytes of the manifest for each process
  struct stat status{};
  if (::stat(manifest.c_str(), &status) != 0) return asked;
  const int worthwhile = static_cast<int>(std::min<off_t>(status.st_size / kForOne, 63)) + 1;
  if (asked == 0 && worthwhile > available_cpus()) return 0;
  return std::min(pool_size(asked), worthwhile);
}

// Returns the time of the publication: the mtime of the record, if its file system keeps mtimes. An
// mtime that is later than the ctime, or is the ctime rounded down, says less than the ctime, which
// is then returned.
std::int64_t publication_of(const struct stat& record) {
  const std::int64_t mtime = to_ns(record.st_mtim);
  const std::int64_t ctime = to_ns(record.st_ctim);
  return mtime > ctime || is_rounding_of(ctime, mtime) ? ctime : mtime;
}

}  // namespace

base::Status check_unmodified(const PublishedCopy& copy, CheckScope asked, const Options& options,
                              const SharedCounters& counters) {
  struct stat record{};
  if (::lstat(copy.record.c_str(), &record) != 0) {
    return base::fail("checking a copy by its manifest", copy.record, sys::errno_text(errno),
                      "remove the copy, and copy again");
  }
  asked.published_ns = publication_of(record);
  timespec clock{};
  ::clock_gettime(CLOCK_REALTIME, &clock);
  // The clock was set back, so no ctime can be compared with the time of the publication.
  if (asked.published_ns > to_ns(clock)) asked.published_ns = 0;
  // The time before the check: an entry that is changed during the check is compared again at the
  // next one.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  Options walk = options;
  walk.workers = workers_for(copy.manifest, options.workers);
  TRY(verify_tree(copy.tree, copy.manifest, walk, counters, &asked));
  const std::array<timespec, 2> times = {now, now};
  if (asked.touched && to_ns(now) > asked.published_ns) {
    ::utimensat(AT_FDCWD, copy.record.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
  }
  return {};
}

base::Status check_removable(const PublishedCopy& copy, bool moved, const Keep& keep) {
  const envgen::PathState file = read_kept_file(copy.record);
  TRY_ASSIGN(const auto record, parse_record(file.content, copy.record));
  TRY_ASSIGN(auto counters, SharedCounters::anonymous());
  const CheckScope asked{.hashed = record.hashed, .source = "", .moved = moved};
  Options options;
  options.keep = keep;
  // Checks a second time. The first check can have failed because one of trainit's processes was
  // killed.
  if (auto proven = check_unmodified(copy, asked, options, counters); proven) return proven;
  return check_unmodified(copy, asked, options, counters);
}

}  // namespace copy
