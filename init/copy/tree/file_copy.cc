#include "init/copy/tree/file_copy.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "init/copy/tree/access.h"
#include "init/copy/tree/entry_copy.h"
#include "init/copy/tree/foreign_source.h"
#include "init/copy/tree/links.h"
#include "init/copy/tree/source_links.h"
#include "init/sys/clock.h"

namespace copy {
namespace {

constexpr mode_t kPermissions = 07777;
constexpr mode_t kSpecial = 07000;  // bits that a chown or a write removes
constexpr mode_t kSetIds = 06000;
constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kWorthCloning = 1ULL << 20U;
// From this size on, other entries of the directory are given to idle workers before the file is
// copied.
constexpr std::uint64_t kWorthSharing = 1ULL << 20U;
constexpr std::uint64_t kWorthReadingAhead = 1ULL << 20U;
constexpr std::uint64_t kPieceSize = 1ULL << 20U;  // bytes of a part that are copied between two
                                                   // checks for idle workers

// The kernel's clock for ctimes ticks in this time. A file that is changed within the tick in which
// it was read keeps the same ctime, so after a recent change the copy waits for the end of the
// tick.
constexpr std::int64_t kClockTickNs = 20'000'000;

bool wait_for_tick(const struct stat& status) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age = to_ns(now) - to_ns(status.st_ctim);
  if (age < 0 || age > kClockTickNs) return false;
  sys::sleep_ms(kClockTickNs / 1'000'000);
  return true;
}

FileState state_for_proof(const Worker& worker, const struct stat& source) {
  const Owner owner = owner_for(worker, source);
  return {.mode = source.st_mode,
          .uid = owner.uid,
          .gid = owner.gid,
          .size = static_cast<std::uint64_t>(source.st_size),
          .mtime_ns = to_ns(source.st_mtim),
          .ctime_ns = to_ns(source.st_ctim)};
}

FileState state_of_copy(const struct stat& copy) {
  return {.mode = copy.st_mode,
          .uid = copy.st_uid,
          .gid = copy.st_gid,
          .size = static_cast<std::uint64_t>(copy.st_size),
          .mtime_ns = to_ns(copy.st_mtim),
          .ctime_ns = to_ns(copy.st_ctim)};
}

// A file that is open in both trees while it is copied.
struct Pair {
  int from = -1;
  int to = -1;
  std::uint64_t size = 0;  // size by stat(), or the real size after the file was read to its end
  bool sparse = false;
  bool fresh = true;        // the copy is empty
  std::uint64_t state = 0;  // for a divided file: state_of() the source
  std::uint64_t first = 0;  // this worker copies the parts first .. last - 1
  std::uint64_t last = 0;
  bool divided = false;  // other workers copy some of its parts
};

base::Status failed(Worker& worker, const Moved& moved) {
  if (moved.cut) {
    worker.cut_at = moved.end;
    return {};
  }
  if (moved.writing) return cannot_write(worker, moved.error);
  if (is_replaced(worker, moved.error)) {
    worker.cut_at = 0;
    return {};
  }
  return cannot_read(worker, moved.error);
}

}  // namespace

base::Status drop_pages(Worker& worker, int file, std::uint64_t begin, std::uint64_t end) {
  const auto at = static_cast<off_t>(begin);
  const auto size = static_cast<off_t>(end - begin);
  constexpr unsigned kWritten =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  bool written = size == 0 || ::sync_file_range(file, at, size, kWritten) == 0;
  if (!written && (errno == ENOSYS || errno == EINVAL || errno == ESPIPE || errno == EPERM)) {
    written = ::fdatasync(file) == 0;
  }
  if (!written) return cannot_write(worker, errno);
  if (::posix_fadvise(file, at, size, POSIX_FADV_DONTNEED) != 0) worker.job.header->cached = true;
  return {};
}

