#include "init/copy/cache/dataset_work.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "init/copy/cache/eviction.h"
#include "init/copy/cache/look.h"
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
  auto counters = SharedCounters::anonymous();
  if (!counters) return std::unexpected(counters.error());
  const auto verified =
      verify_tree(work.slot.data(), work.slot.manifest(), work.options, *counters);
  if (!verified) {
    if (is_late(work.options)) return std::unexpected(verified.error());
    work.warnings.push_back(to_line(verified.error()) + "; it is copied again");
    return false;
  }
  if (auto synced = sync_file_system(work.slot.store); !synced) {
    return std::unexpected(synced.error());
  }
  record.synced = true;
  record.boot_id = sys::boot_id();
  auto written = sys::write_file_atomic(work.slot.record(), 0644, record_to_json(record));
  if (!written) return std::unexpected(written.error());
  return true;
}

// Leaves in the slot what may be taken over as an unfinished copy. True: it is ready as it is.
envgen::Result<bool> clear_slot(DatasetWork& work, bool* compare) {
  const Look look = look_through(work.slot, work.wanted, work.options);
  switch (look.found) {
    case Found::kReady:
      return true;
    case Found::kUnsure: {
      auto proven = prove_by_hashes(work, look.record);
      if (!proven || *proven) return proven;
      *compare = true;
      if (auto done = unpublish(work.slot); !done) return std::unexpected(done.error());
      return false;
    }
    case Found::kChanged:
      work.warnings.push_back(look.why +
                              ": changed since it was copied, comparing it with its source");
      *compare = true;
      if (auto done = unpublish(work.slot); !done) return std::unexpected(done.error());
      return false;
    case Found::kBroken:
      work.warnings.push_back(look.why + ", copying it again");
      break;
    case Found::kNothing:
      break;
  }
  if (auto gone = remove_published(work.slot); !gone) return std::unexpected(gone.error());
  return false;
}

envgen::Status make_room_for(DatasetWork& work) {
  auto space = space_of(work.root, work.order.request.headroom);
  if (!space) return std::unexpected(space.error());
  const Need need = need_of(work.scan->size, *space, {work.slot.partial()}, work.options);
  return make_room(work.root, work.slot, need, work.order.request);
}

// Of a copy that never began, or that went on under another key: the lock would be left behind for
// good.
void forget_unbegun(const Slot& slot) {
  if (::access(slot.published().c_str(), F_OK) == 0) return;
  if (::access(slot.partial().c_str(), F_OK) != 0) ::unlink(slot.lock().c_str());
}

envgen::Status begin_partial(DatasetWork& work) {
  const std::string partial = work.slot.partial();
  // What was begun under another key holds the same, or most of it.
  if (work.begun_lock.valid() && work.begun.key != work.slot.key &&
      ::access(partial.c_str(), F_OK) != 0) {
    // EXDEV: the cache is in another root now, which is another file system.
    const bool moved = ::rename(work.begun.partial().c_str(), partial.c_str()) == 0;
    if (!moved && errno != ENOENT && errno != EXDEV) {
      return envgen::fail(kWhat, partial, sys::errno_text(errno), "remove it");
    }
    forget_unbegun(work.begun);
  }
  work.begun_lock.reset();
  if (auto made = sys::make_directories(work.slot.state(), 0755); !made) {
    // A file or a link stands there: nobody made a copy of that.
    if (auto gone = sys::remove_tree(partial); !gone) return gone;
    if (auto again = sys::make_directories(work.slot.state(), 0755); !again) return again;
    work.warnings.push_back(to_line(made.error()) + ", copying it again");
  }
  // Of a run that was killed before it published.
  ::unlink((partial + "/record.json").c_str());
  return sys::write_file_atomic(partial + "/source", 0644, work.source.path);
}

envgen::Status fill_and_publish(DatasetWork& work, sys::Fd& lock, bool compare) {
  if (!work.scan) {
    if (auto scanned = scan_source(work); !scanned) return scanned;
  }
  auto status = make_room_for(work);
  if (status) status = begin_partial(work);
  if (!status) return status;
  const Slot& slot = work.slot;
  auto counters = SharedCounters::create(slot.progress());
  if (!counters) return std::unexpected(counters.error());
  counters->get().total_entries = work.scan->size.entries;
  counters->get().total_bytes = work.scan->size.bytes;
  counters->get().phase = Phase::kCopying;
  const auto tell = [&] {
    counters->save();
    say(work, &counters->get(), false);
  };
  tell();
  Options options = work.options;
  options.report = [&tell](const Counters&) { tell(); };
  options.compare = compare;
  options.lock_fd = lock.get();
  const auto filled = fill_tree(root_of(work.source.path, work.source.directory),
                                slot.partial_data(), slot.state(), options, *counters);
  if (!filled) return std::unexpected(filled.error());
  if (work.wanted.version.empty() && to_text(filled->identity) != work.wanted.identity) {
    // It changed since it was looked at: this is a copy of something else.
    work.begun = slot;
    work.begun_lock = std::move(lock);
    work.scan = *filled;
    return {};
  }
  counters->get().phase = Phase::kPublishing;
  tell();
  if (compare && !options.durable) status = sync_file_system(slot.store);
  envgen::CopyRecord record = work.wanted;
  record.path = slot.data();
  record.entries = filled->size.entries;
  record.bytes = filled->size.bytes;
  record.allocated = filled->size.allocated;
  record.finished_ms = sys::wall_ms();
  record.boot_id = sys::boot_id();
  record.synced = options.durable || compare;
  record.hashed = options.verify;
  if (status) status = publish(slot, record);
  if (status) counters->get().phase = Phase::kDone;
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
  auto counters = SharedCounters::anonymous();
  if (!counters) return std::unexpected(counters.error());
  auto scan = scan_tree(root_of(work.source.path, work.source.directory), work.options, *counters);
  if (!scan) return std::unexpected(scan.error());
  work.scan = *scan;
  return {};
}

envgen::Status make_ready(DatasetWork& work, sys::Fd lock) {
  bool compare = false;
  const auto ready = clear_slot(work, &compare);
  if (!ready) return std::unexpected(ready.error());
  if (*ready) return {};
  if (auto done = fill_and_publish(work, lock, compare); !done) {
    forget_unbegun(work.slot);
    return done;
  }
  return {};
}

}  // namespace copy
