#include "init/copy/tree/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "init/copy/tree/access.h"
#include "init/copy/tree/entry_copy.h"
#include "init/copy/tree/file_copy.h"
#include "init/copy/tree/finalize.h"
#include "init/copy/tree/foreign_source.h"
#include "init/copy/tree/source_links.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

constexpr mode_t kWorkingMode = 0700;
constexpr std::size_t kMin = 16;  // minimum number of entries to give to an idle worker

base::Status make_tree(const Worker& worker, bool& fresh) {
  const std::string& tree = worker.job.tree;
  fresh = ::mkdir(tree.c_str(), kWorkingMode) == 0;
  if (!fresh) {
    struct stat status{};
    if (errno != EEXIST || ::lstat(tree.c_str(), &status) != 0) return cannot_write(worker, errno);
    if (S_ISDIR(status.st_mode)) {
      std::ignore = ::chmod(tree.c_str(), kWorkingMode);  // otherwise only root could open it
    } else if (::unlink(tree.c_str()) != 0 || ::mkdir(tree.c_str(), kWorkingMode) != 0) {
      return cannot_write(worker, errno);
    } else {
      fresh = true;
    }
  }
  // Removes what the directory inherited: entries below it must get their rights from the source.
  const sys::Fd made(::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid() || !drop_inherited(made.get()) || !set_mode(worker, made.get(), kWorkingMode)) {
    return cannot_write(worker, errno);
  }
  return {};
}

// Deletes entries of the copy that the source does not have, or that are excluded.
base::Status remove_others(Worker& worker, const DirectoryPair& directories) {
  const std::size_t below = worker.path.size();
  for (;;) {
    if (!worker.reader.read(directories.to, worker.names)) return cannot_write(worker, errno);
    if (worker.names.empty()) break;
    for (const Name& name : worker.names) {
      worker.path.resize(below);
      if (below != 0) worker.path += '/';
      worker.path += name.text;
      struct stat status{};
      const PathFilter& filter = worker.job.options->filter;
      bool wanted = stat_in_source(worker, directories.from, name.c_str(), status);
      if (!wanted && !is_gone(errno)) return cannot_read(worker, errno);
      if (wanted && !filter.takes_all()) {
        wanted =
            S_ISDIR(status.st_mode) ? filter.enters(worker.path) : filter.takes_file(worker.path);
      }
      if (wanted) continue;
      worker.waiting->step();
      TRY(remove_entry(worker, directories.to, name.c_str()));
    }
  }
  worker.path.resize(below);
  return {};
}

