#include "init/copy/publish/publish.h"

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

#include "init/copy/publish/place_journal.h"
#include "init/copy/tree/phase.h"
#include "init/copy/tree/standing.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "bringing a copy to its place";
constexpr std::string_view kVersions = ".trainit-copy/v-";  // of a mount point
constexpr unsigned kNoReplace = 1;                          // RENAME_NOREPLACE
constexpr unsigned kExchange = 2;                           // RENAME_EXCHANGE

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

// Of the state directory, those that begin so.
std::vector<std::string> names_of(const Destination& place, std::string_view prefix) {
  std::vector<std::string> names;
  const sys::Dir directory(::opendir(place.state.c_str()));
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (std::string_view(entry->d_name).starts_with(prefix)) {
      names.push_back(place.state + "/" + entry->d_name);
    }
  }
  return names;
}

// The copy is there whether this succeeds or not; the next run tries again.
void discard(const std::string& path, const Keep& keep) { std::ignore = remove_tree(path, keep); }

void discard_gone(const Destination& place, const Keep& keep) {
  for (const std::string& path : names_of(place, "gone-")) discard(path, keep);
}

envgen::Status check_kept(const Keep& keep) { return keep ? keep() : envgen::Status(); }

// The place is ours still, and what is about to be published is the tree that was filled.
envgen::Status check_tree(const Destination& place, const PlaceJournal& journal, const Keep& keep) {
  if (auto ours = check_kept(keep); !ours) return ours;
  if (inode_of(tree_of(place)) == journal.tree) return {};
  return envgen::fail(kWhat, tree_of(place), "another tree than the one that was filled",
                      "let one machine copy to a place that several share; run it again");
}

Standee copy_at(const Destination& place, const std::string& path) {
  return {.tree = path, .manifest = place.state + "/manifest", .record = record_of(place)};
}

envgen::Result<std::string> set_aside(const Destination& place, const std::string& path) {
  std::string kept = fresh_name(place, "replaced-");
  if (::rename(path.c_str(), kept.c_str()) == 0) return kept;
  return std::unexpected(cannot_publish(path, errno).error());
}

// What was at the place goes out of the way, wherever it lies now: to be removed where a walk has
// just proven that it is the copy whose manifest is there, and nothing besides; else kept.
envgen::Status put_away(const Destination& place, const std::string& path, Publication* publication,
                        const Keep& keep) {
  if (inode_of(path) == 0 || ::rmdir(path.c_str()) == 0) return {};
  const bool was_ours = inode_of(record_of(place)) != 0;
  const envgen::Status removable = was_ours ? check_removable(copy_at(place, path), true, keep)
                                            : envgen::fail(kWhat, path, "", "");
  if (auto ours = check_kept(keep); !ours) return ours;
  if (removable) {
    const std::string gone = fresh_name(place, "gone-");
    if (::rename(path.c_str(), gone.c_str()) != 0) return cannot_publish(path, errno);
    return {};
  }
  auto kept = set_aside(place, path);
  if (!kept) return std::unexpected(kept.error());
  publication->replaced = std::move(*kept);
  if (was_ours) publication->why = removable.error().found;
  return {};
}

// What let_move() has taken from it; the name may be another one's by now.
void restore_mode(const std::string& path, const PlaceJournal& journal) {
  const auto mode = static_cast<mode_t>(journal.mode);
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (fd.valid() && ::fstat(fd.get(), &status) == 0 && status.st_ino == journal.tree) {
    ::fchmod(fd.get(), mode);
  } else if (::geteuid() != 0 && is_directory(path)) {
    ::chmod(path.c_str(), mode);  // it may not be read
  }
}

