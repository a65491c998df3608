// Finds or makes a dataset's copy in the cache of its node.

#include "init/copy/cache.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "envgen/copy_record.h"
#include "init/copy/eviction.h"
#include "init/copy/look.h"
#include "init/copy/origin.h"
#include "init/copy/place.h"
#include "init/copy/slot.h"
#include "init/copy/space.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "preparing a dataset";

// What one call works with.
struct Work {
  const Preparation& order;
  Options options;
  Source source;
  envgen::CopyRecord wanted;  // source, identity, version, options
  std::optional<Scan> scan;
  std::string root;
  Slot slot;
  // Of a source that changed while it was copied: the slot that its copy was begun in, and its
  // lock.
  Slot begun;
  sys::Fd begun_lock;
  bool copied = false;
  bool waited = false;
  bool as_it_is = false;  // what is published is taken, though it was not verified as is asked
  std::vector<std::string> warnings;
};

void say(const Work& work, const Counters* counters, bool waiting) {
  if (work.order.report) work.order.report({.counters = counters, .waiting = waiting});
}

bool is_late(const Options& options) {
  return options.deadline_ms != 0 && sys::monotonic_ms() >= options.deadline_ms;
}

envgen::Status late(const Work& work, std::string found) {
  return envgen::fail(kWhat, work.order.dataset.source, std::move(found),
                      "give it more time with --data-timeout; what was copied is kept");
}

envgen::Status scan_source(Work& work) {
  auto counters = SharedCounters::anonymous();
  if (!counters) return std::unexpected(counters.error());
  auto scan = scan_tree(work.source.path, work.options, *counters);
  if (!scan) return std::unexpected(scan.error());
  work.scan = *scan;
  return {};
}

// Where it is or was begun already, else where there is room.
envgen::Status choose_slot(Work& work) {
  work.slot.key = key_of(work.order.dataset.name, work.wanted);
  const envgen::DataRequest& request = work.order.request;
  for (const std::string& root : data_roots(request.root)) {
    work.root = root;
    work.slot.store = store_of(root);
    if (::access(work.slot.published().c_str(), F_OK) == 0 ||
        ::access(work.slot.partial().c_str(), F_OK) == 0) {
      return {};
    }
  }
  const std::uint64_t bytes = work.scan ? work.scan->size.allocated : 0;
  auto root = choose_root(request.root, bytes, request.headroom);
  if (!root) return std::unexpected(root.error());
  work.root = std::move(*root);
  work.slot.store = store_of(work.root);
  if (auto made = make_store(work.root); !made) return made;
  auto store = find_place(work.slot.store);
  if (!store) return std::unexpected(store.error());
  store->exists = false;  // a file is not copied over it, but into it
  return check_apart(work.source, *store);
}

envgen::Result<Prepared> hand_out(Work& work, sys::Fd lock, const envgen::CopyRecord& record) {
  constexpr int kRead = R_OK;
  if (::access(work.slot.data().c_str(), kRead) != 0) {
    return envgen::fail(kWhat, work.slot.data(), sys::errno_text(errno),
                        "another user's copy: let this user read the source's files, or name a "
                        "--data-root of its own");
  }
  touch(lock);
  // Begun under another key, and not needed any more.
  if (work.begun_lock.valid()) std::ignore = remove_slot(work.begun);
  work.begun_lock.reset();
  const char* how = work.waited ? "waited for another job's copy" : "found";
  return Prepared{
      .path = work.slot.data(),
      .lease = std::move(lock),
      .how = work.copied ? "copied" : how,
      .size = {.entries = record.entries, .bytes = record.bytes, .allocated = record.allocated},
      .warnings = std::move(work.warnings)};
}

// A copy that has not been on the disk when the machine went down. Whether it is whole.
envgen::Result<bool> prove_by_hashes(Work& work, envgen::CopyRecord record) {
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
envgen::Result<bool> clear_slot(Work& work, bool* compare) {
  const Look look = look_at(work.slot, work.wanted, work.options.verify);
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
    case Found::kBroken:
      work.warnings.push_back(look.why + ", copying it again");
      break;
    case Found::kNothing:
      break;
  }
  if (auto gone = remove_published(work.slot); !gone) return std::unexpected(gone.error());
  return false;
}

