#include "init/copy/publish/copy_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "init/copy/copy_record.h"
#include "init/copy/publish/claim.h"
#include "init/copy/publish/lease.h"
#include "init/copy/publish/place.h"
#include "init/copy/publish/place_journal.h"
#include "init/copy/publish/publish.h"
#include "init/copy/publish/room.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/phase.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "copying";

void show_waiting(const Destination& place, const Options& options) {
  if (!options.waiting) return;
  const auto counters = SharedCounters::open(place.state + "/progress");
  options.waiting(counters ? &counters->get() : nullptr);
}

// The lock of the place, when whoever has it is done or dead.
envgen::Result<sys::Fd> lock(const Destination& place, const Options& options) {
  constexpr int kEveryMs = 100;
  const std::string path = place.state + "/lock";
  while (true) {
    sys::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid()) return fail_on(path, errno);
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return fail_on(path, errno);
      if (options.deadline_ms != 0 && sys::monotonic_ms() >= options.deadline_ms) {
        return envgen::fail(kWhat, place.path, "another copy to the same place that is not done",
                            "give it more time");
      }
      show_waiting(place, options);
      ::poll(nullptr, 0, kEveryMs);
    }
    // Somebody may have removed the directory, and another copy made it anew.
    struct stat ours{};
    struct stat there{};
    if (::fstat(fd.get(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino) {
      return fd;
    }
    if (auto made = sys::make_directories(place.state, 0755); !made) {
      return std::unexpected(made.error());
    }
  }
}

// The copy that is there is one of this source and of these options. What a crash of the machine
// may have harmed can be proven by its hashes only.
bool is_of(const envgen::CopyRecord& record, const Source& source, const Destination& place,
           const Options& options) {
  return record.source == source.path && record.path == place.real_data() &&
         record.options == to_text(options) && (record.hashed || !options.verify) &&
         (record.synced || !options.durable) &&
         (record.hashed || can_be_trusted(record, sys::boot_id()));
}

// What is there, when neither it nor the source has changed since. `scan` gets what the source
// holds, where it was looked at.
envgen::Result<std::optional<Copied>> find_unchanged(const Source& source, const Destination& place,
                                                     const Options& options,
                                                     const SharedCounters& counters,
                                                     std::optional<Scan>& scan) {
  const envgen::PathState file = sys::look(record_of(place), true);
  const auto record = envgen::parse_record(file.content, record_of(place));
  if (!record || !is_of(*record, source, place, options)) return std::nullopt;
  auto scanned = scan_tree(root_of(source.path, source.directory), options, counters);
  if (!scanned) return std::unexpected(scanned.error());
  scan = *scanned;
  if (to_text(scan->identity) != record->identity) return std::nullopt;
  auto standing = check_published(place, source.path, options, counters);
  if (standing && (options.verify || !can_be_trusted(*record, sys::boot_id()))) {
    standing = verify_tree(place.data() + (place.mount_point ? "/" : ""), place.state + "/manifest",
                           options, counters);
  }
  if (!standing) {
    if (options.warn && place.exists) {
      options.warn(standing.error().where + ": " + standing.error().found + "; copying it anew");
    }
    return std::nullopt;
  }
  if (!can_be_trusted(*record, sys::boot_id())) {
    envgen::CopyRecord proven = *record;
    proven.boot_id = sys::boot_id();
    auto written = sys::write_file_atomic(record_of(place), 0644, record_to_json(proven));
    if (!written) return std::unexpected(written.error());
  }
  return Copied{.path = place.real_data(),
                .how = Published::kUnchanged,
                .size = scan->size,
                .kept = scan->size,
                .replaced = "",
                .why = "",
                .lease = {}};
}

envgen::CopyRecord record_for(const Source& source, const Destination& place,
                              const Options& options, const Scan& scan) {
  return {.source = source.path,
          .identity = to_text(scan.identity),
          .version = "",
          .options = to_text(options),
          .path = place.real_data(),
          .entries = scan.size.entries,
          .bytes = scan.size.bytes,
          .allocated = scan.size.allocated,
          .finished_ms = sys::wall_ms(),
          .boot_id = sys::boot_id(),
          .synced = options.durable,
          .hashed = options.verify};
}

envgen::Status check_room_for(const Source& source, const Destination& place,
                              const Options& options, const SharedCounters& counters,
                              std::optional<Scan>& scan) {
  if (!scan) {
    auto scanned = scan_tree(root_of(source.path, source.directory), options, counters);
    if (!scanned) return std::unexpected(scanned.error());
    scan = *scanned;
  }
  return check_room_for(scan->size, source, place, options);
}

// What an earlier run left counts for the same source only: in another one a file of the same name,
// size and time, as a build that fixes all times leaves it, is another file.
envgen::Status begin_filling(const Source& source, const Destination& place, const Keep& keep) {
  const std::string filling = filling_of(place);
  const std::string note = filling + "/source";
  const std::string text = std::to_string(source.inode) + " " + source.path + "\n";
  if (sys::look(note, true).content == text) return {};
  auto status = remove_tree(tree_of(place), keep);
  if (status) status = remove_tree(filling, keep);
  if (status) status = sys::make_directories(filling, 0755);
  return status ? sys::write_file_atomic(note, 0644, text) : status;
}