// Creates the copy of a directory, and adds its content to the work list.
base::Status do_subdirectory(Worker& worker, const DirectoryPair& directories, const char* name) {
  bool fresh = false;
  if (!worker.job.finalize) {
    fresh = ::mkdirat(directories.to, name, kWorkingMode) == 0;
    struct stat status{};
    // If the directory was empty, an existing name must be another name in another case
    // (KeptAttributes).
    const bool merges = directories.fresh && worker.job.header->kept.case_folded;
    if (!fresh && (errno != EEXIST || merges)) return cannot_write(worker, errno);
    if (!fresh && ::fstatat(directories.to, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return cannot_write(worker, errno);
    }
    // With such a mode, only root could open the directory.
    const bool closed = (status.st_mode & kWorkingMode) != kWorkingMode;
    if (!fresh && S_ISDIR(status.st_mode) && closed &&
        ::fchmodat(directories.to, name, kWorkingMode, 0) != 0 && worker.job.header->kept.modes) {
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
  item.in_linked = worker.in_linked;
  item.path = worker.path;
  return worker.list.push(item);
}

base::Status refuse(const Worker& worker, unsigned char type) {
  const char* found = "a device";
  if (type == DT_FIFO) found = "a FIFO";
  if (type == DT_SOCK) found = "a socket";
  return base::fail("copying", shown(worker.job.source, worker.path), found,
                    "remove it from the source, or exclude it");
}

unsigned char type_of(mode_t mode) { return static_cast<unsigned char>(IFTODT(mode)); }

base::Status do_file(Worker& worker, const DirectoryPair& directories, const char* name) {
  return worker.job.finalize ? check_unchanged(worker, directories, name)
                             : copy_file(worker, directories, name);
}

bool is_wanted(const Worker& worker, bool directory) {
  const PathFilter& filter = worker.job.options->filter;
  if (filter.takes_all() || !worker.job.only.empty()) return true;
  return directory ? filter.enters(worker.path) : filter.takes_file(worker.path);
}

// Returns true for a directory lost+found at the root of a file system that the reader may not
// open.
bool is_closed_lost_found(const Worker& worker, const DirectoryPair& directories) {
  if (worker.path != kLostFound) return false;
  struct stat status{};
  if (!stat_in_source(worker, directories.from, kLostFound, status) || status.st_uid != 0) {
    return false;
  }
  const sys::Fd above(::openat(worker.source.get(), "..", O_PATH | O_CLOEXEC));
  if (!above.valid() || sys::mount_id_of(above.get()) == sys::mount_id_of(worker.source.get())) {
    return false;
  }
  const Reader reader(worker);
  const sys::Fd opened = ask_source(worker.waiting, [&] {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    return sys::Fd(::openat(directories.from, kLostFound, kFlags));
  });
  return !opened.valid() && errno == EACCES;
}

// Copies a link, or what the link leads to in its place.
base::Status do_link(Worker& worker, const DirectoryPair& directories, const char* name) {
  struct stat status{};
  const auto read = [&] { return read_target(worker.target, directories.from, name); };
  const bool there = stat_in_source(worker, directories.from, name, status);
  if (there && !S_ISLNK(status.st_mode)) {
    note_change(worker);
    return {};
  }
  if (!there || !ask_source(worker.waiting, read)) {
    if (!is_gone(errno) && errno != EINVAL) return cannot_read(worker, errno);
    note_change(worker);
    return {};
  }
  const LinkFate fate = judge_link(worker, status);
  if (fate == LinkFate::kUnread) return cannot_read(worker, errno);
  const bool follows = fate == LinkFate::kFile || fate == LinkFate::kFolder;
  base::Status done;
  if (!is_wanted(worker, fate == LinkFate::kFolder)) {
    worker.linked.clear();
    return done;
  }
  SharedHeader& header = *worker.job.header;
  const bool first_look = !worker.job.finalize || worker.job.tree.empty();
  if (first_look && fate != LinkFate::kKept) {
    note_link(worker, follows ? header.followed : header.left);
  }
  if (fate == LinkFate::kFile) done = do_file(worker, directories, name);
  worker.linked.clear();
  if (fate == LinkFate::kFolder) {
    worker.in_linked = true;  // for the entries below: links to directories are not followed there
    done = do_subdirectory(worker, directories, name);
    worker.in_linked = false;
  }
  if (follows) return done;
  if (!worker.job.finalize) return copy_link(worker, directories, name, status);
  add_entry(worker.sums, worker.path, status, worker.target, worker.scratch);
  return {};
}

base::Status do_entry(Worker& worker, const DirectoryPair& directories, const char* name,
                      unsigned char type) {
  if (type == DT_UNKNOWN) {
    struct stat status{};
    if (!stat_in_source(worker, directories.from, name, status)) {
      if (!is_gone(errno)) return cannot_read(worker, errno);
      note_change(worker);
      return {};
    }
    type = type_of(status.st_mode);
  }
  if (type == DT_LNK && !worker.job.counts) return do_link(worker, directories, name);
  if (!is_wanted(worker, type == DT_DIR)) return {};
  if (type == DT_DIR && is_closed_lost_found(worker, directories)) {
    worker.job.header->lost_found = true;
    return {};
  }
  if (type == DT_DIR) return do_subdirectory(worker, directories, name);
  if (type != DT_REG && type != DT_LNK) return refuse(worker, type);
  if (worker.job.counts) {
    ++worker.sums.size.entries;
    return {};
  }
  return do_file(worker, directories, name);
}

// Processes the entries in `worker.names`. Gives some of them to idle workers.
base::Status do_names(Worker& worker, const DirectoryPair& directories) {
  Rest& rest = worker.rest;
  rest = {worker.path, directories.fresh, worker.names};
  std::size_t until_look = 0;
  while (!rest.names.empty()) {
    if (until_look-- == 0) {
      until_look = kLook;
      if (worker.job.finalize) update_counters(worker);
      TRY(share_rest(worker, 2 * kMin));
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

// Counts files and links, which need no further processing, and removes them from the names.
void count_names(Worker& worker) {
  worker.sums.size.entries += std::erase_if(
      worker.names, [](const Name& name) { return name.type == DT_REG || name.type == DT_LNK; });
  update_counters(worker);
}

// The directory `worker.path`, opened in both trees.
struct Opened {
  sys::Fd from;
  sys::Fd to;
  struct stat source{};
  struct stat copy{};
  bool gone = false;
};

base::Result<Opened> open_both(Worker& worker, int access) {
  Opened opened;
  const int flags = access | O_DIRECTORY;
  opened.from = open_below_source(worker, worker.path, flags);
  if (!opened.from.valid() || !stat_in_source(worker, opened.from.get(), "", opened.source)) {
    if (!is_gone(errno) || worker.path.empty()) return cannot_read(worker, errno);
    opened.gone = true;
    note_change(worker);
    return opened;
  }
  worker.opened = opened.source.st_ino;
  if (worker.job.tree.empty()) return opened;
  opened.to = open_below(worker.tree.get(), worker.path, flags);
  if (!opened.to.valid() || ::fstat(opened.to.get(), &opened.copy) != 0) {
    return cannot_write(worker, errno);
  }
  if (opened.source.st_dev == worker.tree_status.st_dev &&
      opened.source.st_ino == worker.tree_status.st_ino) {
    return base::fail("copying", shown(worker.job.source, worker.path),
                      "the copy itself inside its source", "copy to another place");
  }
  return opened;
}

DirectoryPair directories_of(const Worker& worker, const Opened& opened, bool fresh) {
  return {opened.from.get(), opened.to.get(), fresh, opened.copy.st_gid != worker.gid};
}

// Gives the copy of a directory the mode for working. It may still have one from an earlier run, or
// an inherited one.
base::Status make_writable(const Worker& worker, const Opened& opened) {
  if ((opened.copy.st_mode & 07777U) == kWorkingMode) return {};
  if (!set_mode(worker, opened.to.get(), kWorkingMode)) return cannot_write(worker, errno);
  return {};
}

base::Status do_directory(Worker& worker, const Item& item) {
  worker.path = item.path;
  bool fresh = item.fresh;
  TRY_ASSIGN(auto opened, open_both(worker, O_RDONLY));
  if (opened.gone) return {};
  if (!fresh && !worker.job.tree.empty() &&
      sys::mount_id_of(opened.to.get()) != sys::mount_id_of(worker.tree.get())) {
    return base::fail("copying", shown(worker.job.tree, worker.path),
                      "something that is mounted there", "unmount it, or copy to another place");
  }
  if (worker.job.finalize) {
    TRY(finalize_directory(worker, opened.from.get(), opened.to.get(), opened.source));
  } else {
    add_entry(worker.sums, worker.path, opened.source, {}, worker.scratch);
    narrow(worker, opened.from.get(), opened.source);
    worker.job.counters->entries.fetch_add(1, std::memory_order_relaxed);
    TRY(note_entry(worker, ManifestType::kDirectory, opened.source, std::nullopt));
    TRY(make_writable(worker, opened));
  }
  const DirectoryPair directories = directories_of(worker, opened, fresh);
  if (!worker.job.finalize && !fresh) {
    TRY(remove_others(worker, directories));
  }
  const bool only_counts = worker.job.counts && worker.job.options->filter.takes_all();
  const NameOrder order = only_counts ? NameOrder::kAny : NameOrder::kByInode;
  for (;;) {
    const auto read = [&] { return worker.reader.read(directories.from, worker.names, order); };
    if (!ask_source(worker.waiting, read)) {
      if (is_replaced(worker, errno)) return {};
      return cannot_read(worker, errno);
    }
    if (worker.names.empty()) {
      if (worker.job.finalize && worker.job.names) name_removed(worker, directories);
      return {};
    }
    if (only_counts) count_names(worker);
    TRY(do_names(worker, directories));
  }
}

base::Status do_batch(Worker& worker, const Item& item) {
  worker.path = item.path;
  // The names are known, so the directory need not be readable.
  TRY_ASSIGN(auto opened, open_both(worker, O_PATH));
  if (opened.gone) return {};
  // Copies the names, because the list reuses the memory of the item.
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

base::Status do_root(Worker& worker) {
  worker.path.clear();
  struct stat status{};
  if (!stat_in_source(worker, worker.source.get(), "", status)) return cannot_read(worker, errno);
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

base::Status do_item(Worker& worker, const Item& item) {
  // Opens the tree, which another worker may have created after this one started.
  if (item.kind != ItemKind::kRoot && !worker.job.tree.empty() && !worker.tree.valid()) {
    worker.tree.reset(::open(worker.job.tree.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!worker.tree.valid() || ::fstat(worker.tree.get(), &worker.tree_status) != 0) {
      return cannot_write(worker, errno);
    }
  }
  worker.in_linked = item.in_linked;
  worker.linked.clear();
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

base::Status work_on(Worker& worker) {
  worker.source = open_source_root(worker);
  if (!worker.source.valid()) return cannot_read(worker, errno);
  for (;;) {
    TRY_ASSIGN(auto item, worker.list.take(worker.number));
    if (!item) break;
    const StorageCall at_work(worker.waiting, CopySide::kCopy);
    TRY(do_item(worker, *item));
  }
  if (worker.job.finalize) update_counters(worker);
  worker.job.header->sums.add(worker.sums);
  return worker.manifest.flush();
}

}  // namespace copy
