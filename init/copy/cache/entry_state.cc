#include "init/copy/cache/entry_state.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "init/copy/tree/copy_check.h"
#include "init/sys/boot.h"
#include "init/sys/files.h"

namespace copy {

EntryState check_state(const CacheEntry& cache_entry, const CopyRecord& wanted, bool verify) {
  auto record = read_record(cache_entry);
  if (!record) return {.found = Found::kBroken, .record = {}, .why = to_line(record.error())};
  if (!*record) return {};
  EntryState state{.found = Found::kReady, .record = std::move(**record), .why = ""};
  if (state.record.source != wanted.source || state.record.digest != wanted.digest ||
      state.record.version != wanted.version || state.record.options != wanted.options) {
    state.found = Found::kBroken;
    state.why = cache_entry.record() + " is of another source";
  } else if (::access(cache_entry.data().c_str(), F_OK) != 0) {
    state.found = Found::kBroken;
    state.why = cache_entry.data() + ": " + sys::errno_text(errno);
  } else if (!can_be_trusted(state.record, sys::boot_id())) {
    state.found = Found::kUnsure;
    state.why = "the machine was started anew before it was on the disk";
  } else if (verify && !state.record.hashed) {
    state.found = Found::kUnsure;
    state.why = "it was copied without --verify";
  }
  return state;
}

EntryState check_contents(const CacheEntry& cache_entry, const CopyRecord& wanted,
                          const Options& options) {
  EntryState state = check_state(cache_entry, wanted, options.verify);
  const bool published =
      state.found == Found::kReady ||
      (state.found == Found::kUnsure && can_be_trusted(state.record, sys::boot_id()));
  if (!published) return state;
  const auto counters = SharedCounters::anonymous();
  if (counters) {
    counters->get().total_entries = state.record.entries;
    counters->get().total_bytes = state.record.bytes;
  }
  const base::Status unmodified =
      !counters ? std::unexpected(counters.error())
                : check_unmodified(
                      {cache_entry.data(), cache_entry.manifest(), cache_entry.record()},
                      {.hashed = state.record.hashed, .source = wanted.source}, options, *counters);
  if (unmodified) return state;
  state.found = Found::kChanged;
  state.why = unmodified.error().where + ": " + unmodified.error().found;
  return state;
}

}  // namespace copy
