#include "init/copy/cache/dataset_work.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "init/copy/cache/entry_state.h"
#include "init/copy/cache/eviction.h"
#include "init/copy/publish/filling.h"
#include "init/copy/publish/publish.h"
#include "init/copy/publish/room.h"
#include "init/copy/tree/copy.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {
namespace {

// Returns whether a copy is complete although the machine stopped before it was on the disk. Its
// hashes prove that.
base::Result<bool> prove_by_hashes(DatasetWork& work, CopyRecord record) {
  if (!record.hashed) return false;
  TRY_ASSIGN(auto counters, SharedCounters::anonymous());
  counters.get().total_entries = record.entries;
  counters.get().total_bytes = record.bytes;
  const auto verified =
      verify_tree(work.cache_entry.data(), work.cache_entry.manifest(), work.options, counters);
  if (!verified) {
    if (is_late(work.options)) return std::unexpected(verified.error());
    work.warnings.push_back(to_line(verified.error()) + "; it is copied again");
    return false;
  }
  TRY(sync_file_system(work.cache_entry.cache));
  record.synced = true;
  record.boot_id = sys::boot_id();
  TRY(sys::write_file_atomic(work.cache_entry.record(), 0644, record_to_json(record)));
  return true;
}

// Prepares the entry for fill(): a copy of the source that may have changed becomes an unfinished
// one, and a copy of another source is deleted. Returns true if the published copy is ready as it
// is. Sets `compare` to whether fill() must compare contents.
base::Result<bool> clear_entry(DatasetWork& work, bool* compare) {
  TRY_ASSIGN(const auto damage, settle_entry(work.cache_entry));
  if (!damage.empty()) work.warnings.push_back(damage + ", copying it again");
  const EntryState state = check_contents(work.cache_entry, work.wanted, work.options);
  switch (state.found) {
    case Found::kReady:
      return true;
    case Found::kUnsure: {
      auto proven = prove_by_hashes(work, state.record);
      if (!proven || *proven) return proven;
      *compare = true;
      TRY(reopen(work.source, work.cache_entry.destination()));
      return false;
    }
    case Found::kChanged:
      work.warnings.push_back(state.why +
                              ": changed since it was copied, comparing it with its source");
      *compare = true;
      TRY(reopen(work.source, work.cache_entry.destination()));
      return false;
    case Found::kBroken:
      work.warnings.push_back(state.why + ", copying it again");
      break;
    case Found::kNothing:
      break;
  }
  TRY(remove_published(work.cache_entry));
  return false;
}

base::Status make_room_for(DatasetWork& work) {
  TRY_ASSIGN(auto space, space_of(work.root, work.order.request.headroom));
  const Destination destination = work.cache_entry.destination();
  const Need need = need_of(work.scan->size, space, {tree_of(destination), filling_of(destination)},
                            work.options);
  return make_room(work.root, work.cache_entry, need, work.order.request);
}

base::Status begin_copy(DatasetWork& work) {
  TRY(make_directory(work.cache_entry));
  // Continues the copy that was begun under another key, because most of its files are equal.
  if (work.begun_lock.valid() && work.begun.key != work.cache_entry.key) {
    TRY(take_over(work.begun.destination(), work.cache_entry.destination()));
    remove_if_empty(work.begun);
  }
  work.begun_lock.reset();
  return {};
}

base::Status copy_and_publish(DatasetWork& work, sys::Fd& lock, bool compare) {
  if (!work.scan) {
    TRY(scan_source(work));
  }
  auto status = make_room_for(work);
  if (status) status = begin_copy(work);
  if (!status) return status;
  const CacheEntry& cache_entry = work.cache_entry;
  const Destination destination = cache_entry.destination();
  TRY_ASSIGN(auto counters, SharedCounters::create(cache_entry.progress()));
  counters.get().total_entries = work.scan->size.entries;
  counters.get().total_bytes = work.scan->size.bytes;
  counters.get().phase = Phase::kCopying;
  const auto show = [&] {
    counters.save();
    say(work, &counters.get(), false);
  };
  show();
  Options options = work.options;
  options.report = [&show](const Counters&) { show(); };
  options.compare = compare;
  options.lock_fd = lock.get();
  TRY_ASSIGN(const auto filled, fill(work.source, destination, options, counters));
  if (work.wanted.version.empty() && to_text(filled.digest) != work.wanted.digest) {
    // The source has changed since the scan, so the tree is a copy of a later state of it.
    work.begun = cache_entry;
    work.begun_lock = std::move(lock);
    work.scan = filled;
    return {};
  }
  counters.get().phase = Phase::kPublishing;
  show();
  if (compare && !options.durable) status = sync_file_system(cache_entry.cache);
  CopyRecord record = record_for(work.source, destination, options, filled);
  record.digest = work.wanted.digest;
  record.version = work.wanted.version;
  record.synced = options.durable || compare;
  if (!status) return status;
  TRY_ASSIGN(std::ignore, publish(destination, record));
  // Writes the parent directory to the disk too, because it contains the new directory of the
  // entry.
  if (record.synced) status = sync_file_system(cache_entry.cache);
  // The copy is finished, so nothing needs its progress or the record of an earlier copy.
  ::unlink(cache_entry.progress().c_str());
  ::unlink(cache_entry.was().c_str());
  if (status) counters.get().phase = Phase::kDone;
  work.copied = true;
  return status;
}

}  // namespace

void say(const DatasetWork& work, const Counters* counters, bool waiting) {
  if (work.order.report) work.order.report({.counters = counters, .waiting = waiting});
}

bool is_late(const Options& options) {
  return options.deadline_ms != 0 && sys::monotonic_ms() >= options.deadline_ms;
}

base::Status scan_source(DatasetWork& work) {
  TRY_ASSIGN(auto counters, SharedCounters::anonymous());
  TRY_ASSIGN(work.scan,
             scan_tree(root_of(work.source.path, work.source.directory), work.options, counters));
  return {};
}

base::Status make_ready(DatasetWork& work, sys::Fd lock) {
  bool compare = false;
  TRY_ASSIGN(const auto ready, clear_entry(work, &compare));
  if (!ready) {
    let_share(work.cache_entry, false);
    if (auto done = copy_and_publish(work, lock, compare); !done) {
      remove_if_empty(work.cache_entry);
      return done;
    }
  }
  return {};
}

}  // namespace copy
