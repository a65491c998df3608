#include "init/copy/cache/dataset_work.h"

#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "init/copy/cache/entry_state.h"
#include "init/copy/cache/eviction.h"
#include "init/copy/publish/room.h"
#include "init/copy/tree/copy.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "preparing a dataset";

// A copy that has not been on the disk when the machine went down. Whether it is whole.
envgen::Result<bool> prove_by_hashes(DatasetWork& work, envgen::CopyRecord record) {
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

// Leaves in the entry what may be taken over as an unfinished copy. True: it is ready as it is.
envgen::Result<bool> clear_entry(DatasetWork& work, bool* compare) {
  const EntryState state = check_contents(work.cache_entry, work.wanted, work.options);
  switch (state.found) {
    case Found::kReady:
      return true;
    case Found::kUnsure: {
      auto proven = prove_by_hashes(work, state.record);
      if (!proven || *proven) return proven;
      *compare = true;
      TRY(unpublish(work.cache_entry));
      return false;
    }
    case Found::kChanged:
      work.warnings.push_back(state.why +
                              ": changed since it was copied, comparing it with its source");
      *compare = true;
      TRY(unpublish(work.cache_entry));
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

envgen::Status make_room_for(DatasetWork& work) {
  TRY_ASSIGN(auto space, space_of(work.root, work.order.request.headroom));
  const Need need = need_of(work.scan->size, space, {work.cache_entry.partial()}, work.options);
  return make_room(work.root, work.cache_entry, need, work.order.request);
}

// Of a copy that never began, or that went on under another key: the lock would be left behind for
// good.
void forget_unbegun(const CacheEntry& cache_entry) {
  if (::access(cache_entry.published().c_str(), F_OK) == 0) return;
  if (::access(cache_entry.partial().c_str(), F_OK) != 0) ::unlink(cache_entry.lock().c_str());
}

envgen::Status begin_partial(DatasetWork& work) {
  const std::string partial = work.cache_entry.partial();
  // What was begun under another key holds the same, or most of it.
  if (work.begun_lock.valid() && work.begun.key != work.cache_entry.key &&
      ::access(partial.c_str(), F_OK) != 0) {
    // EXDEV: the cache is in another root now, which is another file system.
    const bool moved = ::rename(work.begun.partial().c_str(), partial.c_str()) == 0;
    if (!moved && errno != ENOENT && errno != EXDEV) {
      return envgen::fail(kWhat, partial, sys::errno_text(errno), "remove it");
    }
    forget_unbegun(work.begun);
  }
  work.begun_lock.reset();
  if (auto made = sys::make_directories(work.cache_entry.state(), 0755); !made) {
    // A file or a link stands there: nobody made a copy of that.
    TRY(sys::remove_tree(partial));
    TRY(sys::make_directories(work.cache_entry.state(), 0755));
    work.warnings.push_back(to_line(made.error()) + ", copying it again");
  }
  // Of a run that was killed before it published.
  ::unlink((partial + "/record.json").c_str());
  return sys::write_file_atomic(partial + "/source", 0644, work.source.path);
}

envgen::Status copy_and_publish(DatasetWork& work, sys::Fd& lock, bool compare) {
  if (!work.scan) {
    TRY(scan_source(work));
  }
  auto status = make_room_for(work);
  if (status) status = begin_partial(work);
  if (!status) return status;
  const CacheEntry& cache_entry = work.cache_entry;
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
  TRY_ASSIGN(const auto filled,
             run_copy_job(root_of(work.source.path, work.source.directory),
                          cache_entry.partial_data(), cache_entry.state(), options, counters));
  if (work.wanted.version.empty() && to_text(filled.digest) != work.wanted.digest) {
    // It changed since it was looked at: this is a copy of something else.
    work.begun = cache_entry;
    work.begun_lock = std::move(lock);
    work.scan = filled;
    return {};
  }
  counters.get().phase = Phase::kPublishing;
  show();
  if (compare && !options.durable) status = sync_file_system(cache_entry.cache);
  envgen::CopyRecord record = work.wanted;
  record.path = cache_entry.data();
  record.entries = filled.size.entries;
  record.bytes = filled.size.bytes;
  record.allocated = filled.size.allocated;
  record.finished_ms = sys::wall_ms();
  record.boot_id = sys::boot_id();
  record.synced = options.durable || compare;
  record.hashed = options.verify;
  if (status) status = publish(cache_entry, record);
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

envgen::Status scan_source(DatasetWork& work) {
  TRY_ASSIGN(auto counters, SharedCounters::anonymous());
  TRY_ASSIGN(work.scan,
             scan_tree(root_of(work.source.path, work.source.directory), work.options, counters));
  return {};
}

envgen::Status make_ready(DatasetWork& work, sys::Fd lock) {
  bool compare = false;
  TRY_ASSIGN(const auto ready, clear_entry(work, &compare));
  if (ready) return {};
  if (auto done = copy_and_publish(work, lock, compare); !done) {
    forget_unbegun(work.cache_entry);
    return done;
  }
  return {};
}

}  // namespace copy
