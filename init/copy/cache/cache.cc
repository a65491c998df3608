// Finds or makes a dataset's copy in the cache of its node.

#include "init/copy/cache/cache.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "init/copy/cache/dataset_work.h"
#include "init/copy/cache/look.h"
#include "init/copy/cache/origin.h"
#include "init/copy/cache/slot.h"
#include "init/copy/cache/store.h"
#include "init/copy/publish/copy_tree.h"
#include "init/copy/publish/place.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "preparing a dataset";

envgen::Status late(const DatasetWork& work, std::string found) {
  return envgen::fail(kWhat, work.order.dataset.source, std::move(found),
                      "give it more time with --data-timeout; what was copied is kept");
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Where it is or was begun already, else where there is room.
envgen::Status choose_slot(DatasetWork& work) {
  work.slot.key = key_of(work.order.dataset.name, work.wanted, work.variant);
  const envgen::DataRequest& request = work.order.request;
  for (const std::string& root : data_roots(request.root)) {
    const auto store = own_store(root);
    if (!store) continue;
    work.root = root;
    work.slot.store = store->path;
    if (is_there(work.slot.published()) || is_there(work.slot.partial())) return {};
  }
  const std::uint64_t bytes = work.scan ? work.scan->size.allocated : 0;
  auto root = choose_root(request.root, bytes, request.headroom);
  if (!root) return std::unexpected(root.error());
  work.root = std::move(*root);
  auto made = make_store(work.root);
  if (!made) return std::unexpected(made.error());
  work.slot.store = std::move(*made);
  auto store = find_place(work.slot.store);
  if (!store) return std::unexpected(store.error());
  store->exists = false;  // a file is not copied over it, but into it
  return check_apart(work.source, *store);
}

envgen::Result<Prepared> hand_out(DatasetWork& work, sys::Fd lock,
                                  const envgen::CopyRecord& record) {
  constexpr int kRead = R_OK;
  if (::access(work.slot.data().c_str(), kRead) != 0) {
    return envgen::fail(kWhat, work.slot.data(), sys::errno_text(errno),
                        "let this user read the source's files, or name a --data-root of its own");
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

envgen::Status wait(DatasetWork& work, int turn) {
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
envgen::Result<std::optional<Prepared>> take(DatasetWork& work, sys::Fd lock) {
  const Look look = look_through(work.slot, work.wanted, work.options);
  work.changed = look.found == Found::kChanged ? look.why : "";
  const bool usable =
      look.found == Found::kUnsure && work.as_it_is && can_be_trusted(look.record, sys::boot_id());
  if (look.found != Found::kReady && !usable) return std::nullopt;
  if (usable) work.warnings.push_back(look.why + " and is in use, taking it as it is");
  auto prepared = hand_out(work, std::move(lock), look.record);
  if (!prepared) return std::unexpected(prepared.error());
  return std::move(*prepared);
}

// A copy that somebody else has made whom we trust, as it is; nullopt: there is none. What is not
// right about it is not ours to mend.
std::optional<Prepared> borrow(DatasetWork& work) {
  const Slot own = work.slot;
  if (is_there(own.published())) return std::nullopt;
  for (const std::string& root : data_roots(work.order.request.root)) {
    for (const std::string& store : trusted_stores(root, work.source.owner)) {
      work.slot = {.store = store, .key = key_of(work.order.dataset.name, work.wanted)};
      if (!is_there(work.slot.record())) continue;
      auto shared = try_lock(work.slot, Hold::kShared);
      if (!shared || !shared->valid()) continue;
      auto prepared = take(work, std::move(*shared));
      if (prepared && *prepared) return std::move(*prepared);
      if (!work.changed.empty()) {
        work.warnings.push_back(work.changed + ": changed since another user copied it");
      }
    }
  }
  work.changed.clear();
  work.slot = own;
  return std::nullopt;
}

envgen::Result<Prepared> obtain(DatasetWork& work) {
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
      // Neither to be used nor to be mended: another slot for the same.
      constexpr int kMostVariants = 3;
      if (work.as_it_is && turn > kPatience && work.variant >= kMostVariants &&
          !work.changed.empty()) {
        return envgen::fail(kWhat, work.slot.data(),
                            "copies that jobs have changed and use, " +
                                std::to_string(work.variant + 1) + " of them",
                            "let jobs not write to their data, or name a place with "
                            "--data SRC=DST for each");
      }
      if (work.as_it_is && turn > kPatience && work.variant < kMostVariants) {
        ++work.variant;
        work.warnings.push_back((work.changed.empty() ? work.slot.data() : work.changed) +
                                ", and another job uses it: copying it anew beside it");
        work.as_it_is = false;
        if (auto chosen = choose_slot(work); !chosen) return std::unexpected(chosen.error());
        turn = 0;
        continue;
      }
      if (auto waited = wait(work, turn); !waited) return std::unexpected(waited.error());
      continue;
    }
    if (++copies > kMostCopies) {
      return envgen::fail(kWhat, work.slot.published(), "a copy that others remove each time",
                          "raise --cache-ttl and --cache-max-size of the jobs of this node");
    }
    auto made = make_ready(work, std::move(*exclusive));
    if (made && work.begun_lock.valid()) {
      work.wanted.identity = to_text(work.scan->identity);
      made = choose_slot(work);
    }
    if (!made) return std::unexpected(made.error());
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
  options.set_ids = false;
  options.shared = order.dataset.destination.empty();
  options.job = order.job;
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
  auto source = locate_source(order.dataset.source, options.deadline_ms, order.job);
  if (!source) return std::unexpected(source.error());
  std::vector<std::string> warnings;
  options.warn = [&warnings](const std::string& line) { warnings.push_back(line); };
  auto copied = copy_tree(source->path, order.dataset.destination, options);
  if (!copied) return std::unexpected(copied.error());
  if (!copied->replaced.empty()) {
    warnings.push_back(order.dataset.destination + ": " + kept_line(copied->replaced, copied->why));
  }
  Prepared prepared{.path = std::move(copied->path),
                    .lease = std::move(copied->lease),
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
  DatasetWork work{.order = order,
                   .options = std::move(*options),
                   .source = {},
                   .wanted = {},
                   .scan = {},
                   .root = "",
                   .slot = {},
                   .begun = {},
                   .begun_lock = {},
                   .changed = "",
                   .warnings = {}};
  work.options.warn = [&work](const std::string& line) { work.warnings.push_back(line); };
  auto source = locate_source(order.dataset.source, work.options.deadline_ms, order.job);
  if (!source) return std::unexpected(source.error());
  work.source = std::move(*source);
  work.wanted.source = work.source.path;
  work.wanted.version = order.request.version;
  work.wanted.options = to_text(work.options);
  if (work.wanted.version.empty()) {
    if (auto scanned = scan_source(work); !scanned) return std::unexpected(scanned.error());
    work.wanted.identity = to_text(work.scan->identity);
  }
  // An error is told where nobody else has it either.
  const auto chosen = choose_slot(work);
  if (auto borrowed = borrow(work)) return std::move(*borrowed);
  if (!chosen) return std::unexpected(chosen.error());
  return obtain(work);
}

}  // namespace copy
