#include "init/copy/tree/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "init/copy/tree/access.h"
#include "init/copy/tree/entry_copy.h"
#include "init/copy/tree/file_copy.h"
#include "init/copy/tree/finalize.h"
#include "init/copy/tree/foreign_source.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

constexpr mode_t kWorkingMode = 0700;
constexpr std::size_t kLeast = 16;  // entries that are worth to be given away

envgen::Status make_tree(const Worker& worker, bool& fresh) {
  const std::string& tree = worker.job.tree;
  fresh = ::mkdir(tree.c_str(), kWorkingMode) == 0;
  // What is made in it shall have the modes of the source, and not what the destination would give
  // it.
  if (fresh) ::removexattr(tree.c_str(), "system.posix_acl_default");
  if (fresh) return {};
  struct stat status{};
  if (errno != EEXIST || ::lstat(tree.c_str(), &status) != 0) return cannot_write(worker, errno);
  if (S_ISDIR(status.st_mode)) {
    if (::chmod(tree.c_str(), kWorkingMode) != 0) return cannot_write(worker, errno);
    return {};
  }
  if (::unlink(tree.c_str()) != 0 || ::mkdir(tree.c_str(), kWorkingMode) != 0) {
    return cannot_write(worker, errno);
  }
  fresh = true;
  return {};
}

