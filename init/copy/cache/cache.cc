// Finds or makes a dataset's copy in the cache of its node.

#include "init/copy/cache/cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

#include "init/copy/cache/cache_entry.h"
#include "init/copy/cache/dataset_work.h"
#include "init/copy/cache/entry_state.h"
#include "init/copy/cache/origin.h"
#include "init/copy/cache/user_cache.h"
#include "init/copy/publish/copy_tree.h"
#include "init/copy/publish/destination.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "preparing a dataset";

base::Status late(const DatasetWork& work, std::string found) {
  return base::fail(kWhat, work.order.dataset.source, std::move(found),
                    "give it more time with --data-timeout; what was copied is kept");
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Sets work.cache_entry: the entry where the copy exists or was begun, otherwise an entry of a root
// with enough room.
base::Status choose_entry(DatasetWork& work) {
  work.cache_entry.key = key_of(work.order.dataset.name, work.wanted, work.variant);
  const envgen::DataRequest& request = work.order.request;
  for (const std::string& root : data_roots(request.root)) {
    const auto cache = own_cache(root);
    if (!cache) continue;
    work.root = root;
    work.cache_entry.cache = cache->path;
    if (is_there(work.cache_entry.directory())) return {};
  }
  const std::uint64_t bytes = work.scan ? work.scan->size.allocated : 0;
  TRY_ASSIGN(work.root, choose_root(request.root, bytes, request.headroom));
  TRY_ASSIGN(work.cache_entry.cache, make_own_cache(work.root));
  TRY_ASSIGN(auto cache, find_destination(work.cache_entry.cache));
  cache.exists = false;  // the source may be a file: it is copied into this directory, not over it
  return check_apart(work.source, cache);
}

base::Result<Prepared> hand_out(DatasetWork& work, sys::Fd lock, const CopyRecord& record) {
  constexpr int kRead = R_OK;
  if (::access(work.cache_entry.data().c_str(), kRead) != 0) {
    return base::fail(kWhat, work.cache_entry.data(), sys::errno_text(errno),
                      "let this user read the source's files, or name a --data-root of its own");
  }
  touch(lock);
  // Users may share the lock, also if this process was killed between the publication and this
  // call. The lock of another user's copy does not change.
  let_share(work.cache_entry, true);
  // Deletes the unfinished copy that was begun under another key.
  if (work.begun_lock.valid()) std::ignore = remove_cache_entry(work.begun);
  work.begun_lock.reset();
  const char* how = work.waited ? "waited for another job's copy" : "found";
  return Prepared{
      .path = work.cache_entry.data(),
      .lease = std::move(lock),
      .how = work.copied ? "copied" : how,
      .size = {.entries = record.entries, .bytes = record.bytes, .allocated = record.allocated},
      .warnings = std::move(work.warnings)};
}

base::Status wait(DatasetWork& work, int turn) {
  if (is_late(work.options)) return late(work, "another job that still copies it");
  // Releases this lock. Otherwise two jobs whose source alternates between two states could wait
  // for each other.
  work.begun_lock.reset();
  const auto counters = SharedCounters::open(work.cache_entry.progress());
  if (counters) work.waited = true;
  say(work, counters ? &counters->get() : nullptr, true);
  constexpr int kFirstMs = 2;
  constexpr int kMaxMs = 100;
  constexpr int kLastDoubling = 6;
  // A pause of another length than in other processes: if two jobs try at the same time, both may
  // be refused.
  const int spread = static_cast<int>(::getpid() % 7);
  sys::pause_ms(std::min(kFirstMs << std::min(turn, kLastDoubling), kMaxMs) + spread);
  return {};
}

// Returns the entry's copy if it can be used; nullopt otherwise. `lock` is a shared lock.
base::Result<std::optional<Prepared>> take(DatasetWork& work, sys::Fd lock) {
  const EntryState state = check_contents(work.cache_entry, work.wanted, work.options);
  work.changed = state.found == Found::kChanged ? state.why : "";
  const bool usable = state.found == Found::kUnsure && work.as_it_is &&
                      can_be_trusted(state.record, sys::boot_id());
  if (state.found != Found::kReady && !usable) return std::nullopt;
  if (usable) work.warnings.push_back(state.why + " and is in use, taking it as it is");
  TRY_ASSIGN(auto prepared, hand_out(work, std::move(lock), state.record));
  return prepared;
}

// Returns a copy that another, trusted user has made. Returns nullopt if there is none that can be
// used as it is, because this user cannot repair it.
std::optional<Prepared> borrow(DatasetWork& work) {
  const CacheEntry own = work.cache_entry;
  if (is_there(own.record())) return std::nullopt;
  for (const std::string& root : data_roots(work.order.request.root)) {
    for (const std::string& cache : trusted_caches(root, work.source.owner)) {
      work.cache_entry = {.cache = cache, .key = key_of(work.order.dataset.name, work.wanted)};
      if (!is_there(work.cache_entry.record())) continue;
      auto shared = try_lock(work.cache_entry, LockMode::kShared);
      if (!shared || !shared->valid()) continue;
      auto prepared = take(work, std::move(*shared));
      if (prepared && *prepared) return std::move(*prepared);
      if (!work.changed.empty()) {
        work.warnings.push_back(work.changed + ": changed since another user copied it");
      }
    }
  }
  work.changed.clear();
  work.cache_entry = own;
  return std::nullopt;
}

base::Result<Prepared> obtain(DatasetWork& work) {
  constexpr int kMaxCopies = 5;
  int copies = 0;
  int spoiled = 0;
  int used_turns = 0;  // consecutive turns in which other jobs only used the copy
  for (int turn = 0;; ++turn) {
    TRY_ASSIGN(auto shared, try_lock(work.cache_entry, LockMode::kShared));
    // The shared lock alone does not mean that a copy is used: a job that only looks for one takes
    // it too.
    const bool is_used = shared.valid() && is_there(work.cache_entry.record());
    used_turns = is_used ? used_turns + 1 : 0;
    if (shared.valid()) {
      TRY_ASSIGN(auto prepared, take(work, std::move(shared)));
      if (prepared) return std::move(*prepared);
    }
    TRY_ASSIGN(auto exclusive, try_lock(work.cache_entry, LockMode::kExclusive));
    if (!exclusive.valid()) {
      // A limit for waiting, because a job can use the copy for weeks.
      constexpr int kMaxTurns = 20;
      work.as_it_is = used_turns > kMaxTurns;
      const bool is_enough = used_turns > kMaxTurns + 1;
      // The copy can neither be used nor repaired. Another entry for the same dataset is then used.
      constexpr int kMaxVariants = 3;
      if (is_enough && work.variant >= kMaxVariants && !work.changed.empty()) {
        return base::fail(kWhat, work.cache_entry.data(),
                          "copies that jobs have changed and use, " +
                              std::to_string(work.variant + 1) + " of them",
                          "let jobs not write to their data, or name a place with "
                          "--data SRC=DST for each");
      }
      if (is_enough && work.variant < kMaxVariants) {
        ++work.variant;
        work.warnings.push_back((work.changed.empty() ? work.cache_entry.data() : work.changed) +
                                ", and another job uses it: copying it anew beside it");
        work.as_it_is = false;
        TRY(choose_entry(work));
        turn = used_turns = 0;
        continue;
      }
      TRY(wait(work, turn));
      continue;
    }
    // No other job has held the copy since it was made, so the file system itself has changed it.
    if (work.copied && !work.changed.empty() && ++spoiled > 1) {
      return base::fail(kWhat, work.changed, "changed as soon as it was copied, twice",
                        "look at its file system, or name another --data-root");
    }
    if (++copies > kMaxCopies && !work.begun.key.empty()) {
      return base::fail(kWhat, work.source.path, "that it changes each time it is copied",
                        "copy when nothing writes to it, or leave out what is written with "
                        "--exclude");
    }
    if (copies > kMaxCopies) {
      return base::fail(
          kWhat, work.cache_entry.directory(),
          "no copy there right after it was made, " + std::to_string(kMaxCopies) + " times",
          "raise --cache-ttl and --cache-max-size if other jobs of this node "
          "remove it, else look at its file system");
    }
    auto made = make_ready(work, std::move(exclusive));
    if (made && work.begun_lock.valid()) {
      work.wanted.digest = to_text(work.scan->digest);
      made = choose_entry(work);
    }
    if (!made) return std::unexpected(made.error());
  }
}

base::Result<Options> options_of(const Preparation& order) {
  const envgen::DataRequest& request = order.request;
  TRY_ASSIGN(auto filter, PathFilter::make(request.include, request.exclude));
  Options options;
  options.filter = std::move(filter);
  options.workers = request.workers;
  options.verify = request.verify;
  options.durable = request.durable;
  options.owner = order.owner;
  options.set_ids = false;
  options.shared = order.dataset.destination.empty();
  options.job_user = order.job_user;
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

base::Result<Prepared> prepare_at_destination(const Preparation& order, Options options) {
  TRY_ASSIGN(auto source, locate_source(order.dataset.source, options));
  std::vector<std::string> warnings;
  options.warn = [&warnings](const std::string& line) { warnings.push_back(line); };
  TRY_ASSIGN(auto copied, copy_tree(source.path, order.dataset.destination, options));
  if (!copied.replaced.empty()) {
    warnings.push_back(kept_line(order.dataset.destination, copied.replaced, copied.why));
  }
  Prepared prepared{.path = std::move(copied.path),
                    .lease = std::move(copied.lease),
                    .how = copied.how == Published::kUnchanged ? "found" : "copied",
                    .size = copied.size,
                    .warnings = std::move(warnings)};
  if (!order.request.version.empty()) {
    prepared.warnings.emplace_back("--data-version is for the node's cache, ignoring");
  }
  return prepared;
}

}  // namespace

base::Result<Prepared> prepare_dataset(const Preparation& order) {
  TRY_ASSIGN(auto options, options_of(order));
  if (!order.dataset.destination.empty()) return prepare_at_destination(order, std::move(options));
  DatasetWork work{.order = order,
                   .options = std::move(options),
                   .source = {},
                   .wanted = {},
                   .scan = {},
                   .root = "",
                   .cache_entry = {},
                   .begun = {},
                   .begun_lock = {},
                   .changed = "",
                   .warnings = {}};
  work.options.warn = [&work](const std::string& line) { work.warnings.push_back(line); };
  TRY_ASSIGN(work.source, locate_source(order.dataset.source, work.options));
  work.wanted.source = work.source.path;
  work.wanted.version = order.request.version;
  work.wanted.options = to_text(work.options);
  if (work.wanted.version.empty()) {
    TRY(scan_source(work));
    work.wanted.digest = to_text(work.scan->digest);
  }
  // This error is reported only if no other user has a copy either.
  const auto chosen = choose_entry(work);
  if (auto borrowed = borrow(work)) return std::move(*borrowed);
  if (!chosen) return std::unexpected(chosen.error());
  return obtain(work);
}

}  // namespace copy
