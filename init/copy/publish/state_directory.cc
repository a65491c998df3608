#include "init/copy/publish/state_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <vector>

#include "init/copy/tree/directory.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "looking at the place of a copy";
// Whoever is told of a version, or of what was kept, may go there; nobody may look around.
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
  constexpr auto kStarts = std::to_array({"gone-", "replaced-", "v-", "claim"});
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kStarts,
                             [name](const char* start) { return name.starts_with(start); });
}

bool is_our_file(int directory, const char* name) {
  struct stat status{};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid();
}

// Nothing is in it yet, or what an earlier version kept.
bool may_be_marked(int directory) {
  DirectoryReader reader;
  std::vector<Name> names;
  bool empty = true;
  while (reader.read(directory, names)) {
    if (names.empty()) return empty || is_our_file(directory, "lock");
    for (const Name& name : names) {
      if (!is_known(name.text)) return false;
      empty = empty && name.text == kMark;
    }
  }
  return false;
}

envgen::Status check_mark(int directory, const std::string& shown) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string mark = mark_of(shown);
  std::array<char, NAME_MAX + 32> text{};
  if (is_our_file(directory, kMark)) {
    const sys::Fd there(::openat(directory, kMark, O_RDONLY | kFlags));
    const ssize_t size = ::read(there.get(), text.data(), text.size());
    if (size > 0 && std::string_view(text.data(), static_cast<std::size_t>(size)) == mark) {
      return {};
    }
    if (size < 0) {
      return envgen::fail(kWhat, shown, sys::errno_text(errno), "see that it may be read");
    }
    if (size != 0) {
      return envgen::fail(kWhat, shown, "a directory that was made for another place",
                          "look at what is in it, and remove it, or name another place");
    }
  }
  if (!may_be_marked(directory)) {
    return envgen::fail(kWhat, shown, "a directory that is not trainit's",
                        "look at what is in it, and remove it, or name another place");
  }
  const sys::Fd made(::openat(directory, kMark, O_WRONLY | O_CREAT | kFlags, 0600));
  const bool wrote = made.valid() && ::write(made.get(), mark.data(), mark.size()) >= 0;
  // On a full disk what is there may be found all the same.
  if (wrote || errno == ENOSPC || errno == EDQUOT) return {};
  return envgen::fail(kWhat, shown, sys::errno_text(errno), "name a place that may be written");
}

}  // namespace

envgen::Result<sys::Fd> open_state(const std::string& path, const std::string& shown) {
  if (::mkdir(path.c_str(), kState) != 0 && errno != EEXIST) {
    return envgen::fail(kWhat, shown, sys::errno_text(errno), "name a place that may be written");
  }
  sys::Fd state(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!state.valid() || ::fstat(state.get(), &status) != 0) {
    const bool other = errno == ENOTDIR || errno == ELOOP;
    return envgen::fail(kWhat, shown, other ? "no directory" : sys::errno_text(errno), "remove it");
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return envgen::fail(kWhat, shown,
                        status.st_uid != ::geteuid()
                            ? "a directory of user " + std::to_string(status.st_uid)
                            : "a directory that others may write",
                        "remove it, or name another place");
  }
  TRY(check_mark(state.get(), shown));
  // Whatever the umask.
  if ((status.st_mode & kState) != kState) ::fchmod(state.get(), kState);
  return state;
}

}  // namespace copy
