#include "init/copy/publish.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "init/copy/identity.h"
#include "init/copy/place_journal.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "bringing a copy to its place";
constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE
constexpr unsigned kExchange = 2;   // RENAME_EXCHANGE

std::string old_of(const Destination& place) { return place.state + "/old"; }
std::string next_record_of(const Destination& place) { return place.state + "/record.next"; }

std::uint64_t inode_of(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// The link of a mount point is followed.
std::uint64_t inode_at(const Destination& place) {
  struct stat status{};
  return ::stat(place.data().c_str(), &status) == 0 ? status.st_ino : 0;
}

// What is at the place is the tree of this inode. The inode of a copy that somebody has removed may
// be that of another directory by now: one that is younger than the record of the copy.
bool is_copy_there(const Destination& place, std::uint64_t tree) {
  if (tree == 0 || inode_at(place) != tree) return false;
  struct stat record{};
  struct statx there{};
  constexpr unsigned kBorn = STATX_BTIME;
  if (::lstat(record_of(place).c_str(), &record) != 0) return false;
  if (::statx(AT_FDCWD, place.data().c_str(), 0, kBorn, &there) != 0) return true;
  if ((there.stx_mask & kBorn) == 0) return true;  // its file system does not say
  const timespec born{.tv_sec = there.stx_btime.tv_sec,
                      .tv_nsec = static_cast<long>(there.stx_btime.tv_nsec)};
  return to_ns(born) <= to_ns(record.st_mtim);
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

int rename_with(const std::string& from, const std::string& to, unsigned flags) {
  // Not renameat2: older C libraries do not have it.
  return static_cast<int>(
      ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags));
}

bool is_refused(int error) { return error == EINVAL || error == ENOSYS || error == EXDEV; }

// A directory that moves to another parent has its ".." written, which takes the permission.
void let_move(const std::string& path) {
  struct stat status{};
  if (::geteuid() == 0 || ::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
  if ((status.st_mode & S_IWUSR) == 0) ::chmod(path.c_str(), (status.st_mode & 07777) | S_IWUSR);
}

void sync_directory(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) ::fsync(fd.get());
}

std::string fresh_name(const Destination& place, const std::string& prefix) {
  std::int64_t number = sys::wall_ms();
  std::string path;
  do {
    path = place.state + "/" + prefix + std::to_string(number++);
  } while (inode_of(path) != 0);
  return path;
}

std::vector<std::string> versions_of(const Destination& place) {
  std::vector<std::string> versions;
  const sys::Dir directory(::opendir(place.state.c_str()));
  if (!directory) return versions;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (std::string_view(entry->d_name).starts_with("v-")) {
      versions.push_back(place.state + "/" + entry->d_name);
    }
  }
  return versions;
}

// The copy is there whether this succeeds or not; the next run tries again.
void discard(const std::string& path) { std::ignore = sys::remove_tree(path); }

envgen::Result<std::string> keep(const Destination& place, const std::string& path) {
  std::string kept = fresh_name(place, "replaced-");
  if (::rename(path.c_str(), kept.c_str()) == 0) return kept;
  return std::unexpected(cannot_publish(path, errno).error());
}

// What was at the place and was no copy of ours, under whatever name a killed run has left it.
envgen::Status keep_foreign(const Destination& place, const PlaceJournal& journal) {
  if (!journal.publishing || journal.old == 0 || journal.old_is_ours) return {};
  for (const std::string& path : {tree_of(place), old_of(place)}) {
    if (inode_of(path) != journal.old) continue;
    if (auto kept = keep(place, path); !kept) return std::unexpected(kept.error());
  }
  return {};
}

