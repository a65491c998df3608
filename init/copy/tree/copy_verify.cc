// verify_tree(): compares a copy with its manifest.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"
#include "init/copy/manifest.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/file_copy.h"
#include "init/copy/tree/foreign_source.h"
#include "init/copy/tree/pass.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

constexpr std::uint64_t kPiece = 65536;  // bytes of the manifest that one process reads at a time
constexpr mode_t kPermissions = 07777;
constexpr mode_t kSetIds = 06000;

std::unexpected<base::Error> not_as_noted(const Worker& worker, const std::string& found) {
  return base::fail("checking a copy by its manifest", worker.job.source + "/" + worker.path, found,
                    "remove it, and copy again");
}

// Makes the error if an entry of the manifest cannot be opened.
std::unexpected<base::Error> not_opened(const Worker& worker, int error) {
  const bool gone = error == ENOENT || error == ENOTDIR || error == ELOOP;
  return not_as_noted(worker, gone ? "no such file any more" : sys::errno_text(error));
}

std::unexpected<base::Error> no_manifest(const std::string& path, const std::string& found) {
  return base::fail("reading the manifest of a copy", path, found,
                    "remove the copy, and copy again");
}

// Returns the lines that begin in [begin, end) of the manifest, which is the file job.state.
base::Result<std::string> read_lines(const CopyJob& job, std::uint64_t begin, std::uint64_t end) {
  const sys::Fd file(::open(job.state.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return no_manifest(job.state, sys::errno_text(errno));
  std::uint64_t at = begin == 0 ? 0 : begin - 1;
  const std::size_t own = end - at;
  std::string text;
  while (text.size() < own || text.find('\n', own - 1) == std::string::npos) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const ssize_t size = read_kept(file.get(), text.data() + before, kPiece, at);
    if (size < 0) return no_manifest(job.state, sys::errno_text(errno));
    text.resize(before + static_cast<std::size_t>(size));
    if (size == 0) break;
    at += static_cast<std::uint64_t>(size);
  }
  if (text.size() >= own) text.resize(text.find('\n', own - 1) + 1);
  // A line that begins before `begin` belongs to another worker.
  if (begin != 0) text.erase(0, text.find('\n') + 1);
  if (!text.empty() && text.back() != '\n') return no_manifest(job.state, "a line without an end");
  return text;
}

base::Status check_hash(Worker& worker, int file, const ManifestLine& line) {
  const bool part = line.type == ManifestType::kPart;
  const std::uint64_t begin = part ? static_cast<std::uint64_t>(line.mtime_ns) : 0;
  worker.job.counters->bytes.fetch_add(line.size, std::memory_order_relaxed);
  if (!line.hash && !part) return {};
  if (!line.hash) {
    bool zeros = false;
    const Moved moved =
        worker.copier.compare_with_zeros({-1, file, begin, begin + line.size}, zeros);
    if (!moved.whole()) return cannot_read(worker, moved.error);
    return zeros ? base::Status() : not_as_noted(worker, "other bytes than were copied");
  }
  if (auto dropped = drop_pages(worker, file, begin, begin + line.size); !dropped) {
    return not_as_noted(worker, dropped.error().found);
  }
  base::ContentHash hash;
  const Moved moved = worker.copier.read_back({-1, file, begin, begin + line.size}, hash);
  if (!moved.whole()) return cannot_read(worker, moved.error);
  if (hash.value() == *line.hash) return {};
  return not_as_noted(worker, "other bytes than were copied");
}

base::Status check_link(Worker& worker, int directory, const ManifestLine& line,
                        const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (size < 0) return not_as_noted(worker, sys::errno_text(errno));
  target.resize(static_cast<std::size_t>(size));
  if (base::hash_of(target) == line.hash) return {};
  return not_as_noted(worker, "a link to another place");
}

// Compares the contents of a file that has a later ctime, but the same size and mtime.
base::Status compare_touched(Worker& worker, const ManifestLine& line) {
  const CheckScope& scope = *worker.job.scope;
  worker.job.header->touched = true;
  const sys::Fd copy = open_below(worker.source.get(), worker.path, O_RDONLY | O_NONBLOCK);
  if (!copy.valid()) return not_opened(worker, errno);
  if (line.hash || line.type == ManifestType::kPart) {
    return check_hash(worker, copy.get(), line);
  }
  if (scope.hashed && has_parts(line.size))
    return {};  // the manifest has a line for each part of
                // the file
  if (scope.source.empty()) return not_as_noted(worker, "touched after it was copied");
  const std::string_view path = worker.job.only.empty() ? std::string_view(line.path) : "";
  const sys::Fd source = open_in_source(worker, scope.source, path, O_RDONLY | O_NONBLOCK);
  struct stat now{};
  if (!source.valid() || ::fstat(source.get(), &now) != 0 || !S_ISREG(now.st_mode) ||
      static_cast<std::uint64_t>(now.st_size) != line.size) {
    return not_as_noted(worker, "touched after it was copied");
  }
  bool same = true;
  const Moved moved =
      worker.copier.compare({source.get(), copy.get(), 0, line.size}, nullptr, same);
  if (!moved.whole()) return cannot_read(worker, moved.error);
  return same ? base::Status() : not_as_noted(worker, "other bytes than the source has");
}

// Reads the status of an entry. For a file, one call with its path is enough. Other types, and
// paths that are too long for a call, must be opened.
base::Status look_at(Worker& worker, const ManifestLine& line, sys::Fd& opened,
                     struct stat& status) {
  const int root = worker.source.get();
  const bool file = line.type == ManifestType::kFile || line.type == ManifestType::kPart;
  if (file && !worker.path.empty() && worker.path.size() < PATH_MAX) {
    const int done = ::fstatat(root, worker.path.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    return done == 0 ? base::Status() : not_opened(worker, errno);
  }
  if (!worker.path.empty()) opened = open_below(root, worker.path, O_PATH);
  if (!worker.path.empty() && !opened.valid()) return not_opened(worker, errno);
  const int entry = worker.path.empty() ? root : opened.get();
  if (::fstat(entry, &status) != 0) return not_as_noted(worker, sys::errno_text(errno));
  return {};
}

// Checks an entry by its attributes, as copy_check.h describes.
base::Status check_unmodified_line(Worker& worker, const ManifestLine& line) {
  const CheckScope& scope = *worker.job.scope;
  sys::Fd below;
  struct stat status{};
  TRY(look_at(worker, line, below, status));
  const int entry = worker.path.empty() ? worker.source.get() : below.get();
  const bool root = line.path.empty() || !worker.job.only.empty();
  const bool touched = to_ns(status.st_ctim) > scope.published_ns && !(root && scope.moved);
  if (line.type == ManifestType::kPart) {
    return touched ? compare_touched(worker, line) : base::Status();
  }
  const mode_t type = status.st_mode & S_IFMT;
  if (type != (line.type == ManifestType::kDirectory ? S_IFDIR
               : line.type == ManifestType::kLink    ? S_IFLNK
                                                     : S_IFREG)) {
    return not_as_noted(worker, "something of another type");
  }
  if (type == S_IFLNK) return check_link(worker, entry, line, "");
  // Permissions may have been added, as by a volume's fsGroup, but none removed.
  if ((status.st_mode & line.mode) != line.mode) return not_as_noted(worker, "another mode");
  // Ignores set-ID bits of directories, because a volume's fsGroup sets them.
  const mode_t bits = type == S_IFDIR ? mode_t{line.mode} : status.st_mode;
  if (!worker.job.options->set_ids && (bits & kSetIds) != 0) {
    return not_as_noted(worker, "a set-ID bit, which data does not have");
  }
  if (type == S_IFDIR && sys::mount_id_of(entry) != sys::mount_id_of(worker.source.get())) {
    return not_as_noted(worker, "something that is mounted there");
  }
  if (type == S_IFDIR) return {};
  if (static_cast<std::uint64_t>(status.st_size) != line.size) {
    return not_as_noted(
        worker, std::to_string(status.st_size) + " bytes, not " + std::to_string(line.size));
  }
  if (!may_be_mtime(line.mtime_ns, to_ns(status.st_mtim))) {
    return not_as_noted(worker, "another mtime");
  }
  return touched ? compare_touched(worker, line) : base::Status();
}

base::Status check_line(Worker& worker, const ManifestLine& line) {
  worker.path = worker.job.only.empty() ? line.path : worker.job.only;
  if (line.type != ManifestType::kPart) ++worker.sums.size.entries;
  if (worker.job.scope != nullptr) return check_unmodified_line(worker, line);
  if (line.type == ManifestType::kLink) {
    const std::size_t slash = line.path.rfind('/');
    const std::string above = slash == std::string::npos ? "" : line.path.substr(0, slash);
    const sys::Fd directory = open_below(worker.source.get(), above, O_PATH | O_DIRECTORY);
    if (!directory.valid()) return not_opened(worker, errno);
    return check_link(worker, directory.get(), line,
                      slash == std::string::npos ? line.path : line.path.substr(slash + 1));
  }
  const sys::Fd file = open_below(worker.source.get(), worker.path, O_RDONLY | O_NONBLOCK);
  struct stat status{};
  if (!file.valid()) return not_opened(worker, errno);
  if (::fstat(file.get(), &status) != 0) return not_as_noted(worker, sys::errno_text(errno));
  if (line.type == ManifestType::kPart) return check_hash(worker, file.get(), line);
  const bool directory = line.type == ManifestType::kDirectory;
  if (directory ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode)) {
    return not_as_noted(worker, "something of another type");
  }
  // A mode of 0 means that the file system keeps no permissions.
  if (line.mode != 0 && (status.st_mode & kPermissions) != line.mode) {
    return not_as_noted(worker, "another mode");
  }
  const mode_t bits = directory ? mode_t{line.mode} : status.st_mode;
  if (!worker.job.options->set_ids && (bits & kSetIds) != 0) {
    return not_as_noted(worker, "a set-ID bit, which data does not have");
  }
  if (directory) return {};
  if (static_cast<std::uint64_t>(status.st_size) != line.size) {
    return not_as_noted(
        worker, std::to_string(status.st_size) + " bytes, not " + std::to_string(line.size));
  }
  if (!may_be_mtime(line.mtime_ns, to_ns(status.st_mtim))) {
    return not_as_noted(worker, "another mtime");
  }
  return check_hash(worker, file.get(), line);
}

base::Status check_piece(Worker& worker, std::uint64_t begin, std::uint64_t end) {
  TRY_ASSIGN(auto text, read_lines(worker.job, begin, end));
  std::string_view rest = text;
  if (begin == 0) {
    if (!rest.starts_with(kManifestTitle)) {
      return no_manifest(worker.job.state, "no manifest of this version");
    }
    rest.remove_prefix(kManifestTitle.size());
  }
  for (std::size_t lines = 1; !rest.empty(); ++lines) {
    if (lines % kLook == 0) update_counters(worker);
    const std::size_t size = rest.find('\n');
    const auto line = parse_manifest_line(rest.substr(0, size));
    if (!line) return no_manifest(worker.job.state, "a line that it cannot have");
    TRY(check_line(worker, *line));
    rest.remove_prefix(size + 1);
  }
  update_counters(worker);
  return {};
}

base::Status check_pieces(Worker& worker) {
  worker.source = ask_storage(worker.waiting, CopySide::kCopy, [&] {
    return sys::Fd(::open(worker.job.source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  });
  if (!worker.source.valid()) return cannot_read(worker, errno);
  for (;;) {
    TRY_ASSIGN(auto item, worker.list.take(worker.number));
    if (!item) break;
    const StorageCall at_work(worker.waiting, CopySide::kCopy);
    TRY(check_piece(worker, item->first, item->last));
  }
  worker.job.header->sums.add(worker.sums);
  return {};
}

std::vector<Item> pieces_of(std::uint64_t size) {
  std::vector<Item> items;
  items.reserve((size / kPiece) + 1);
  for (std::uint64_t begin = 0; begin < size; begin += kPiece) {
    Item item;
    item.kind = ItemKind::kRange;
    item.first = begin;
    item.last = std::min(begin + kPiece, size);
    items.push_back(item);
  }
  return items;
}

}  // namespace

base::Status verify_tree(const std::string& tree, const std::string& manifest,
                         const Options& options, const SharedCounters& counters,
                         CheckScope* scope) {
  TRY_ASSIGN(auto header, make_shared_header());
  struct stat status{};
  if (::stat(manifest.c_str(), &status) != 0) {
    return no_manifest(manifest, sys::errno_text(errno));
  }
  if (status.st_size == 0) return no_manifest(manifest, "nothing");
  const Root root = root_of_copy(tree);
  CopyJob job;
  job.source = root.path;
  job.only = root.only;
  job.state = manifest;
  job.scope = scope;
  job.options = &options;
  job.counters = &counters.get();
  job.header = header.get();
  counters.get().phase = Phase::kChecking;
  counters.get().entries = 0;
  // With `scope`, only files with a later ctime are read, so all bytes count as checked from the
  // start.
  counters.get().bytes = scope != nullptr ? counters.get().total_bytes.load() : 0;
  const auto pieces = pieces_of(static_cast<std::uint64_t>(status.st_size));
  TRY(run_pass(job, pool_size(options.workers), pieces, false, check_pieces));
  const std::uint64_t noted = job.header->sums.value().size.entries;
  if (scope != nullptr) scope->touched = job.header->touched;
  if (scope == nullptr) warn_of_memory(job, tree);
  Options all = options;
  all.filter = {};
  // Each line has been checked. What remains is to check that the tree contains nothing else.
  counters.get().entries = 0;
  TRY_ASSIGN(const auto found, count_entries(root, all, counters));
  if (found == noted) return {};
  return base::fail("checking a copy by its manifest", tree,
                    std::to_string(found) + " entries, not " + std::to_string(noted),
                    "remove it, and copy again");
}

}  // namespace copy