envgen::Result<Copied> copy_anew(const Source& source, const Destination& place,
                                 const Options& options, const SharedCounters& counters) {
  const std::string filling = filling_of(place);
  const auto unused = hold_unused(place, options.keep);
  if (!unused) return std::unexpected(unused.error());
  if (auto begun = begin_filling(source, place, options.keep); !begun) {
    return std::unexpected(begun.error());
  }
  auto scan =
      fill_tree(root_of(source.path, source.directory), tree_of(place), filling, options, counters);
  if (!scan) return std::unexpected(scan.error());
  auto free = check_above(place);
  if (free && options.keep) free = options.keep();
  if (!free) return std::unexpected(free.error());
  counters.get().phase = Phase::kPublishing;
  if (options.report) options.report(counters.get());
  auto publication = publish(place, record_for(source, place, options, *scan), options.keep);
  if (!publication) return std::unexpected(publication.error());
  return Copied{.path = place.real_data(),
                .how = publication->how,
                .size = scan->size,
                .kept = {.entries = counters.get().kept_entries,
                         .bytes = counters.get().kept_bytes,
                         .allocated = 0},
                .replaced = std::move(publication->replaced),
                .why = std::move(publication->why),
                .lease = {}};
}

}  // namespace

std::string kept_line(const std::string& where, const std::string& why) {
  return "what was there before is in " + where + (why.empty() ? "" : " (" + why + ")") +
         ", look at it before you remove it";
}

namespace {

envgen::Result<Copied> copy_to(HeldPlace& held, const Source& source, const Options& asked) {
  const Destination& place = held.place;
  auto locked = lock(place, asked);
  if (!locked) return std::unexpected(locked.error());
  auto claim = Claim::take(place.state, asked, sys::boot_id());
  if (!claim) return std::unexpected(claim.error());
  const Keep keep = [&claim] { return claim->keep(); };
  auto settled = settle(place, keep);
  if (!settled) return std::unexpected(settled.error());
  if (!settled->replaced.empty() && asked.warn) {
    asked.warn(kept_line(settled->replaced, settled->why));
  }
  envgen::Status status;
  if (claim->abandoned()) {
    // What the other machine may still write to goes away under it.
    status = remove_tree(tree_of(place), keep);
    if (status) status = remove_tree(filling_of(place), keep);
  }
  // Others may have been there in the meantime.
  if (status) status = look_again(held);
  if (status) status = check_apart(source, place);
  if (status) status = check_publishable(place);
  if (!status) return std::unexpected(status.error());
  auto counters = SharedCounters::create(place.state + "/progress");
  if (!counters) return std::unexpected(counters.error());
  counters->get().started_ms = sys::wall_ms();
  Options options = asked;
  options.report = [&](const Counters& now) {
    counters->save();
    if (asked.report) asked.report(now);
  };
  options.keep = keep;
  options.lock_fd = locked->get();
  std::optional<Scan> scan;
  auto found = find_unchanged(source, place, options, *counters, scan);
  if (!found) return std::unexpected(found.error());
  if (!*found) status = check_room_for(source, place, options, *counters, scan);
  if (!status) return std::unexpected(status.error());
  auto copied = *found ? envgen::Result<Copied>(std::move(**found))
                       : copy_anew(source, place, options, *counters);
  if (!copied) return copied;
  counters->get().phase = Phase::kDone;
  auto lease = take_lease(place, asked);
  if (!lease) return std::unexpected(lease.error());
  copied->lease = std::move(*lease);
  return copied;
}

}  // namespace

envgen::Result<Copied> copy_tree(const std::string& source_path, const std::string& destination,
                                 const Options& asked) {
  auto source = find_source(source_path, asked.deadline_ms, asked.job);
  if (!source) return std::unexpected(source.error());
  // Before anything is made.
  const auto place = find_place(destination);
  if (!place) return std::unexpected(place.error());
  if (auto apart = check_apart(*source, *place); !apart) return std::unexpected(apart.error());
  auto held = hold_place(destination, asked.job);
  if (!held) return std::unexpected(held.error());
  if (auto apart = check_apart(*source, held->place); !apart) {
    return std::unexpected(apart.error());
  }
  Options options = asked;
  if (asked.warn) options.warn = [&](const std::string& line) { asked.warn(held->told(line)); };
  auto copied = copy_to(*held, *source, options);
  if (!copied) {
    envgen::Error error = std::move(copied.error());
    error.where = held->told(std::move(error.where));
    error.found = held->told(std::move(error.found));
    return std::unexpected(std::move(error));
  }
  copied->replaced = held->told(std::move(copied->replaced));
  return copied;
}

}  // namespace copy
