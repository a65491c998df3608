#include "init/copy/publish/publish.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "init/copy/publish/publication_journal.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/copy_check.h"
#include "init/copy/tree/directory.h"
#include "init/copy/tree/pass.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "bringing a copy to its place";
constexpr std::string_view kVersions =
    ".trainit-copy/v-";             // prefix of the versions at a mount point
constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE
constexpr unsigned kExchange = 2;   // RENAME_EXCHANGE

std::string old_of(const Destination& destination) { return destination.state + "/old"; }
std::string next_record_of(const Destination& destination) {
  return destination.state + "/record.next";
}

std::uint64_t inode_of(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// Returns whether inode numbers can be compared. Some file systems (FUSE) give one number to all
// files: on these, only names distinguish trees, and trees are not exchanged. The journal must
// exist.
bool tells_inodes_apart(const Destination& destination) {
  return inode_of(destination.state + "/.") != inode_of(destination.state + "/journal");
}

// Returns the inode of the current content; 0 if there is none. Follows the link of a mount point.
std::uint64_t inode_at(const Destination& destination) {
  struct stat status{};
  return ::stat(destination.data().c_str(), &status) == 0 ? status.st_ino : 0;
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

int rename_with(const std::string& from, const std::string& to, unsigned flags) {
  // Calls the kernel directly, because older C libraries do not have renameat2.
  return static_cast<int>(
      ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags));
}

bool is_refused(int error) { return error == EINVAL || error == ENOSYS || error == EXDEV; }

void sync_directory(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) ::fsync(fd.get());
}

std::string fresh_name(const Destination& destination, const std::string& prefix) {
  std::int64_t number = sys::wall_ms();
  std::string path;
  do {
    path = destination.state + "/" + prefix + std::to_string(number++);
  } while (inode_of(path) != 0);
  return path;
}

// Returns the paths in the state directory whose names begin with `prefix`.
std::vector<std::string> names_of(const Destination& destination, std::string_view prefix) {
  std::vector<std::string> names;
  const sys::Dir directory(::opendir(destination.state.c_str()));
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (std::string_view(entry->d_name).starts_with(prefix)) {
      names.push_back(destination.state + "/" + entry->d_name);
    }
  }
  return names;
}

// Deletes a tree and ignores a failure: the copy is published in any case, and the next run tries
// again.
void discard(const std::string& path, const Keep& keep) { std::ignore = remove_tree(path, keep); }

void discard_gone(const Destination& destination, const Keep& keep) {
  for (const std::string& path : names_of(destination, "gone-")) discard(path, keep);
}

base::Status check_kept(const Keep& keep) { return keep ? keep() : base::Status(); }

// Checks that the destination still belongs to this machine, and that `tree` is the tree that was
// filled.
base::Status check_tree(const Destination& destination, const PublicationJournal& journal,
                        const Keep& keep) {
  TRY(check_kept(keep));
  if (inode_of(tree_of(destination)) == journal.tree) return {};
  return base::fail(kWhat, tree_of(destination), "another tree than the one that was filled",
                    "let one machine copy to a place that several share; run it again");
}

PublishedCopy copy_at(const Destination& destination, const std::string& path) {
  return {.tree = path, .manifest = manifest_of(destination), .record = record_of(destination)};
}

base::Result<std::string> set_aside(const Destination& destination, const std::string& path) {
  std::string kept = fresh_name(destination, "replaced-");
  if (::rename(path.c_str(), kept.c_str()) == 0) return kept;
  return std::unexpected(cannot_publish(path, errno).error());
}

// Moves the previous content of the destination aside. It is deleted later if an integrity check
// has just proven that it is exactly the copy of the manifest. Other content is kept.
base::Status put_away(const Destination& destination, const std::string& path,
                      Publication* publication, const Keep& keep) {
  if (inode_of(path) == 0 || ::rmdir(path.c_str()) == 0) return {};
  const bool was_ours = inode_of(record_of(destination)) != 0;
  const base::Status removable = was_ours ? check_removable(copy_at(destination, path), true, keep)
                                          : base::fail(kWhat, path, "", "");
  TRY(check_kept(keep));
  if (removable) {
    const std::string gone = fresh_name(destination, "gone-");
    if (::rename(path.c_str(), gone.c_str()) != 0) return cannot_publish(path, errno);
    return {};
  }
  TRY_ASSIGN(publication->replaced, set_aside(destination, path));
  if (was_ours) publication->why = removable.error().found;
  return {};
}

// Restores the mode that let_move() has changed. Checks the inode first, because the path can lead
// to another directory by now.
void restore_mode(const std::string& path, const PublicationJournal& journal) {
  const auto mode = static_cast<mode_t>(journal.mode);
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (fd.valid() && ::fstat(fd.get(), &status) == 0 && status.st_ino == journal.tree) {
    ::fchmod(fd.get(), mode);
  } else if (::geteuid() != 0 && is_directory(path)) {
    ::chmod(path.c_str(), mode);  // no descriptor: this user cannot read the directory
  }
}

