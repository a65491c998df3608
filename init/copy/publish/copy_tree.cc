#include "init/copy/publish/copy_tree.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "init/copy/copy_record.h"
#include "init/copy/publish/claim.h"
#include "init/copy/publish/destination.h"
#include "init/copy/publish/filling.h"
#include "init/copy/publish/publication_journal.h"
#include "init/copy/publish/publish.h"
#include "init/copy/publish/room.h"
#include "init/copy/publish/use_lock.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/pass.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/path_state.h"

namespace copy {
namespace {

constexpr const char* kWhat = "copying";

void show_waiting(const Destination& destination, const Options& options) {
  if (!options.waiting) return;
  const auto counters = SharedCounters::open(counters_of(destination));
  options.waiting(counters ? &counters->get() : nullptr);
}

// Returns the lock of the destination. Blocks until the process that holds it has finished or died.
base::Result<sys::Fd> lock(const Destination& destination, const Options& options) {
  constexpr int kEveryMs = 100;
  const std::string path = destination.state + "/lock";
  while (true) {
    sys::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid()) return fail_on(path, errno);
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return fail_on(path, errno);
      if (options.deadline_ms != 0 && sys::monotonic_ms() >= options.deadline_ms) {
        return base::fail(kWhat, destination.path,
                          "another copy to the same place that is not done", "give it more time");
      }
      show_waiting(destination, options);
      sys::pause_ms(kEveryMs);
    }
    // Checks that the locked file is still at its path: another process can have deleted the
    // directory, and a third one created it again.
    struct stat ours{};
    struct stat there{};
    if (::fstat(fd.get(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino) {
      return fd;
    }
    TRY(sys::make_directories(destination.state, 0755));
  }
}

// Returns whether the published copy was made from this source with these options, and can be used.
// If a crash of the machine may have harmed it, only its hashes can prove that it is complete.
bool is_of(const CopyRecord& record, const Source& source, const Destination& destination,
           const Options& options) {
  return record.source == source.path && record.path == destination.real_data() &&
         record.options == to_text(options) && (record.hashed || !options.verify) &&
         (record.synced || !options.durable) &&
         (record.hashed || can_be_trusted(record, sys::boot_id()));
}

// Returns the published copy if neither the copy nor the source has changed. Sets `scan` if the
// source was scanned.
base::Result<std::optional<Copied>> find_unchanged(const Source& source,
                                                   const Destination& destination,
                                                   const Options& options,
                                                   const SharedCounters& counters,
                                                   std::optional<Scan>& scan) {
  const envgen::PathState file = read_kept_file(record_of(destination));
  const auto record = parse_record(file.content, record_of(destination));
  if (!record || !is_of(*record, source, destination, options)) return std::nullopt;
  TRY_ASSIGN(scan, scan_tree(root_of(source.path, source.directory), options, counters));
  if (to_text(scan->digest) != record->digest) return std::nullopt;
  auto unmodified = check_published(destination, source.path, options, counters);
  if (unmodified && (options.verify || !can_be_trusted(*record, sys::boot_id()))) {
    unmodified = verify_tree(destination.data() + (destination.mount_point ? "/" : ""),
                             manifest_of(destination), options, counters);
  }
  if (!unmodified) {
    if (options.warn && destination.exists) {
      options.warn(unmodified.error().where + ": " + unmodified.error().found +
                   "; copying it anew");
    }
    return std::nullopt;
  }
  if (!can_be_trusted(*record, sys::boot_id())) {
    CopyRecord proven = *record;
    proven.boot_id = sys::boot_id();
    TRY(sys::write_file_atomic(record_of(destination), 0644, record_to_json(proven)));
  }
  return Copied{.path = destination.real_data(),
                .how = Published::kUnchanged,
                .size = scan->size,
                .kept = scan->size,
                .replaced = "",
                .why = "",
                .lease = {}};
}

base::Status check_room_for(const Source& source, const Destination& destination,
                            const Options& options, const SharedCounters& counters,
                            std::optional<Scan>& scan) {
  if (!scan) {
    TRY_ASSIGN(scan, scan_tree(root_of(source.path, source.directory), options, counters));
  }
  return check_room_for(scan->size, source, destination, options);
}

base::Result<Copied> copy_anew(const Source& source, const Destination& destination,
                               const Options& options, const SharedCounters& counters) {
  // From now until the publication, no job may start to use the content that will be replaced.
  TRY_ASSIGN(const auto unused, lock_unused(destination, options.keep));
  TRY_ASSIGN(const auto scan, fill(source, destination, options, counters));
  auto free = check_above(destination);
  if (free && options.keep) free = options.keep();
  if (!free) return std::unexpected(free.error());
  counters.get().phase = Phase::kPublishing;
  if (options.report) options.report(counters.get());
  TRY_ASSIGN(auto publication,
             publish(destination, record_for(source, destination, options, scan), options.keep));
  return Copied{.path = destination.real_data(),
                .how = publication.how,
                .size = scan.size,
                .kept = {.entries = counters.get().kept_entries,
                         .bytes = counters.get().kept_bytes,
                         .allocated = 0},
                .replaced = std::move(publication.replaced),
                .why = std::move(publication.why),
                .lease = {}};
}

}  // namespace

std::string kept_line(const std::string& destination, const std::string& where,
                      const std::string& why) {
  return "kept the previous content of " + destination + " in " + where + ": " +
         (why.empty() ? "trainit did not copy it" : "it was modified (" + why + ")") +
         "; review it, then delete it";
}

namespace {

base::Result<Copied> copy_to(OpenDestination& held, const Source& source, const Options& asked) {
  const Destination& destination = held.destination;
  TRY_ASSIGN(auto locked, lock(destination, asked));
  auto claim = Claim::take(destination.state, asked, sys::boot_id());
  if (!claim) return std::unexpected(claim.error());
  const Keep keep = [&claim] { return claim->keep(); };
  TRY_ASSIGN(auto settled, settle(destination, keep));
  if (!settled.replaced.empty() && asked.warn) {
    asked.warn(kept_line(destination.real, settled.replaced, settled.why));
  }
  base::Status status;
  if (claim->abandoned()) {
    // Deletes the tree first, because the other machine may still be writing to it.
    status = remove_tree(tree_of(destination), keep);
    if (status) status = remove_tree(filling_of(destination), keep);
  }
  // Another copy can have been published while this one waited for the lock.
  if (status) status = refresh(held);
  if (status) status = check_apart(source, destination);
  if (status) status = check_publishable(destination);
  if (!status) return std::unexpected(status.error());
  TRY_ASSIGN(auto counters, SharedCounters::create(counters_of(destination)));
  counters.get().started_ms = sys::wall_ms();
  Options options = asked;
  options.report = [&](const Counters& now) {
    counters.save();
    if (asked.report) asked.report(now);
  };
  options.keep = keep;
  options.lock_fd = locked.get();
  std::optional<Scan> scan;
  TRY_ASSIGN(auto found, find_unchanged(source, destination, options, counters, scan));
  if (!found) status = check_replaceable(destination);
  if (!found && status) status = check_room_for(source, destination, options, counters, scan);
  if (!status) return std::unexpected(status.error());
  auto copied = found ? base::Result<Copied>(std::move(*found))
                      : copy_anew(source, destination, options, counters);
  if (!copied) return copied;
  counters.get().phase = Phase::kDone;
  TRY_ASSIGN(auto lease, lock_for_use(destination, asked));
  copied->lease = std::move(lease);
  return copied;
}

}  // namespace

base::Result<Copied> copy_tree(const std::string& source_path, const std::string& destination_path,
                               const Options& asked) {
  TRY_ASSIGN(auto source, find_source(source_path, asked));
  // These checks come before anything is created.
  TRY_ASSIGN(const auto destination, find_destination(destination_path));
  TRY(check_apart(source, destination));
  TRY_ASSIGN(auto held, open_destination(destination_path, asked.job_user));
  TRY(check_apart(source, held.destination));
  Options options = asked;
  if (asked.warn)
    options.warn = [&](const std::string& line) { asked.warn(held.with_named_paths(line)); };
  auto copied = copy_to(held, source, options);
  if (!copied) {
    base::Error error = std::move(copied.error());
    error.where = held.with_named_paths(std::move(error.where));
    error.found = held.with_named_paths(std::move(error.found));
    return std::unexpected(std::move(error));
  }
  copied->replaced = held.with_named_paths(std::move(copied->replaced));
  return copied;
}

base::Result<Preview> preview_copy(const std::string& source_path,
                                   const std::string& destination_path, const Options& asked) {
  TRY_ASSIGN(const auto source, find_source(source_path, asked));
  TRY_ASSIGN(const auto destination, find_destination(destination_path));
  TRY(check_apart(source, destination));
  TRY(check_publishable(destination));
  TRY_ASSIGN(auto counters, SharedCounters::anonymous());
  counters.get().started_ms = sys::wall_ms();
  Options options = asked;
  options.dry_run = true;
  TRY_ASSIGN(const auto scan, scan_tree(root_of(source.path, source.directory), options, counters));
  Preview preview{.path = destination.real_data(), .size = scan.size};
  const envgen::PathState file = read_kept_file(record_of(destination));
  const auto record = parse_record(file.content, record_of(destination));
  preview.up_to_date = record && destination.exists &&
                       is_of(*record, source, destination, options) &&
                       record->digest == to_text(scan.digest);
  auto space = space_of(sys::present_part(destination.state), options.headroom);
  // Some file systems do not report their space.
  if (space && space->available_bytes != UINT64_MAX) preview.space = *space;
  if (preview.up_to_date || !preview.space) return preview;
  const Need need =
      need_of(scan.size, *space, {tree_of(destination), filling_of(destination)}, options);
  if (has_room(*space, need)) return preview;
  return std::unexpected(room_error(destination, *space, need));
}

}  // namespace copy