namespace {

// Copies the bytes [begin, end). If the copy already has content, writes only what differs. If
// `hash` is given, it gets the hash of the bytes that were read, which are also those that were
// written.
base::Status copy_bytes(Worker& worker, const Pair& pair, std::uint64_t begin, std::uint64_t end,
                        std::uint64_t* hash) {
  const ByteRange range{pair.from, pair.to, begin, end};
  const bool verify = worker.job.options->verify;
  if (!pair.fresh) {
    if (verify) {
      TRY(drop_pages(worker, pair.to, begin, end));
    }
    bool same = false;
    base::ContentHash there;
    const Moved moved = worker.copier.compare(range, verify ? &there : nullptr, same);
    if (!moved.whole()) return failed(worker, moved);
    if (same) {
      if (verify) *hash = there.value();
      worker.job.counters->bytes.fetch_add(end - begin, std::memory_order_relaxed);
      return {};
    }
  }
  base::ContentHash read;
  const bool holes = pair.sparse && pair.fresh;
  Moved moved =
      holes ? worker.copier.move_data(range) : worker.copier.move(range, verify ? &read : nullptr);
  if (!moved.whole()) return failed(worker, moved);
  if (!verify) return {};
  TRY(drop_pages(worker, pair.to, begin, end));
  base::ContentHash written;
  bool same = true;
  if (holes) {
    moved = worker.copier.compare(range, &written, same);
  } else {
    moved = worker.copier.read_back(range, written);
    same = read.value() == written.value();
  }
  if (!moved.whole()) return failed(worker, moved);
  *hash = written.value();
  if (same) return {};
  return base::fail("verifying a copy", worker.job.tree + "/" + worker.path,
                    "other bytes than were written",
                    "look whether the memory and the disk of this machine are in order");
}

// Gives other files of the directory to idle workers. Then, if `divides`, gives half of the parts
// after `part` to an idle worker.
base::Status share_parts(Worker& worker, Pair& pair, std::uint64_t part, bool divides) {
  TRY(share_rest(worker, 1));
  if (!divides || pair.last - part < 2 || !worker.list.hungry()) return {};
  const std::uint64_t middle = part + ((pair.last - part + 1) / 2);
  Item item;
  item.kind = ItemKind::kRange;
  item.fresh = pair.fresh;
  item.first = middle;
  item.last = pair.last;
  item.source = pair.state;
  item.in_linked = worker.in_linked;
  item.path = worker.path;
  TRY(worker.list.push(item));
  pair.last = middle;
  pair.divided = true;
  return {};
}

// Copies a part. Writers of one file block each other, because a local file system lets only one
// write at a time. So a file is divided only if its writer waits for the storage, or has to compute
// hashes. On a slow file system one part takes long, so this is also checked within a part.
base::Status copy_part(Worker& worker, Pair& pair, std::uint64_t part, std::uint64_t* hash) {
  const std::uint64_t end = std::min((part + 1) * kPartSize, pair.size);
  Pair bytes = pair;
  bytes.fresh = pair.fresh || !worker.job.compare;
  const bool whole = worker.job.options->verify || !bytes.fresh;
  for (std::uint64_t at = part * kPartSize; at < end;) {
    const bool divides = whole || worker.waits.look(sys::monotonic_ms());
    TRY(share_parts(worker, pair, part, divides));
    const std::uint64_t piece = whole ? end : std::min(at + kPieceSize, end);
    TRY(copy_bytes(worker, bytes, at, piece, hash));
    if (worker.cut_at) break;
    at = piece;
  }
  return {};
}

// Returns the end of the parts from `part` on that are holes. If the copy is compared, they must be
// holes in it as well.
std::uint64_t end_of_hole(const Worker& worker, const Pair& pair, std::uint64_t part) {
  if (!pair.sparse) return part;
  const std::uint64_t begin = part * kPartSize;
  const std::uint64_t size = std::min(pair.last * kPartSize, pair.size);
  const StorageCall call(worker.waiting, CopySide::kSource);
  std::uint64_t end = next_data(pair.from, begin, size);
  if (worker.job.options->verify || (!pair.fresh && worker.job.compare)) {
    end = next_data(pair.to, begin, end);
  }
  return end == pair.size ? pair.last : end / kPartSize;
}

// Copies the parts that an earlier run has not copied.
base::Status copy_parts(Worker& worker, Pair& pair) {
  const CopyJob& job = worker.job;
  PartSet done;
  if (!pair.fresh && !job.compare) done = job.journal->done(pair.state, parts_of(pair.size));
  worker.waits.forget();
  worker.cut_at.reset();
  for (std::uint64_t part = pair.first, next = 0; part < pair.last; part = next) {
    const std::uint64_t begin = part * kPartSize;
    const auto size = [&] { return std::min(next * kPartSize, pair.size) - begin; };
    next = std::min(done.end_of(part), pair.last);
    if (next > part) {
      job.counters->bytes.fetch_add(size(), std::memory_order_relaxed);
      job.counters->kept_bytes.fetch_add(size(), std::memory_order_relaxed);
      continue;
    }
    next = end_of_hole(worker, pair, part);
    std::optional<std::uint64_t> hash;  // nullopt: a hole has no hash
    if (next > part) {
      job.counters->bytes.fetch_add(size(), std::memory_order_relaxed);
    } else {
      next = part + 1;
      TRY(copy_part(worker, pair, part, &hash.emplace()));
      if (worker.cut_at) {
        note_change(worker);
        return {};
      }
    }
    TRY(job.journal->add(pair.state, {part, next}));
    if (!job.options->verify) continue;
    TRY(note_part(worker, begin, size(), hash));
  }
  return {};
}

// The rest of a file that an earlier run has left.
enum class ExistingFile : unsigned char { kNothing, kKept, kPart };

base::Result<ExistingFile> make_room(Worker& worker, const DirectoryPair& directories,
                                     const char* name) {
  TRY(remove_entry(worker, directories.to, name));
  return ExistingFile::kNothing;
}

// Returns whether stat() still reports `size`. The size can be wrong: a file system that does not
// know it reports 0, as /proc does, or the size of what it stores.
bool is_size_claimed(const Worker& worker, int file, std::uint64_t size) {
  struct stat now{};
  return stat_in_source(worker, file, "", now) && std::cmp_equal(now.st_size, size);
}

// Reads bytes of the source at `at`, as many as one call returns. Returns their number.
base::Result<std::uint64_t> read_at(Worker& worker, int file, std::uint64_t at) {
  std::array<char, 65536> bytes{};
  const ssize_t count =
      ask_source(worker.waiting, [&] { return read_all(file, bytes.data(), bytes.size(), at); });
  if (count < 0 && is_replaced(worker, errno)) return std::uint64_t{0};
  if (count < 0) return cannot_read(worker, errno);
  return static_cast<std::uint64_t>(count);
}

// Copies a file that is not divided into parts. If the file system reports a wrong size, the copy
// ends where the source ends. If the size changes during the copy, calls note_change().
base::Status copy_whole(Worker& worker, Pair& pair, std::uint64_t* hash) {
  worker.cut_at.reset();
  TRY(copy_bytes(worker, pair, 0, pair.size, hash));
  std::uint64_t end = worker.cut_at.value_or(pair.size);
  while (!worker.cut_at) {
    TRY_ASSIGN(const auto more, read_at(worker, pair.from, end));
    if (more == 0) break;
    end += more;
  }
  if (end == pair.size) return {};
  // The size has changed: another process writes to the file, which is recorded as a change.
  if (!is_size_claimed(worker, pair.from, pair.size)) {
    note_change(worker);
    return {};
  }
  worker.cut_at.reset();
  pair.size = end;
  pair.fresh = true;
  pair.sparse = false;
  if (::ftruncate(pair.to, static_cast<off_t>(end)) != 0) return cannot_write(worker, errno);
  TRY(copy_bytes(worker, pair, 0, end, hash));
  if (worker.cut_at) note_change(worker);
  return {};
}

// Returns the size that reading `file` gives. It can differ from the size that the source reports.
base::Result<std::uint64_t> size_of(Worker& worker, int file, std::uint64_t claimed) {
  TRY_ASSIGN(const auto last, read_at(worker, file, claimed == 0 ? 0 : claimed - 1));
  if (last == (claimed == 0 ? 0U : 1U)) return claimed;
  std::uint64_t end = 0;
  while (true) {
    TRY_ASSIGN(const auto more, read_at(worker, file, end));
    if (more == 0) return end;
    end += more;
  }
}

// Returns whether the file can be divided into parts, which requires that its size is right:
// exactly one byte can be read at the last offset.
base::Result<bool> may_divide(Worker& worker, const Pair& pair) {
  if (!has_parts(pair.size)) return false;
  TRY_ASSIGN(const auto count, read_at(worker, pair.from, pair.size - 1));
  return count == 1 || !is_size_claimed(worker, pair.from, pair.size);
}

// Compares the contents of an existing file with the source, and writes what differs.
base::Result<ExistingFile> compare_file(Worker& worker, const DirectoryPair& directories,
                                        const char* name, int from, struct stat status) {
  const sys::Fd to(::openat(directories.to, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!to.valid()) return make_room(worker, directories, name);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t hash = 0;
  Pair pair{.from = from, .to = to.get(), .size = size, .fresh = false};
  TRY(copy_whole(worker, pair, &hash));
  status.st_size = static_cast<off_t>(pair.size);
  auto done = finish_file(worker, to.get(), status, false, true);
  if (done) done = note_entry(worker, ManifestType::kFile, status, hash);
  if (!done) return std::unexpected(done.error());
  return ExistingFile::kKept;
}

bool any_part_done(const Worker& worker, const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return !worker.job.journal->done(state_of(worker.path, status), parts_of(size)).empty();
}

base::Result<ExistingFile> check_existing(Worker& worker, const DirectoryPair& directories,
                                          const char* name, int from, const struct stat& status) {
  struct stat copy{};
  if (::fstatat(directories.to, name, &copy, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return ExistingFile::kNothing;
    return std::unexpected(cannot_write(worker, errno).error());
  }
  const CopyJob& job = worker.job;
  ProofRules rules = job.rules;
  rules.owners = keeps_owners(worker);
  rules.modes = job.header->kept.modes;
  rules.exact_times = job.header->kept.time_step_ns == 1;
  if (!job.compare && is_proven(state_for_proof(worker, status), state_of_copy(copy), rules)) {
    if (status.st_nlink > 1) {
      TRY_ASSIGN(const auto keeps, keep_link(worker, directories, name, copy));
      if (!keeps) return make_room(worker, directories, name);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    job.counters->bytes.fetch_add(size, std::memory_order_relaxed);
    job.counters->kept_bytes.fetch_add(size, std::memory_order_relaxed);
    job.counters->kept_entries.fetch_add(1, std::memory_order_relaxed);
    TRY(note_entry(worker, ManifestType::kFile, status, std::nullopt));
    return ExistingFile::kKept;
  }
  // The file must have one name: other names that an earlier run made would get the new content
  // too.
  const bool whole = S_ISREG(copy.st_mode) && copy.st_size == status.st_size &&
                     status.st_nlink == 1 && copy.st_nlink == 1;
  if (!whole) return make_room(worker, directories, name);
  const bool parts = has_parts(static_cast<std::uint64_t>(status.st_size));
  if (job.compare && !parts) return compare_file(worker, directories, name, from, status);
  const bool begun = !is_time_made_up(status) && any_part_done(worker, status);
  if (parts && (job.compare || begun)) return ExistingFile::kPart;
  return make_room(worker, directories, name);
}

// Copies a large file, which may be one that an earlier run has begun.
base::Status copy_large(Worker& worker, Pair& pair, const struct stat& status) {
  TRY(note_entry(worker, ManifestType::kFile, status, std::nullopt));
  pair.last = parts_of(pair.size);
  worker.cut_at.reset();
  if (!pair.fresh || worker.job.options->verify || !worker.copier.clone(pair.from, pair.to)) {
    if (pair.fresh && ::ftruncate(pair.to, status.st_size) != 0) {
      return cannot_write(worker, errno);
    }
    TRY(copy_parts(worker, pair));
  } else {
    // The parts are added to the journal, because the mtime may not prove later that the copy is
    // complete.
    TRY(worker.job.journal->add(pair.state, {0, pair.last}));
  }
  // A worker cannot know whether it copies the last part of a divided file, so finish_large() sets
  // owner, mode and mtime in the checking pass. A file whose source changed (cut_at) stays
  // unfinished: the tree is copied in another round.
  return pair.divided || worker.cut_at ? base::Status()
                                       : finish_file(worker, pair.to, status, false, true);
}

base::Status copy_small(Worker& worker, const DirectoryPair& directories, Pair& pair,
                        struct stat status) {
  std::uint64_t hash = 0;
  const bool created = pair.fresh;
  const bool verify = worker.job.options->verify;
  const bool cloned =
      !verify && pair.size >= kWorthCloning && worker.copier.clone(pair.from, pair.to);
  if (!cloned && pair.sparse && ::ftruncate(pair.to, status.st_size) != 0) {
    return cannot_write(worker, errno);
  }
  if (!cloned) {
    TRY(copy_whole(worker, pair, &hash));
    status.st_size = static_cast<off_t>(pair.size);
  }
  TRY(finish_file(worker, pair.to, status, created, directories.inherits_group));
  return note_entry(worker, ManifestType::kFile, status,
                    verify ? std::optional(hash) : std::nullopt);
}

// A large file is read from beginning to end, so the kernel may read further ahead than usual. A
// small file is read at once.
void read_ahead(int file, std::uint64_t size) {
  if (size >= kWorthReadingAhead) ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
}

// Opens the source. Returns an invalid descriptor without an error if the entry was removed or
// replaced.
base::Result<sys::Fd> open_source(Worker& worker, const DirectoryPair& directories,
                                  const char* name, struct stat& status) {
  std::optional<Reader> reader;
  if (worker.linked.empty()) reader.emplace(worker);
  if (reader && !reader->may_read()) return std::unexpected(cannot_read(worker, errno).error());
  const auto open = [&] {
    if (!worker.linked.empty()) return open_linked(worker, worker.read_flags);
    return ask_source(worker.waiting,
                      [&] { return sys::Fd(::openat(directories.from, name, worker.read_flags)); });
  };
  sys::Fd from = open();
  if (!from.valid() && errno == EPERM && (worker.read_flags & O_NOATIME) != 0) {
    worker.read_flags &= ~O_NOATIME;  // only the owner of a file, or root, may use this flag
    from = open();
  }
  if (!from.valid()) {
    if (errno != ENOENT && errno != ELOOP)
      return std::unexpected(cannot_read(worker, errno).error());
    note_change(worker);
    return from;
  }
  bool known = stat_in_source(worker, from.get(), "", status);
  if (known && wait_for_tick(status)) known = stat_in_source(worker, from.get(), "", status);
  if (!known) return std::unexpected(cannot_read(worker, errno).error());
  if (!S_ISREG(status.st_mode)) {
    note_change(worker);
    return sys::Fd();
  }
  worker.opened = status.st_ino;
  settle_source(worker, from.get(), "", status);
  if (status.st_nlink > 1) {
    TRY(make_link_key(worker, from.get(), status));
  }
  return from;
}

// Opens the copy of a file. Returns an invalid descriptor without an error if it became a hard link
// to the copy of another name.
base::Result<sys::Fd> open_copy(Worker& worker, const DirectoryPair& directories, const char* name,
                                const struct stat& status, int flags, mode_t mode) {
  const bool linked = status.st_nlink > 1;
  for (;;) {
    TRY_ASSIGN(const auto link, linked ? link_to_first(worker, directories, name) : false);
    if (link) return sys::Fd();
    sys::Fd to(::openat(directories.to, name, flags | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!to.valid()) return std::unexpected(cannot_write(worker, errno).error());
    TRY_ASSIGN(const auto first, linked ? claim_first(worker, directories, name) : true);
    if (first) return to;
    if (::unlinkat(directories.to, name, 0) != 0) {
      return std::unexpected(cannot_write(worker, errno).error());
    }
  }
}

}  // namespace

base::Status finish_file(Worker& worker, int file, const struct stat& status, bool created,
                         bool chown) {
  const Owner owner = owner_for(worker, status);
  const bool other = owner.uid != worker.uid || owner.gid != worker.gid;
  if (keeps_owners(worker) && (other || chown || !created) &&
      ::fchown(file, owner.uid, owner.gid) != 0) {
    if (worker.job.options->owner || (errno != EPERM && errno != EINVAL)) {
      return cannot_write(worker, errno);
    }
    worker.job.header->no_owners = true;
  }
  mode_t mode = status.st_mode & kPermissions;
  if ((mode & kSetIds) != 0) {
    // Set-ID bits are kept only if the owner is right, which also depends on the directory and the
    // file system.
    struct stat made{};
    const bool same =
        ::fstat(file, &made) == 0 && made.st_uid == status.st_uid && made.st_gid == status.st_gid;
    if (!same) mode &= ~kSetIds;
  }
  if ((!created || (mode & kSpecial) != 0) && !set_mode(worker, file, mode)) {
    return cannot_write(worker, errno);
  }
  if (!set_times(worker, file, status)) return cannot_write(worker, errno);
  return {};
}

base::Status copy_file(Worker& worker, const DirectoryPair& directories, const char* name) {
  struct stat status{};
  TRY_ASSIGN(auto from, open_source(worker, directories, name, status));
  if (!from.valid()) return {};
  add_entry(worker.sums, worker.path, status, {}, worker.scratch);
  narrow(worker, from.get(), status);
  worker.job.counters->entries.fetch_add(1, std::memory_order_relaxed);
  Pair pair;
  pair.from = from.get();
  pair.size = static_cast<std::uint64_t>(status.st_size);
  pair.sparse = static_cast<std::uint64_t>(status.st_blocks) * kBlock < pair.size;
  read_ahead(pair.from, pair.size);
  if (pair.size >= kWorthSharing) {
    TRY(share_rest(worker, 1));
  }
  TRY_ASSIGN(const auto large, may_divide(worker, pair));
  if (large) pair.state = state_of(worker.path, status);
  if (!directories.fresh) {
    TRY_ASSIGN(auto there, check_existing(worker, directories, name, from.get(), status));
    if (there == ExistingFile::kKept) return {};
    pair.fresh = there == ExistingFile::kNothing;
  }
  if (large && pair.fresh) {
    TRY(worker.job.journal->begin(pair.state));
  }
  const bool reads = worker.job.options->verify || !pair.fresh;
  const int create = pair.fresh ? O_CREAT | O_EXCL : 0;
  // A large file needs these bits, because other workers must open it, whatever its final mode is.
  const mode_t mode =
      (status.st_mode & kPermissions & ~kSpecial) | (large ? S_IRUSR | S_IWUSR : 0U);
  const int flags = (reads ? O_RDWR : O_WRONLY) | create;
  TRY_ASSIGN(const auto to, open_copy(worker, directories, name, status, flags, mode));
  if (!to.valid()) {
    TRY_ASSIGN(const auto size, size_of(worker, pair.from, pair.size));
    status.st_size = static_cast<off_t>(size);
    return note_entry(worker, ManifestType::kFile, status, std::nullopt);
  }
  pair.to = to.get();
  return large ? copy_large(worker, pair, status) : copy_small(worker, directories, pair, status);
}

base::Status copy_range(Worker& worker, const Item& item) {
  worker.path = item.path;
  constexpr int kFile = O_NONBLOCK;
  const sys::Fd from = open_file_below_source(worker, O_RDONLY | kFile);
  struct stat status{};
  const bool there = from.valid() && stat_in_source(worker, from.get(), "", status);
  if (!there && !is_gone(errno)) return cannot_read(worker, errno);
  if (there) worker.opened = status.st_ino;
  if (there) settle_source(worker, from.get(), "", status);
  if (!there || state_of(worker.path, status) != item.source) {
    note_change(worker);
    return {};
  }
  const sys::Fd to = open_below(worker.tree.get(), worker.path, O_RDWR);
  if (!to.valid()) return cannot_write(worker, errno);
  Pair pair;
  pair.from = from.get();
  pair.to = to.get();
  pair.size = static_cast<std::uint64_t>(status.st_size);
  pair.sparse = static_cast<std::uint64_t>(status.st_blocks) * kBlock < pair.size;
  pair.fresh = item.fresh;
  pair.state = item.source;
  pair.first = item.first;
  pair.last = item.last;
  read_ahead(pair.from, pair.size);
  return copy_parts(worker, pair);
}

}  // namespace copy