// After the data has come to its place.
envgen::Status finish(const Destination& place, const PlaceJournal& journal, bool durable,
                      Publication* publication, const Keep& keep) {
  const std::string data = place.data();
  if (!place.mount_point) restore_mode(data, journal);
  // Another name of what is at the place now, where a file was brought there by a link.
  if (inode_of(tree_of(place)) == journal.tree) discard(tree_of(place), keep);
  // An exchange has left there what was at the place.
  for (const std::string& path : {tree_of(place), old_of(place)}) {
    if (auto status = put_away(place, path, publication, keep); !status) return status;
  }
  for (const std::string& version : names_of(place, "v-")) {
    if (inode_of(version) == journal.tree) continue;
    if (auto status = put_away(place, version, publication, keep); !status) return status;
  }
  if (durable) {
    sync_directory(place.mount_point ? place.path : place.parent());
    sync_directory(place.state);
  }
  // What lies in the state directory may be another machine's by now.
  if (auto ours = check_kept(keep); !ours) return ours;
  const std::string manifest = place.state + "/manifest";
  ::rename((filling_of(place) + "/manifest").c_str(), manifest.c_str());
  const std::string record = record_of(place);
  if (::rename(next_record_of(place).c_str(), record.c_str()) != 0 && errno != ENOENT) {
    return cannot_publish(record, errno);
  }
  // A file's ctime is that of the rename.
  if (!is_directory(data)) ::utimensat(AT_FDCWD, record.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  if (durable) sync_directory(place.state);
  auto status = write_journal(place, {.tree = journal.tree});
  if (!status) return status;
  discard_gone(place, keep);
  if (auto ours = check_kept(keep); !ours) return ours;
  discard(filling_of(place), keep);
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

envgen::Result<Published> bring(const Destination& place) {
  const std::string tree = tree_of(place);
  if (rename_with(tree, place.path, kNoReplace) == 0) return Published::kRenamed;
  if (!is_refused(errno) && errno != EEXIST) {
    return std::unexpected(cannot_publish(place.path, errno).error());
  }
  // Also in place of an empty directory, which the image of a container may have. Of files it would
  // take one away.
  if (is_directory(tree)) {
    if (::rename(tree.c_str(), place.path.c_str()) == 0) return Published::kRenamed;
    if (errno != ENOTEMPTY && errno != EEXIST) {
      return std::unexpected(cannot_publish(place.path, errno).error());
    }
  } else if (::link(tree.c_str(), place.path.c_str()) == 0) {
    ::unlink(tree.c_str());
    return Published::kRenamed;
  } else if (inode_at(place) == 0 && ::rename(tree.c_str(), place.path.c_str()) == 0) {
    return Published::kRenamed;  // its file system has no links either
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
  if (!journal.publishing || inode_of(tree_of(place)) != 0) return;
  for (const std::string& version : names_of(place, "v-")) {
    const std::uint64_t inode = inode_of(version);
    if (inode != journal.tree || inode == inode_at(place)) continue;
    ::rename(version.c_str(), tree_of(place).c_str());
    return;
  }
}

// Killed between the two renames: what was there is away, and the new one is not there yet.
envgen::Status end_two_renames(const Destination& place, const PlaceJournal& journal) {
  const std::string old = old_of(place);
  const std::string tree = tree_of(place);
  struct stat status{};
  if (!journal.publishing || place.mount_point || inode_of(old) == 0) return {};
  if (::lstat(place.path.c_str(), &status) == 0) return {};
  const std::string& next = inode_of(tree) == journal.tree ? tree : old;
  if (::rename(next.c_str(), place.path.c_str()) != 0) return cannot_publish(place.path, errno);
  return {};
}

}  // namespace

const char* published_name(Published published) {
  constexpr std::array kNames = {"renamed", "exchanged", "replaced", "versioned", "unchanged"};
  return kNames.at(static_cast<std::size_t>(published));
}

std::string tree_of(const Destination& place) { return place.state + "/tree"; }
std::string filling_of(const Destination& place) { return place.state + "/filling"; }
std::string record_of(const Destination& place) { return place.state + "/record.json"; }

envgen::Result<Publication> settle(const Destination& place, const Keep& keep) {
  Publication publication;
  if (auto files = check_state_files(place); !files) return std::unexpected(files.error());
  PlaceJournal journal = read_journal(place);
  const std::string tree = tree_of(place);
  discard_gone(place, keep);
  if (auto ours = check_kept(keep); !ours) return std::unexpected(ours.error());
  if (journal.torn) {
    // Either may be what was at the place, and none of our doing.
    std::ignore = set_aside(place, tree);
    std::ignore = set_aside(place, old_of(place));
    if (auto status = write_journal(place, {}); !status) return std::unexpected(status.error());
    journal = {};
  }
  if (auto status = end_two_renames(place, journal); !status)
    return std::unexpected(status.error());
  if (journal.publishing && journal.tree != 0 && inode_at(place) == journal.tree) {
    if (auto status = finish(place, journal, true, &publication, keep); !status)
      return std::unexpected(status.error());
    return publication;
  }
  if (place.mount_point) take_back_version(place, journal);
  // Whatever a killed run has left of what was at the place, under whatever name.
  if (journal.publishing && inode_of(tree) != 0 && inode_of(tree) != journal.tree) {
    if (auto status = put_away(place, tree, &publication, keep); !status)
      return std::unexpected(status.error());
  }
  if (auto status = put_away(place, old_of(place), &publication, keep); !status)
    return std::unexpected(status.error());
  if (journal.publishing) {
    // It has not come so far: what was at the place then is what was put there before.
    const std::uint64_t before = inode_at(place) == journal.old ? journal.old : 0;
    if (auto status = write_journal(place, {.tree = before}); !status)
      return std::unexpected(status.error());
  }
  discard_gone(place, keep);
  if (auto ours = check_kept(keep); !ours) return std::unexpected(ours.error());
  // Notes of a run whose tree is gone are about nothing.
  if (inode_of(tree) == 0 && inode_of(filling_of(place) + "/one") == 0) {
    if (auto gone = remove_tree(filling_of(place), keep); !gone)
      return std::unexpected(gone.error());
  }
  return publication;
}

envgen::Status check_published(const Destination& place, const std::string& source,
                               const Options& options, const SharedCounters& counters) {
  if (read_journal(place).publishing || inode_at(place) == 0) {
    return envgen::fail(kWhat, place.data(), "no copy that was published", "copy it again");
  }
  const envgen::PathState file = sys::look(record_of(place), true);
  const auto record = envgen::parse_record(file.content, record_of(place));
  if (!record) return std::unexpected(record.error());
  // A slash: the link of a mount point is followed.
  const std::string tree = place.data() + (place.mount_point ? "/" : "");
  return check_standing(copy_at(place, tree), {.hashed = record->hashed, .source = source}, options,
                        counters);
}

envgen::Status check_publishable(const Destination& place) {
  struct stat status{};
  const std::string data = place.data();
  if (place.mount_point && ::lstat(data.c_str(), &status) == 0 && !S_ISLNK(status.st_mode)) {
    return envgen::fail(kWhat, data, "something that is no link to a version",
                        "remove it, or name another place");
  }
  std::array<char, 64> target{};
  const ssize_t size =
      place.mount_point ? ::readlink(data.c_str(), target.data(), target.size()) : 0;
  if (size > 0 &&
      !std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with(kVersions)) {
    return envgen::fail(kWhat, data, "a link that is not ours", "remove it, or name another place");
  }
  const std::string into = place.mount_point ? place.path : place.parent();
  if (::access(into.c_str(), W_OK | X_OK) != 0) return cannot_publish(into, errno);
  return {};
}

namespace {

// What is at the place now, before it is moved, which changes the times of a file.
envgen::Status check_present(const Destination& place, const Keep& keep) {
  const std::uint64_t there = inode_at(place);
  if (there == 0 || inode_of(record_of(place)) == 0) return {};
  if (read_journal(place).tree != there) {
    return envgen::fail(kWhat, place.data(), "not what was put there", "");
  }
  return check_removable(copy_at(place, place.data() + (place.mount_point ? "/" : "")), false,
                         keep);
}

}  // namespace

envgen::Result<Publication> publish(const Destination& place, const envgen::CopyRecord& record,
                                    const Keep& keep) {
  const std::string tree = tree_of(place);
  struct stat status{};
  if (::lstat(tree.c_str(), &status) != 0)
    return std::unexpected(cannot_publish(tree, errno).error());
  const PlaceJournal journal{.publishing = true,
                             .tree = status.st_ino,
                             .old = inode_at(place),
                             .mode = status.st_mode & 07777};
  Publication publication;
  const envgen::Status standing = check_present(place, keep);
  // Its error may be that the place is another machine's.
  if (auto ours = check_tree(place, journal, keep); !ours) return std::unexpected(ours.error());
  if (!standing) {
    publication.why = standing.error().found;
    // So it is nobody's copy for whoever puts it away, also after a kill.
    ::unlink(record_of(place).c_str());
  }
  auto written = write_state(next_record_of(place), record_to_json(record), record.synced);
  if (written) written = write_journal(place, journal);
  if (!written) return std::unexpected(written.error());
  if (!place.mount_point) {
    let_move(tree);
    let_move(place.path);
  }
  if (auto ours = check_tree(place, journal, keep); !ours) return std::unexpected(ours.error());
  auto how = place.mount_point ? bring_version(place) : bring(place);
  if (!how) return std::unexpected(how.error());
  publication.how = *how;
  auto done = finish(place, journal, record.synced, &publication, keep);
  if (!done) return std::unexpected(done.error());
  return publication;
}

}  // namespace copy