// What lies in the copy and not in the source, or is not wanted from it.
envgen::Status remove_others(Worker& worker, const DirectoryPair& directories) {
  const std::size_t below = worker.path.size();
  for (;;) {
    if (!worker.reader.read(directories.to, worker.names)) return cannot_write(worker, errno);
    if (worker.names.empty()) break;
    for (const Name& name : worker.names) {
      worker.path.resize(below);
      if (below != 0) worker.path += '/';
      worker.path += name.text;
      struct stat status{};
      const envgen::PathFilter& filter = worker.job.options->filter;
      bool wanted = ::fstatat(directories.from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (!wanted && !is_gone(errno)) return cannot_read(worker, errno);
      if (wanted && !filter.takes_all()) {
        wanted =
            S_ISDIR(status.st_mode) ? filter.enters(worker.path) : filter.takes_file(worker.path);
      }
      if (wanted) continue;
      TRY(remove_entry(worker, directories.to, name.c_str()));
    }
  }
  worker.path.resize(below);
  return {};
}

// Makes the copy's directory, and leaves what is in it to whoever takes it.
envgen::Status do_subdirectory(Worker& worker, const DirectoryPair& directories, const char* name) {
  bool fresh = false;
  if (!worker.job.finalize) {
    fresh = ::mkdirat(directories.to, name, kWorkingMode) == 0;
    struct stat status{};
    if (!fresh && errno != EEXIST) return cannot_write(worker, errno);
    if (!fresh && ::fstatat(directories.to, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return cannot_write(worker, errno);
    }
    // Who is not root could not open it.
    const bool closed = (status.st_mode & kWorkingMode) != kWorkingMode;
    if (!fresh && S_ISDIR(status.st_mode) && closed &&
        ::fchmodat(directories.to, name, kWorkingMode, 0) != 0) {
      return cannot_write(worker, errno);
    }
    if (!fresh && !S_ISDIR(status.st_mode)) {
      TRY(remove_entry(worker, directories.to, name));
      if (::mkdirat(directories.to, name, kWorkingMode) != 0) return cannot_write(worker, errno);
      fresh = true;
    }
  }
  Item item;
  item.kind = ItemKind::kDirectory;
  item.fresh = fresh;
  item.path = worker.path;
  return worker.list.push(item);
}

envgen::Status refuse(const Worker& worker, unsigned char type) {
  const char* found = "a device";
  if (type == DT_FIFO) found = "a FIFO";
  if (type == DT_SOCK) found = "a socket";
  return envgen::fail("copying", shown(worker.job.source, worker.path), found,
                      "remove it from the source, or exclude it");
}

unsigned char type_of(mode_t mode) { return static_cast<unsigned char>(IFTODT(mode)); }

envgen::Status do_entry(Worker& worker, const DirectoryPair& directories, const char* name,
                        unsigned char type) {
  const envgen::PathFilter& filter = worker.job.options->filter;
  if (type == DT_UNKNOWN) {
    struct stat status{};
    if (::fstatat(directories.from, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (!is_gone(errno)) return cannot_read(worker, errno);
      note_change(worker);
      return {};
    }
    type = type_of(status.st_mode);
  }
  if (!filter.takes_all() && worker.job.only.empty() &&
      !(type == DT_DIR ? filter.enters(worker.path) : filter.takes_file(worker.path))) {
    return {};
  }
  if (type == DT_DIR) return do_subdirectory(worker, directories, name);
  if (type != DT_REG && type != DT_LNK) return refuse(worker, type);
  if (worker.job.counts) {
    ++worker.sums.size.entries;
    return {};
  }
  if (worker.job.finalize) return check_unchanged(worker, directories, name);
  return type == DT_LNK ? copy_link(worker, directories, name)
                        : copy_file(worker, directories, name);
}

// The entries in `worker.names`; those that others could do meanwhile are given to them.
envgen::Status do_names(Worker& worker, const DirectoryPair& directories) {
  Rest& rest = worker.rest;
  rest = {worker.path, directories.fresh, worker.names};
  std::size_t until_look = 0;
  while (!rest.names.empty()) {
    if (until_look-- == 0) {
      until_look = kLook;
      if (worker.job.finalize) tell_found(worker);
      TRY(share_rest(worker, 2 * kLeast));
    }
    const Name name = rest.names.front();
    rest.names = rest.names.subspan(1);
    worker.path = rest.directory;
    if (!worker.path.empty()) worker.path += '/';
    worker.path += name.text;
    TRY(do_entry(worker, directories, name.c_str(), name.type));
  }
  worker.path = rest.directory;
  return {};
}

// Files and links that are only counted need no path of their own.
void count_names(Worker& worker) {
  worker.sums.size.entries += std::erase_if(
      worker.names, [](const Name& name) { return name.type == DT_REG || name.type == DT_LNK; });
  tell_found(worker);
}

// The directory of `worker.path`, opened in both trees.
struct Opened {
  sys::Fd from;
  sys::Fd to;
  struct stat source{};
  struct stat copy{};
  bool gone = false;
};

envgen::Result<Opened> open_both(Worker& worker, int access) {
  Opened opened;
  const int flags = access | O_DIRECTORY;
  opened.from = open_below_source(worker, worker.path, flags);
  if (!opened.from.valid() || ::fstat(opened.from.get(), &opened.source) != 0) {
    if (!is_gone(errno) || worker.path.empty()) return cannot_read(worker, errno);
    opened.gone = true;
    note_change(worker);
    return opened;
  }
  if (worker.job.tree.empty()) return opened;
  opened.to = open_below(worker.tree.get(), worker.path, flags);
  if (!opened.to.valid() || ::fstat(opened.to.get(), &opened.copy) != 0) {
    return cannot_write(worker, errno);
  }
  if (opened.source.st_dev == worker.tree_status.st_dev &&
      opened.source.st_ino == worker.tree_status.st_ino) {
    return envgen::fail("copying", shown(worker.job.source, worker.path),
                        "the copy itself inside its source", "copy to another place");
  }
  return opened;
}

DirectoryPair directories_of(const Worker& worker, const Opened& opened, bool fresh) {
  return {opened.from.get(), opened.to.get(), fresh, opened.copy.st_gid != worker.gid};
}

// Another mode than the one to work with is that of an earlier run, or what was inherited.
envgen::Status make_writable(const Worker& worker, const Opened& opened) {
  if ((opened.copy.st_mode & 07777U) == kWorkingMode) return {};
  if (::fchmod(opened.to.get(), kWorkingMode) != 0) return cannot_write(worker, errno);
  return {};
}

envgen::Status do_directory(Worker& worker, const Item& item) {
  worker.path = item.path;
  bool fresh = item.fresh;
  TRY_ASSIGN(auto opened, open_both(worker, O_RDONLY));
  if (opened.gone) return {};
  if (!fresh && !worker.job.tree.empty() &&
      sys::mount_id_of(opened.to.get()) != sys::mount_id_of(worker.tree.get())) {
    return envgen::fail("copying", shown(worker.job.tree, worker.path),
                        "something that is mounted there", "unmount it, or copy to another place");
  }
  if (worker.job.finalize) {
    TRY(finalize_directory(worker, opened.from.get(), opened.to.get(), opened.source));
  } else {
    add_entry(worker.sums, worker.path, opened.source, {}, worker.scratch);
    narrow(worker, opened.from.get(), opened.source);
    worker.job.counters->entries.fetch_add(1, std::memory_order_relaxed);
    TRY(note_entry(worker, envgen::ManifestType::kDirectory, opened.source, std::nullopt));
    TRY(make_writable(worker, opened));
  }
  const DirectoryPair directories = directories_of(worker, opened, fresh);
  if (!worker.job.finalize && !fresh) {
    TRY(remove_others(worker, directories));
  }
  const bool only_counts = worker.job.counts && worker.job.options->filter.takes_all();
  const NameOrder order = only_counts ? NameOrder::kAny : NameOrder::kByInode;
  for (;;) {
    if (!worker.reader.read(directories.from, worker.names, order)) {
      return cannot_read(worker, errno);
    }
    if (worker.names.empty()) return {};
    if (only_counts) count_names(worker);
    TRY(do_names(worker, directories));
  }
}

envgen::Status do_batch(Worker& worker, const Item& item) {
  worker.path = item.path;
  // Names are known: the directory need not be readable.
  TRY_ASSIGN(auto opened, open_both(worker, O_PATH));
  if (opened.gone) return {};
  // The item's memory is the list's, which is used meanwhile.
  const std::string packed(item.names);
  const DirectoryPair directories = directories_of(worker, opened, item.fresh);
  worker.names.clear();
  for (std::size_t at = 0; at < packed.size();) {
    const std::string_view name(packed.c_str() + at + 1);
    worker.names.push_back({0, static_cast<unsigned char>(packed[at]), name});
    at += name.size() + 2;
  }
  return do_names(worker, directories);
}

envgen::Status do_root(Worker& worker) {
  worker.path.clear();
  struct stat status{};
  if (::fstat(worker.source.get(), &status) != 0) return cannot_read(worker, errno);
  if (!S_ISDIR(status.st_mode)) return refuse(worker, type_of(status.st_mode));
  Item item;
  item.kind = ItemKind::kDirectory;
  std::string only;
  if (!worker.job.only.empty()) {
    item.kind = ItemKind::kNames;
    only = std::string(1, static_cast<char>(DT_REG)) + worker.job.only + '\0';
    item.names = only;
  }
  if (!worker.job.finalize) {
    TRY(make_tree(worker, item.fresh));
  }
  return worker.list.push(item);
}

envgen::Status do_item(Worker& worker, const Item& item) {
  // Made by whoever did the root, after we began.
  if (item.kind != ItemKind::kRoot && !worker.job.tree.empty() && !worker.tree.valid()) {
    worker.tree.reset(::open(worker.job.tree.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!worker.tree.valid() || ::fstat(worker.tree.get(), &worker.tree_status) != 0) {
      return cannot_write(worker, errno);
    }
  }
  switch (item.kind) {
    case ItemKind::kRoot:
      return do_root(worker);
    case ItemKind::kDirectory:
      return do_directory(worker, item);
    case ItemKind::kNames:
      return do_batch(worker, item);
    case ItemKind::kRange:
      return copy_range(worker, item);
  }
  return {};
}

}  // namespace

envgen::Status work_on(Worker& worker) {
  worker.source = open_source_root(worker);
  if (!worker.source.valid()) return cannot_read(worker, errno);
  for (;;) {
    TRY_ASSIGN(auto item, worker.list.take(worker.number));
    if (!item) break;
    TRY(do_item(worker, *item));
  }
  if (worker.job.finalize) tell_found(worker);
  worker.job.header->sums.add(worker.sums);
  return worker.manifest.flush();
}

}  // namespace copy
