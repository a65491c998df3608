#include "init/copy/tree/entry_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <tuple>

#include "base/content_hash.h"
#include "init/copy/tree/access.h"

namespace copy {
namespace {

constexpr mode_t kPermissions = 07777;

bool is_same_link(int directory, const char* name, const std::string& target) {
  std::string there;
  return read_target(there, directory, name) && there == target;
}

// Deletes a directory that was moved into the trash. Each subdirectory is moved into the trash too,
// so that no level of the tree needs an open descriptor.
base::Status empty_trash(Worker& worker, std::uint64_t first) {
  std::uint64_t last = first;
  const std::string prefix = std::to_string(worker.number) + ".";
  std::vector<Name> names;
  DirectoryReader reader;
  const int trash = worker.trash.get();
  for (std::uint64_t at = first; at <= last; ++at) {
    const std::string directory = prefix + std::to_string(at);
    const sys::Fd opened = open_below(trash, directory, O_RDONLY | O_DIRECTORY);
    if (!opened.valid()) return cannot_write(worker, errno);
    for (;;) {
      if (!reader.read(opened.get(), names)) return cannot_write(worker, errno);
      if (names.empty()) break;
      for (const Name& name : names) {
        worker.waiting->step();
        if (::unlinkat(opened.get(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
        // if this fails, so does the rename
        std::ignore = ::fchmodat(opened.get(), name.c_str(), S_IRWXU, 0);
        const std::string next = prefix + std::to_string(++last);
        if (::renameat(opened.get(), name.c_str(), trash, next.c_str()) != 0) {
          return cannot_write(worker, errno);
        }
      }
    }
    if (::unlinkat(trash, directory.c_str(), AT_REMOVEDIR) != 0) return cannot_write(worker, errno);
  }
  return {};
}

}  // namespace

bool read_target(std::string& target, int directory, const char* name) {
  target.resize(PATH_MAX);
  const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
  target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return size >= 0;
}

base::Status remove_entry(Worker& worker, int directory, const char* name) {
  if (::unlinkat(directory, name, 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return cannot_write(worker, errno);
  if (!worker.trash.valid()) {
    const std::string path = worker.job.state + "/trash";
    worker.trash.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  std::ignore = ::fchmodat(directory, name, S_IRWXU, 0);  // if this fails, so does the rename
  const std::string first = std::to_string(worker.number) + ".0";
  if (::renameat(directory, name, worker.trash.get(), first.c_str()) != 0) {
    return cannot_write(worker, errno);
  }
  return empty_trash(worker, 0);
}

base::Status copy_link(Worker& worker, const DirectoryPair& directories, const char* name,
                       const struct stat& status) {
  add_entry(worker.sums, worker.path, status, worker.target, worker.scratch);
  worker.job.counters->entries.fetch_add(1, std::memory_order_relaxed);
  if (directories.fresh || !is_same_link(directories.to, name, worker.target)) {
    if (!directories.fresh) {
      TRY(remove_entry(worker, directories.to, name));
    }
    if (::symlinkat(worker.target.c_str(), directories.to, name) != 0) {
      if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) {
        return cannot_write(worker, errno);
      }
      return base::fail("writing a copy", shown(worker.job.tree, worker.path),
                        "a file system without symbolic links",
                        "exclude the links, or copy to another place");
    }
  } else {
    worker.job.counters->kept_entries.fetch_add(1, std::memory_order_relaxed);
  }
  const Owner owner = owner_for(worker, status);
  if (keeps_owners(worker) &&
      ::fchownat(directories.to, name, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) != 0) {
    if (worker.job.options->owner || (errno != EPERM && errno != EINVAL)) {
      return cannot_write(worker, errno);
    }
    worker.job.header->no_owners = true;
  }
  // A failure is ignored, because the times of links do not matter.
  const timespec times[2] = {status.st_atim, status.st_mtim};
  ::utimensat(directories.to, name, times, AT_SYMLINK_NOFOLLOW);
  return note_entry(worker, ManifestType::kLink, status, base::hash_of(worker.target));
}

base::Status note_entry(Worker& worker, ManifestType type, const struct stat& status,
                        std::optional<std::uint64_t> hash) {
  if (!worker.manifest.valid()) return {};
  const bool file = type == ManifestType::kFile;
  const KeptAttributes& kept = worker.job.header->kept;
  constexpr mode_t kForAll = S_IROTH | S_IXOTH;
  if (S_ISDIR(status.st_mode) && (status.st_mode & kForAll) != kForAll) {
    worker.job.header->closed = true;
  }
  return worker.manifest.add(
      {.type = type,
       .size = file ? static_cast<std::uint64_t>(status.st_size) : 0,
       .mtime_ns = kept.keeps(to_ns(status.st_mtim)) ? to_ns(status.st_mtim) : kNoMtime,
       .mode = kept.modes ? status.st_mode & kPermissions : 0,
       .links = status.st_nlink,
       .hash = hash,
       .path = worker.path});
}

base::Status note_part(Worker& worker, std::uint64_t begin, std::uint64_t size,
                       std::optional<std::uint64_t> hash) {
  return worker.manifest.add({.type = ManifestType::kPart,
                              .size = size,
                              .mtime_ns = static_cast<std::int64_t>(begin),
                              .hash = hash,
                              .path = worker.path});
}

}  // namespace copy
