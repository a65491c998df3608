#include "init/copy/publish/state_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "init/copy/tree/contents.h"
#include "init/copy/tree/directory.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

constexpr const char* kWhat = "looking at the place of a copy";
// The mode lets other users use a version whose path they know, but not list the directory.
constexpr mode_t kState = 0711;
constexpr const char* kMark = "mark";

std::string mark_of(const std::string& shown) {
  return "trainit " + shown.substr(shown.rfind('/') + 1) + "\n";
}

bool is_known(std::string_view name) {
  constexpr auto kNames =
      std::to_array({"mark", "lock", "lease", "tree", "filling", "old", "manifest", "progress",
                     "journal", "record.json", "record.next", "journal.new", "current.new",
                     "share.from", "share.to", "record.json.new", "record.next.new"});
  constexpr auto kStarts = std::to_array({"gone-", "replaced-", "v-", "claim", "probe-"});
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kStarts,
                             [name](const char* start) { return name.starts_with(start); });
}

bool is_file_of(uid_t owner, int directory, const char* name) {
  struct stat status{};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == owner;
}

// Returns the status of a new private file as the file system shows it. Many mounts show the same
// owner, or the same mode, for all files.
std::optional<struct stat> look_at_new_file(int directory) {
  const std::string name = "probe-" + std::to_string(::getpid());
  const sys::Fd file(::openat(directory, name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return std::nullopt;
  ::unlinkat(directory, name.c_str(), 0);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::nullopt;
  return status;
}

// Returns whether the directory is empty, or contains only files of an earlier version.
bool may_be_marked(int directory, uid_t owner) {
  DirectoryReader reader;
  std::vector<Name> names;
  bool empty = true;
  while (reader.read(directory, names)) {
    if (names.empty()) return empty || is_file_of(owner, directory, "lock");
    for (const Name& name : names) {
      if (!is_known(name.text)) return false;
      empty = empty && name.text == kMark;
    }
  }
  return false;
}

base::Status check_mark(int directory, uid_t owner, const std::string& shown) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string mark = mark_of(shown);
  std::array<char, NAME_MAX + 32> text{};
  if (is_file_of(owner, directory, kMark)) {
    const sys::Fd there(::openat(directory, kMark, O_RDONLY | kFlags));
    const ssize_t size = read_kept(there.get(), text.data(), text.size(), 0);
    if (size > 0 && std::string_view(text.data(), static_cast<std::size_t>(size)) == mark) {
      return {};
    }
    if (size < 0) {
      return base::fail(kWhat, shown, sys::errno_text(errno), "see that it may be read");
    }
    if (size != 0) {
      return base::fail(kWhat, shown, "a directory that was made for another place",
                        "look at what is in it, and remove it, or name another place");
    }
  }
  if (!may_be_marked(directory, owner)) {
    return base::fail(kWhat, shown, "a directory that is not trainit's",
                      "look at what is in it, and remove it, or name another place");
  }
  const sys::Fd made(::openat(directory, kMark, O_WRONLY | O_CREAT | kFlags, 0600));
  const bool wrote = made.valid() && ::write(made.get(), mark.data(), mark.size()) >= 0;
  // On a full disk the mark is not written, but a published copy can still be found.
  if (wrote || errno == ENOSPC || errno == EDQUOT) return {};
  return base::fail(kWhat, shown, sys::errno_text(errno), "name a place that may be written");
}

// Returns the user that the file system shows as the owner of files that trainit makes in `state`.
base::Result<uid_t> owner_in(const sys::Fd& state, const struct stat& status,
                             const std::string& shown) {
  constexpr mode_t kWrittenByOthers = S_IWGRP | S_IWOTH;
  constexpr const char* kFix = "remove it, or name another place";
  const bool open = (status.st_mode & kWrittenByOthers) != 0;
  if (status.st_uid == ::geteuid() && !open) return status.st_uid;
  const auto made = look_at_new_file(state.get());
  const uid_t owner = made ? made->st_uid : ::geteuid();
  if (status.st_uid != owner) {
    return base::fail(kWhat, shown, "a directory of user " + std::to_string(status.st_uid), kFix);
  }
  if (!open) return owner;
  if (made && (made->st_mode & kWrittenByOthers) != 0) {
    return base::fail(kWhat, shown,
                      "that its file system (" + sys::file_system_of(state.get()) +
                          ") lets others write all that is made there",
                      "mount it with a mode that does not, or name another place");
  }
  return base::fail(kWhat, shown, "a directory that others may write", kFix);
}

}  // namespace

base::Result<sys::Fd> open_state(const std::string& path, const std::string& shown) {
  const bool made = ::mkdir(path.c_str(), kState) == 0;
  if (!made && errno != EEXIST) {
    return base::fail(kWhat, shown, sys::errno_text(errno), "name a place that may be written");
  }
  sys::Fd state(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!state.valid() || ::fstat(state.get(), &status) != 0) {
    const bool other = errno == ENOTDIR || errno == ELOOP;
    return base::fail(kWhat, shown, other ? "no directory" : sys::errno_text(errno), "remove it");
  }
  const auto owner = owner_in(state, status, shown);
  if (!owner) {
    if (made) ::rmdir(path.c_str());
    return std::unexpected(owner.error());
  }
  TRY(check_mark(state.get(), *owner, shown));
  // A failure is ignored: the files here that need protection have a mode of their own.
  if (made) std::ignore = drop_inherited(state.get());
  // Sets the mode, whatever the umask is.
  if (made || (status.st_mode & kState) != kState) ::fchmod(state.get(), kState);
  return state;
}

}  // namespace copy