// Returns the path of the version that the link <destination>/current of a mount point leads to.
std::string current_version(const Destination& destination) {
  std::array<char, NAME_MAX> target{};
  const ssize_t size = ::readlink(destination.data().c_str(), target.data(), target.size());
  const std::string_view text(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return destination.state + "/" + std::string(text.substr(text.rfind('/') + 1));
}

// Returns whether the tree is already at its destination.
bool is_brought(const Destination& destination, const PublicationJournal& journal) {
  if (!journal.publishing || journal.tree == 0 || inode_at(destination) != journal.tree)
    return false;
  if (tells_inodes_apart(destination)) return true;
  if (inode_of(tree_of(destination)) != 0) return false;
  if (!destination.mount_point) return true;
  const std::vector<std::string> versions = names_of(destination, "v-");
  return !versions.empty() && *std::ranges::max_element(versions) == current_version(destination);
}

// Completes a publication whose data is already at its destination.
base::Status finish(const Destination& destination, const PublicationJournal& journal, bool durable,
                    Publication* publication, const Keep& keep) {
  const std::string data = destination.data();
  if (!destination.mount_point) restore_mode(data, journal);
  // A file may have been published by a hard link. The name `tree` is then a second name of it.
  if (inode_of(tree_of(destination)) == journal.tree) discard(tree_of(destination), keep);
  // After an exchange, `tree` is the previous content of the destination.
  for (const std::string& path : {tree_of(destination), old_of(destination)}) {
    TRY(put_away(destination, path, publication, keep));
  }
  for (const std::string& version : names_of(destination, "v-")) {
    if (version == current_version(destination)) continue;
    TRY(put_away(destination, version, publication, keep));
  }
  if (durable) {
    sync_directory(destination.mount_point ? destination.path : destination.parent());
    sync_directory(destination.state);
  }
  // Checks again, because another machine may have taken the state directory meanwhile.
  TRY(check_kept(keep));
  ::rename((filling_of(destination) + "/manifest").c_str(), manifest_of(destination).c_str());
  const std::string record = record_of(destination);
  const bool renamed = ::rename(next_record_of(destination).c_str(), record.c_str()) == 0;
  if (!renamed && errno != ENOENT) return cannot_publish(record, errno);
  // The ctime of a file is the time of its rename, which is later than that of the record. So the
  // record's mtime is set to now. If nothing was renamed just now, the ctime can be that of a later
  // change.
  if (renamed && !is_directory(data)) {
    ::utimensat(AT_FDCWD, record.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
  if (durable) sync_directory(destination.state);
  // A failure, as on a full disk, is ignored: the next run completes the publication again.
  std::ignore = write_journal(destination, {.tree = journal.tree});
  discard_gone(destination, keep);
  TRY(check_kept(keep));
  discard(filling_of(destination), keep);
  return {};
}

base::Result<Published> replace_by_two(const Destination& destination) {
  const std::string old = old_of(destination);
  if (::rename(destination.path.c_str(), old.c_str()) != 0) {
    return std::unexpected(cannot_publish(destination.path, errno).error());
  }
  if (::rename(tree_of(destination).c_str(), destination.path.c_str()) == 0)
    return Published::kReplaced;
  const int error = errno;
  ::rename(old.c_str(), destination.path.c_str());
  return std::unexpected(cannot_publish(destination.path, error).error());
}

base::Result<Published> bring(const Destination& destination) {
  const std::string tree = tree_of(destination);
  const bool by_names = !tells_inodes_apart(destination);
  if (rename_with(tree, destination.path, kNoReplace) == 0) return Published::kRenamed;
  if (!is_refused(errno) && errno != EEXIST) {
    return std::unexpected(cannot_publish(destination.path, errno).error());
  }
  // A directory is renamed, which also replaces an empty directory, as the image of a container may
  // have. A file is linked instead, because a rename would replace an existing file.
  if (is_directory(tree)) {
    if (::rename(tree.c_str(), destination.path.c_str()) == 0) return Published::kRenamed;
    if (errno != ENOTEMPTY && errno != EEXIST) {
      return std::unexpected(cannot_publish(destination.path, errno).error());
    }
  } else if (!by_names && ::link(tree.c_str(), destination.path.c_str()) == 0) {
    ::unlink(tree.c_str());
    return Published::kRenamed;
  } else if (inode_at(destination) == 0 && ::rename(tree.c_str(), destination.path.c_str()) == 0) {
    return Published::kRenamed;  // for a file system without hard links
  }
  if (!by_names && rename_with(tree, destination.path, kExchange) == 0) {
    return Published::kExchanged;
  }
  if (by_names || is_refused(errno)) return replace_by_two(destination);
  return std::unexpected(cannot_publish(destination.path, errno).error());
}

base::Result<Published> bring_version(const Destination& destination) {
  const std::string version = fresh_name(destination, "v-");
  const std::string link = destination.state + "/current.new";
  const std::string target = ".trainit-copy" + version.substr(version.rfind('/'));
  ::unlink(link.c_str());
  if (::rename(tree_of(destination).c_str(), version.c_str()) != 0 ||
      ::symlink(target.c_str(), link.c_str()) != 0 ||
      ::rename(link.c_str(), destination.data().c_str()) != 0) {
    return std::unexpected(cannot_publish(destination.data(), errno).error());
  }
  return Published::kVersioned;
}

// Turns a version back into `tree` if <destination>/current does not lead to it yet.
void take_back_version(const Destination& destination, const PublicationJournal& journal) {
  if (!journal.publishing || inode_of(tree_of(destination)) != 0) return;
  for (const std::string& version : names_of(destination, "v-")) {
    const std::uint64_t inode = inode_of(version);
    if (inode != journal.tree || version == current_version(destination)) continue;
    ::rename(version.c_str(), tree_of(destination).c_str());
    return;
  }
}

// Repairs the state after a kill between the two renames: the previous content is moved aside, and
// the new one is not at the destination yet.
base::Status end_two_renames(const Destination& destination, const PublicationJournal& journal) {
  const std::string old = old_of(destination);
  const std::string tree = tree_of(destination);
  struct stat status{};
  if (!journal.publishing || destination.mount_point || inode_of(old) == 0) return {};
  if (::lstat(destination.path.c_str(), &status) == 0) return {};
  const std::string& next = inode_of(tree) == journal.tree ? tree : old;
  if (::rename(next.c_str(), destination.path.c_str()) != 0)
    return cannot_publish(destination.path, errno);
  return {};
}

}  // namespace

const char* published_name(Published published) {
  constexpr auto kNames =
      std::to_array({"renamed", "exchanged", "replaced", "versioned", "unchanged"});
  return kNames.at(static_cast<std::size_t>(published));
}

std::string tree_of(const Destination& destination) { return destination.state + "/tree"; }
std::string filling_of(const Destination& destination) { return destination.state + "/filling"; }
std::string record_of(const Destination& destination) { return destination.state + "/record.json"; }
std::string manifest_of(const Destination& destination) { return destination.state + "/manifest"; }
std::string counters_of(const Destination& destination) { return destination.state + "/progress"; }

// Write permission is needed because a move to another parent changes the directory's entry "..".
void let_move(const std::string& path) {
  struct stat status{};
  if (::geteuid() == 0 || ::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
  if ((status.st_mode & S_IWUSR) == 0) ::chmod(path.c_str(), (status.st_mode & 07777) | S_IWUSR);
}

base::Result<Publication> settle(const Destination& destination, const Keep& keep) {
  Publication publication;
  TRY(check_state_files(destination));
  PublicationJournal journal = read_journal(destination);
  const std::string tree = tree_of(destination);
  discard_gone(destination, keep);
  TRY(check_kept(keep));
  if (journal.torn) {
    // The journal is incomplete, so each of the two may be previous content: both are kept.
    std::ignore = set_aside(destination, tree);
    std::ignore = set_aside(destination, old_of(destination));
    TRY(write_journal(destination, {}));
    journal = {};
  }
  TRY(end_two_renames(destination, journal));
  if (is_brought(destination, journal)) {
    TRY(finish(destination, journal, true, &publication, keep));
    return publication;
  }
  if (destination.mount_point) take_back_version(destination, journal);
  // Moves aside previous content that a killed run may have left under either name.
  if (journal.publishing && inode_of(tree) != 0 && inode_of(tree) != journal.tree) {
    TRY(put_away(destination, tree, &publication, keep));
  }
  TRY(put_away(destination, old_of(destination), &publication, keep));
  if (journal.publishing) {
    // The tree was not published, so the destination has the content of the publication before.
    const std::uint64_t before = inode_at(destination) == journal.old ? journal.old : 0;
    // A failure is ignored, because the old journal leads to the same result.
    std::ignore = write_journal(destination, {.tree = before});
  }
  discard_gone(destination, keep);
  TRY(check_kept(keep));
  // If the tree does not exist, the notes of its run are useless.
  if (inode_of(tree) == 0 && inode_of(filling_of(destination) + "/one") == 0) {
    TRY(remove_tree(filling_of(destination), keep));
  }
  return publication;
}

base::Status check_published(const Destination& destination, const std::string& source,
                             const Options& options, const SharedCounters& counters) {
  const PublicationJournal journal = read_journal(destination);
  const bool unfinished = journal.publishing && !is_brought(destination, journal);
  if (unfinished || inode_at(destination) == 0) {
    return base::fail(kWhat, destination.data(), "no copy that was published", "copy it again");
  }
  const envgen::PathState file = read_kept_file(record_of(destination));
  TRY_ASSIGN(const auto record, parse_record(file.content, record_of(destination)));
  // With a slash at its end, the path follows the link of a mount point.
  const std::string tree = destination.data() + (destination.mount_point ? "/" : "");
  return check_unmodified(copy_at(destination, tree), {.hashed = record.hashed, .source = source},
                          options, counters);
}

base::Status check_publishable(const Destination& destination) {
  struct stat status{};
  const std::string data = destination.data();
  if (destination.mount_point && ::lstat(data.c_str(), &status) == 0 && !S_ISLNK(status.st_mode)) {
    return base::fail(kWhat, data, "something that is no link to a version",
                      "remove it, or name another place");
  }
  std::array<char, 64> target{};
  const ssize_t size =
      destination.mount_point ? ::readlink(data.c_str(), target.data(), target.size()) : 0;
  if (size > 0 &&
      !std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with(kVersions)) {
    return base::fail(kWhat, data, "a link that is not ours", "remove it, or name another place");
  }
  const std::string into =
      sys::present_part(destination.mount_point ? destination.path : destination.parent());
  if (::access(into.c_str(), W_OK | X_OK) != 0) return cannot_publish(into, errno);
  return {};
}

base::Status check_replaceable(const Destination& destination) {
  if (destination.mount_point) return {};
  const sys::Fd there(
      ::open(destination.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DirectoryReader reader;
  std::vector<Name> names;
  // An empty directory is replaced without a rename, so it need not be checked.
  if (!there.valid() || !reader.read(there.get(), names) || names.empty()) return {};
  struct statfs system{};
  if (::fstatfs(there.get(), &system) != 0 || system.f_type != OVERLAYFS_SUPER_MAGIC) return {};
  // A name that no run deletes, in case the directory ends up there.
  const std::string taken = destination.state + "/replaced-probe";
  const std::string inside = taken + "/inside";
  // Tries a rename that must fail, because the target is a directory with an entry. If the
  // directory is from an image's layer, overlayfs reports EXDEV before it looks at the target.
  ::mkdir(taken.c_str(), S_IRWXU);
  ::mkdir(inside.c_str(), S_IRWXU);
  int error = errno;
  if (is_directory(inside)) {
    error = ::rename(destination.path.c_str(), taken.c_str()) == 0 ? 0 : errno;
    if (error == 0 && ::rename(taken.c_str(), destination.path.c_str()) != 0) {
      return cannot_publish(destination.path, errno);
    }
  }
  ::rmdir(inside.c_str());
  ::rmdir(taken.c_str());
  return error == EXDEV || error == EBUSY ? cannot_publish(destination.path, error)
                                          : base::Status();
}

namespace {

// Checks the current content before it is moved, because a move changes the ctime of a file.
base::Status check_present(const Destination& destination, const Keep& keep) {
  const std::uint64_t there = inode_at(destination);
  if (there == 0 || inode_of(record_of(destination)) == 0) return {};
  if (read_journal(destination).tree != there) {
    return base::fail(kWhat, destination.data(), "not what was put there", "");
  }
  return check_removable(
      copy_at(destination, destination.data() + (destination.mount_point ? "/" : "")), false, keep);
}

}  // namespace

base::Result<Publication> publish(const Destination& destination, const CopyRecord& record,
                                  const Keep& keep) {
  const std::string tree = tree_of(destination);
  struct stat status{};
  if (::lstat(tree.c_str(), &status) != 0)
    return std::unexpected(cannot_publish(tree, errno).error());
  const PublicationJournal journal{.publishing = true,
                                   .tree = status.st_ino,
                                   .old = inode_at(destination),
                                   .mode = status.st_mode & 07777};
  Publication publication;
  const base::Status unmodified = check_present(destination, keep);
  // Checks this first, because the error may be that another machine has taken the destination.
  TRY(check_tree(destination, journal, keep));
  if (!unmodified) {
    publication.why = unmodified.error().found;
    // Without the record, the content is not taken for a copy when it is moved aside, also after a
    // kill.
    ::unlink(record_of(destination).c_str());
  }
  auto written = write_state(next_record_of(destination), record_to_json(record), record.synced);
  if (written) written = write_journal(destination, journal);
  if (!written) return std::unexpected(written.error());
  if (!destination.mount_point) {
    let_move(tree);
    let_move(destination.path);
  }
  TRY(check_tree(destination, journal, keep));
  TRY_ASSIGN(publication.how,
             destination.mount_point ? bring_version(destination) : bring(destination));
  TRY(finish(destination, journal, record.synced, &publication, keep));
  return publication;
}

}  // namespace copy