// What was there goes out of the way: removed when it was a copy of ours, else kept.
envgen::Status put_away(const Destination& place, const PlaceJournal& journal,
                        std::string* replaced) {
  const std::string old = old_of(place);
  const std::string tree = tree_of(place);
  // Not by its inode: that of an image's file is another one once it was moved.
  const bool exchanged = journal.old != 0 && inode_of(tree) != 0;
  const std::string there = exchanged ? tree : old;
  if (inode_of(there) == 0) return {};
  if (!journal.old_is_ours && ::rmdir(there.c_str()) != 0 && errno != ENOENT) {
    auto kept = keep(place, there);
    if (!kept) return std::unexpected(kept.error());
    *replaced = std::move(*kept);
  } else if (exchanged && inode_of(tree) != 0 && ::rename(tree.c_str(), old.c_str()) != 0) {
    return cannot_publish(tree, errno);
  }
  return {};
}

// After the data has come to its place.
envgen::Status finish(const Destination& place, const PlaceJournal& journal, bool durable,
                      std::string* replaced) {
  const std::string data = place.data();
  if (is_directory(data)) ::chmod(data.c_str(), static_cast<mode_t>(journal.mode));
  if (auto status = put_away(place, journal, replaced); !status) return status;
  if (durable) {
    sync_directory(place.mount_point ? place.path : place.parent());
    sync_directory(place.state);
  }
  const std::string manifest = place.state + "/manifest";
  ::rename((filling_of(place) + "/manifest").c_str(), manifest.c_str());
  const std::string record = record_of(place);
  if (::rename(next_record_of(place).c_str(), record.c_str()) != 0 && errno != ENOENT) {
    return cannot_publish(record, errno);
  }
  if (durable) sync_directory(place.state);
  auto status = write_journal(place, {.tree = journal.tree});
  if (!status) return status;
  for (const std::string& version : versions_of(place)) {
    if (inode_of(version) != journal.tree) discard(version);
  }
  discard(old_of(place));
  discard(filling_of(place));
  return {};
}

envgen::Result<Published> replace_by_two(const Destination& place) {
  const std::string old = old_of(place);
  if (::rename(place.path.c_str(), old.c_str()) != 0) {
    return std::unexpected(cannot_publish(place.path, errno).error());
  }
  if (::rename(tree_of(place).c_str(), place.path.c_str()) == 0) return Published::kReplaced;
  const int error = errno;
  ::rename(old.c_str(), place.path.c_str());
  return std::unexpected(cannot_publish(place.path, error).error());
}

envgen::Result<Published> bring(const Destination& place, const PlaceJournal& journal) {
  const std::string tree = tree_of(place);
  if (rename_with(tree, place.path, kNoReplace) == 0) return Published::kRenamed;
  if (!is_refused(errno) && errno != EEXIST) {
    return std::unexpected(cannot_publish(place.path, errno).error());
  }
  // Also in place of an empty directory, which the image of a container may have. Of files it would
  // take somebody else's away.
  if (is_directory(tree) || journal.old == 0 || journal.old_is_ours) {
    if (::rename(tree.c_str(), place.path.c_str()) == 0) return Published::kRenamed;
    if (errno != ENOTEMPTY && errno != EEXIST) {
      return std::unexpected(cannot_publish(place.path, errno).error());
    }
  }
  if (rename_with(tree, place.path, kExchange) == 0) return Published::kExchanged;
  if (is_refused(errno)) return replace_by_two(place);
  return std::unexpected(cannot_publish(place.path, errno).error());
}

envgen::Result<Published> bring_version(const Destination& place) {
  const std::string version = fresh_name(place, "v-");
  const std::string link = place.state + "/current.new";
  const std::string target = ".trainit-copy" + version.substr(version.rfind('/'));
  ::unlink(link.c_str());
  if (::rename(tree_of(place).c_str(), version.c_str()) != 0 ||
      ::symlink(target.c_str(), link.c_str()) != 0 ||
      ::rename(link.c_str(), place.data().c_str()) != 0) {
    return std::unexpected(cannot_publish(place.data(), errno).error());
  }
  return Published::kVersioned;
}

// A version that the link never came to point to is the tree still.
void take_back_version(const Destination& place, const PlaceJournal& journal) {
  const std::uint64_t current = inode_at(place);
  for (const std::string& version : versions_of(place)) {
    const std::uint64_t inode = inode_of(version);
    if (inode == current) continue;
    if (journal.publishing && inode == journal.tree && inode_of(tree_of(place)) == 0) {
      ::rename(version.c_str(), tree_of(place).c_str());
    } else {
      discard(version);
    }
  }
}

}  // namespace

