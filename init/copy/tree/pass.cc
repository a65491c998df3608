#include "init/copy/tree/pass.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/text.h"
#include "init/copy/copy_progress.h"
#include "init/copy/space.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {
base::Result<SharedHeaderPtr> make_shared_header() {
  void* memory = ::mmap(nullptr, sizeof(SharedHeader), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return SharedHeaderPtr(static_cast<SharedHeader*>(memory));
  return base::fail("starting a copy", "", sys::errno_text(errno),
                    "give the container more memory");
}

base::Status remove_tree(const std::string& path, const Keep& keep) {
  struct stat status{};
  if (!keep || ::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return sys::remove_tree(path);
  }
  TRY_ASSIGN(auto header, make_shared_header());
  return run_worker_pool(
      {}, header->failure, [&path](int) { return sys::remove_tree(path); }, keep);
}

base::Status check_room(const CopyJob& job) {
  if (job.tree.empty()) return {};
  const auto space = space_of(job.state, job.options->headroom);
  if (!space || space->available_bytes >= space->headroom) return {};
  job.header->full = true;
  return base::fail("copying", job.tree,
                    base::size_text(space->available_bytes) +
                        " free on its file system, of which " + base::size_text(space->headroom) +
                        " are to stay free",
                    "make room there, or lower the headroom; what was copied is removed");
}

namespace {

bool is_in_memory(const std::string& directory) {
  struct statfs status{};
  if (::statfs(directory.c_str(), &status) != 0) return false;
  const auto type = static_cast<unsigned long>(status.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

}  // namespace

void warn_of_memory(const CopyJob& job, const std::string& where) {
  if (!job.options->warn || !job.options->verify) return;
  if (!job.header->cached && !is_in_memory(job.state)) return;
  job.options->warn(where +
                    ": what was verified may have been in memory only: its file system does not "
                    "let go of what it has there");
}

namespace {

void set_stall(const CopyJob& job, const Stall& stall) {
  job.counters->stalled_side.store(stall.side, std::memory_order_relaxed);
  job.counters->stalled_ms.store(stall.for_ms, std::memory_order_relaxed);
}

void note_stall(const CopyJob& job, StallWatch& watch) {
  std::uint64_t progress = job.counters->entries + job.counters->bytes;
  std::uint32_t sides = 0;
  for (const Waiting& waiting : job.header->waiting) {
    progress += waiting.steps.load(std::memory_order_relaxed);
    sides |= static_cast<std::uint32_t>(waiting.side.load(std::memory_order_relaxed));
  }
  auto side = static_cast<CopySide>(sides);
  // While entries are counted, only the copy is read.
  if (job.counts && side != CopySide::kNone) side = CopySide::kCopy;
  set_stall(job, watch.look(sys::monotonic_ms(), progress, side));
}

base::Status check(const CopyJob& job, StallWatch& watch) {
  note_stall(job, watch);
  if (job.options->report) job.options->report(*job.counters);
  if (job.options->keep) {
    TRY(job.options->keep());
  }
  if (job.options->deadline_ms != 0 && sys::monotonic_ms() >= job.options->deadline_ms) {
    return base::fail("copying", job.source, "that it takes longer than it may",
                      "allow more time; run it again: it goes on where it was");
  }
  return check_room(job);
}

}  // namespace

base::Status run_pass(const CopyJob& job, int size, std::span<const Item> items, bool manifest,
                      Body body) {
  TRY_ASSIGN(auto list, WorkList::create(job.tree.empty() ? "" : job.state, &job.header->work));
  for (const Item& item : items) {
    TRY(list.push(item));
  }
  job.header->sums.clear();
  const auto work = [&](int number) -> base::Status {
    Worker worker(job, list, number);
    if (manifest) {
      TRY_ASSIGN(worker.manifest, ManifestFile::create(job.state, number));
    }
    return body(worker);
  };
  // Reports the counters once at the start, because a quick pass ends before its first check.
  const auto begun = [&job] {
    if (job.options->report) job.options->report(*job.counters);
  };
  const Pool pool{.size = size,
                  .first = first_of_pool(job.options->workers),
                  .worker_limit = &job.header->work.worker_limit,
                  .useful = [&list] { return !list.hungry(); },
                  .begun = begun};
  StallWatch watch;
  auto done = run_worker_pool(pool, job.header->failure, work, [&] { return check(job, watch); });
  set_stall(job, {});
  return done;
}

}  // namespace copy