// What an unfinished copy has already. It is looked at only where it matters: it may be large.
envgen::Status make_room_for(Work& work) {
  const TreeSize& size = work.scan->size;
  Need need{.bytes = size.allocated, .inodes = size.entries};
  auto space = space_of(work.root, work.order.request.headroom);
  if (!space) return std::unexpected(space.error());
  const bool enough = space->free_bytes >= need.bytes && space->free_inodes >= need.inodes;
  if (!enough && ::access(work.slot.partial_data().c_str(), F_OK) == 0) {
    auto counters = SharedCounters::anonymous();
    if (!counters) return std::unexpected(counters.error());
    Options all = work.options;
    all.filter = {};
    all.report = {};
    const auto there = scan_tree(work.slot.partial_data(), all, *counters);
    if (there) {
      need.bytes -= std::min(need.bytes, there->size.allocated);
      need.inodes -= std::min(need.inodes, there->size.entries);
    }
  }
  return make_room(work.root, work.slot, need, work.order.request);
}

envgen::Status begin_partial(Work& work) {
  const std::string partial = work.slot.partial();
  // What was begun under another key holds the same, or most of it.
  if (work.begun_lock.valid() && work.begun.key != work.slot.key &&
      ::access(partial.c_str(), F_OK) != 0) {
    if (::rename(work.begun.partial().c_str(), partial.c_str()) != 0 && errno != ENOENT) {
      return envgen::fail(kWhat, partial, sys::errno_text(errno), "remove it");
    }
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

envgen::Status fill_and_publish(Work& work, sys::Fd& lock, bool compare) {
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
  say(work, &counters->get(), false);
  Options options = work.options;
  options.compare = compare;
  options.lock_fd = lock.get();
  const auto filled =
      fill_tree(work.source.path, slot.partial_data(), slot.state(), options, *counters);
  if (!filled) return std::unexpected(filled.error());
  if (work.wanted.version.empty() && to_text(filled->identity) != work.wanted.identity) {
    // It changed since it was looked at: this is a copy of something else.
    work.begun = slot;
    work.begun_lock = std::move(lock);
    work.scan = *filled;
    return {};
  }
  counters->get().phase = Phase::kPublishing;
  say(work, &counters->get(), false);
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

// Of a copy that never began: the lock would be left behind for good.
void forget_unbegun(const Slot& slot) {
  if (::access(slot.published().c_str(), F_OK) == 0) return;
  if (::access(slot.partial().c_str(), F_OK) != 0) ::unlink(slot.lock().c_str());
}

// With the slot to ourselves.
envgen::Status make_ready(Work& work, sys::Fd lock) {
  bool compare = false;
  const auto ready = clear_slot(work, &compare);
  if (!ready) return std::unexpected(ready.error());
  if (*ready) return {};
  if (auto done = fill_and_publish(work, lock, compare); !done) {
    forget_unbegun(work.slot);
    return done;
  }
  if (!work.begun_lock.valid()) return {};
  work.wanted.identity = to_text(work.scan->identity);
  return choose_slot(work);
}

envgen::Status wait(Work& work, int turn) {
  if (is_late(work.options)) return late(work, "another job that still copies it");
  const auto counters = SharedCounters::open(work.slot.progress());
  if (counters) work.waited = true;
  say(work, counters ? &counters->get() : nullptr, true);
  constexpr int kFirstMs = 2;
  constexpr int kMostMs = 100;
  constexpr int kLastDoubling = 6;
  // Apart from others that wait: of two that ask at the same time both may be refused.
  const int spread = static_cast<int>(::getpid() % 7);
  ::poll(nullptr, 0, std::min(kFirstMs << std::min(turn, kLastDoubling), kMostMs) + spread);
  return {};
}

// `lock`: shared. nullopt: nothing that may be handed out.
envgen::Result<std::optional<Prepared>> take(Work& work, sys::Fd lock) {
  const Look look = look_at(work.slot, work.wanted, work.options.verify);
  const bool usable =
      look.found == Found::kUnsure && work.as_it_is && can_be_trusted(look.record, sys::boot_id());
  if (look.found != Found::kReady && !usable) return std::nullopt;
  if (usable) work.warnings.push_back(look.why + " and is in use, taking it as it is");
  auto prepared = hand_out(work, std::move(lock), look.record);
  if (!prepared) return std::unexpected(prepared.error());
  return std::move(*prepared);
}

envgen::Result<Prepared> obtain(Work& work) {
  constexpr int kMostCopies = 5;
  int copies = 0;
  for (int turn = 0;; ++turn) {
    auto shared = try_lock(work.slot, Hold::kShared);
    if (!shared) return std::unexpected(shared.error());
    const bool others_only_use_it = shared->valid();
    if (shared->valid()) {
      auto prepared = take(work, std::move(*shared));
      if (!prepared) return std::unexpected(prepared.error());
      if (*prepared) return std::move(**prepared);
    }
    auto exclusive = try_lock(work.slot, Hold::kExclusive);
    if (!exclusive) return std::unexpected(exclusive.error());
    if (!exclusive->valid()) {
      // Those that use it may do so for weeks.
      constexpr int kPatience = 20;
      work.as_it_is = others_only_use_it && turn >= kPatience;
      if (auto waited = wait(work, turn); !waited) return std::unexpected(waited.error());
      continue;
    }
    if (++copies > kMostCopies) {
      return envgen::fail(kWhat, work.slot.published(), "a copy that others remove each time",
                          "raise --cache-ttl and --cache-max-size of the jobs of this node");
    }
    if (auto made = make_ready(work, std::move(*exclusive)); !made) {
      return std::unexpected(made.error());
    }
  }
}

envgen::Result<Options> options_of(const Preparation& order) {
  const envgen::DataRequest& request = order.request;
  auto filter = envgen::PathFilter::make(request.include, request.exclude);
  if (!filter) return std::unexpected(filter.error());
  Options options;
  options.filter = std::move(*filter);
  options.workers = request.workers;
  options.verify = request.verify;
  options.durable = request.durable;
  options.owner = order.owner;
  options.headroom = request.headroom;
  if (request.timeout_ms > 0) options.deadline_ms = sys::monotonic_ms() + request.timeout_ms;
  options.report = [&order](const Counters& counters) {
    if (order.report) order.report({.counters = &counters, .waiting = false});
  };
  options.waiting = [&order](const Counters* counters) {
    if (order.report) order.report({.counters = counters, .waiting = true});
  };
  return options;
}

envgen::Result<Prepared> prepare_at_its_place(const Preparation& order, Options options) {
  auto source = locate_source(order.dataset.source, options.deadline_ms);
  if (!source) return std::unexpected(source.error());
  std::vector<std::string> warnings;
  options.warn = [&warnings](const std::string& line) { warnings.push_back(line); };
  auto copied = copy_tree(source->path, order.dataset.destination, options);
  if (!copied) return std::unexpected(copied.error());
  Prepared prepared{.path = std::move(copied->path),
                    .lease = {},
                    .how = copied->how == Published::kUnchanged ? "found" : "copied",
                    .size = copied->size,
                    .warnings = std::move(warnings)};
  if (!order.request.version.empty()) {
    prepared.warnings.emplace_back("--data-version is for the node's cache, ignoring");
  }
  return prepared;
}

}  // namespace

envgen::Result<Prepared> prepare_dataset(const Preparation& order) {
  auto options = options_of(order);
  if (!options) return std::unexpected(options.error());
  if (!order.dataset.destination.empty()) return prepare_at_its_place(order, std::move(*options));
  Work work{.order = order,
            .options = std::move(*options),
            .source = {},
            .wanted = {},
            .scan = {},
            .root = "",
            .slot = {},
            .begun = {},
            .begun_lock = {},
            .warnings = {}};
  work.options.warn = [&work](const std::string& line) { work.warnings.push_back(line); };
  auto source = locate_source(order.dataset.source, work.options.deadline_ms);
  if (!source) return std::unexpected(source.error());
  work.source = std::move(*source);
  work.wanted.source = work.source.path;
  work.wanted.version = order.request.version;
  work.wanted.options = to_text(work.options);
  if (work.wanted.version.empty()) {
    if (auto scanned = scan_source(work); !scanned) return std::unexpected(scanned.error());
    work.wanted.identity = to_text(work.scan->identity);
  }
  if (auto chosen = choose_slot(work); !chosen) return std::unexpected(chosen.error());
  return obtain(work);
}

}  // namespace copy