const char* published_name(Published published) {
  constexpr std::array kNames = {"renamed", "exchanged", "replaced", "versioned", "unchanged"};
  return kNames.at(static_cast<std::size_t>(published));
}

std::string tree_of(const Destination& place) { return place.state + "/tree"; }
std::string filling_of(const Destination& place) { return place.state + "/filling"; }
std::string record_of(const Destination& place) { return place.state + "/record.json"; }

envgen::Status settle(const Destination& place) {
  if (auto files = check_state_files(place); !files) return files;
  PlaceJournal journal = read_journal(place);
  const std::string tree = tree_of(place);
  const std::string old = old_of(place);
  if (journal.torn) {
    // Either may be what was at the place, and none of our doing.
    std::ignore = keep(place, tree);
    std::ignore = keep(place, old);
    if (auto status = write_journal(place, {}); !status) return status;
    journal = {};
  }
  // Killed between the two renames: what was there is away, and the new one is not there yet.
  if (journal.publishing && inode_at(place) == 0 && inode_of(old) != 0 &&
      inode_of(old) == journal.old) {
    const std::string& next = inode_of(tree) == journal.tree ? tree : old;
    if (::rename(next.c_str(), place.path.c_str()) != 0) return cannot_publish(place.path, errno);
  }
  if (journal.publishing && journal.tree != 0 && inode_at(place) == journal.tree) {
    std::string replaced;
    return finish(place, journal, true, &replaced);
  }
  if (place.mount_point) take_back_version(place, journal);
  if (auto status = keep_foreign(place, journal); !status) return status;
  if (journal.publishing) {
    journal.publishing = false;
    journal.tree = journal.old_is_ours ? journal.old : 0;
    if (auto status = write_journal(place, journal); !status) return status;
  }
  discard(old);
  // Notes of a run whose tree is gone are about nothing.
  if (inode_of(tree) == 0) return sys::remove_tree(filling_of(place));
  return {};
}

bool is_published(const Destination& place) {
  const PlaceJournal journal = read_journal(place);
  return !journal.publishing && is_copy_there(place, journal.tree);
}

envgen::Status check_publishable(const Destination& place) {
  struct stat status{};
  const std::string data = place.data();
  if (place.mount_point && ::lstat(data.c_str(), &status) == 0 && !S_ISLNK(status.st_mode)) {
    return envgen::fail(kWhat, data, "something that is no link to a version",
                        "remove it, or name another place");
  }
  const std::string into = place.mount_point ? place.path : place.parent();
  if (::access(into.c_str(), W_OK | X_OK) != 0) return cannot_publish(into, errno);
  return {};
}

envgen::Result<Publication> publish(const Destination& place, const envgen::CopyRecord& record) {
  const std::string tree = tree_of(place);
  struct stat status{};
  if (::lstat(tree.c_str(), &status) != 0)
    return std::unexpected(cannot_publish(tree, errno).error());
  const PlaceJournal before = read_journal(place);
  const std::uint64_t there = inode_at(place);
  const PlaceJournal journal{.publishing = true,
                             .tree = status.st_ino,
                             .old = there,
                             .old_is_ours = is_copy_there(place, before.tree),
                             .mode = status.st_mode & 07777};
  auto written = write_state(next_record_of(place), record_to_json(record), record.synced);
  if (written) written = write_journal(place, journal);
  if (!written) return std::unexpected(written.error());
  if (!place.mount_point) {
    let_move(tree);
    let_move(place.path);
  }
  auto how = place.mount_point ? bring_version(place) : bring(place, journal);
  if (!how) return std::unexpected(how.error());
  Publication publication{.how = *how, .replaced = ""};
  auto done = finish(place, journal, record.synced, &publication.replaced);
  if (!done) return std::unexpected(done.error());
  return publication;
}

}  // namespace copy
