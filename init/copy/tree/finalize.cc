#include "init/copy/tree/finalize.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "init/copy/tree/access.h"
#include "init/copy/tree/entry_copy.h"
#include "init/copy/tree/file_copy.h"

namespace copy {
namespace {

constexpr mode_t kPermissions = 07777;
constexpr mode_t kEntered = 0500;

// A line of the list of those to be done late: mode, a space, the path with a NUL behind it.
std::string late_list(const Worker& worker) { return worker.job.state + "/late"; }

envgen::Status note_late(Worker& worker, mode_t mode) {
  const sys::Fd list(::open(late_list(worker).c_str(),
                            O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  std::string line = std::to_string(mode) + " " + worker.path;
  line += '\0';
  errno = ENOSPC;
  if (list.valid() &&
      ::write(list.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    return {};
  }
  return cannot_write(worker, errno);
}

}  // namespace

envgen::Status finalize_directory(Worker& worker, int from, int to, const struct stat& status) {
  add_entry(worker.sums, worker.path, status, {}, worker.scratch);
  if (worker.job.tree.empty()) return {};
  if (to_ns(status.st_ctim) >= worker.job.rules.begun_ns) name_change(worker);
  struct stat now = status;
  narrow(worker, from, now);
  const mode_t mode = now.st_mode & kPermissions;
  const bool late = worker.uid != 0 && (mode & kEntered) != kEntered;
  if (late) {
    TRY(note_late(worker, mode));
  }
  if (late) now.st_mode |= kEntered;
  return finish_file(worker, to, now, false, true);
}

envgen::Status finalize_late_directories(Worker& worker) {
  const sys::Fd list(::open(late_list(worker).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!list.valid()) return {};
  std::string text;
  std::vector<char> buffer(65536);
  for (ssize_t size = 0; (size = ::read(list.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size(); at += lines.back().size() + 1) {
    lines.push_back(text.c_str() + at);
  }
  std::ranges::sort(lines, std::greater<>(),
                    [](std::string_view line) { return std::ranges::count(line, '/'); });
  worker.tree.reset(::open(worker.job.tree.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  for (const std::string_view line : lines) {
    worker.path = line.substr(line.find(' ') + 1);
    const auto mode = static_cast<mode_t>(std::stoul(std::string(line.substr(0, line.find(' ')))));
    const sys::Fd directory = open_below(worker.tree.get(), worker.path, O_RDONLY | O_DIRECTORY);
    if (!directory.valid() || ::fchmod(directory.get(), mode) != 0) {
      return cannot_write(worker, errno);
    }
  }
  return {};
}

envgen::Status finish_large(Worker& worker, const DirectoryPair& directories, const char* name,
                            const struct stat& status) {
  struct stat copy{};
  if (::fstatat(directories.to, name, &copy, AT_SYMLINK_NOFOLLOW) != 0) {
    note_change(worker);  // it came after all was copied
    return {};
  }
  if (to_ns(copy.st_mtim) == to_ns(status.st_mtim)) return {};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto done = worker.job.journal->done(state_of(worker.path, status), parts_of(size));
  // Its parts are noted under the name that it was written by, which is looked at by itself.
  const bool another_name =
      status.st_nlink > 1 && copy.st_nlink > 1 && std::ranges::find(done, true) == done.end();
  if (another_name) return {};
  if (std::ranges::find(done, false) != done.end()) {
    note_change(worker);
    return {};
  }
  const sys::Fd from(
      ::openat(directories.from, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!from.valid()) {
    note_change(worker);
    return {};
  }
  const sys::Fd file(::openat(directories.to, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return cannot_write(worker, errno);
  struct stat now = status;
  narrow(worker, from.get(), now);
  return finish_file(worker, file.get(), now, false, true);
}

envgen::Status check_unchanged(Worker& worker, const DirectoryPair& directories, const char* name) {
  struct stat status{};
  worker.target.clear();
  if (::fstatat(directories.from, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      (S_ISLNK(status.st_mode) && !read_target(worker.target, directories.from, name))) {
    if (errno != ENOENT && errno != EINVAL) return cannot_read(worker, errno);
    note_change(worker);
    return {};
  }
  add_entry(worker.sums, worker.path, status, worker.target, worker.scratch);
  if (worker.job.tree.empty() || !S_ISREG(status.st_mode)) return {};
  const std::int64_t changed = to_ns(status.st_ctim);
  if (changed >= worker.job.rules.begun_ns) name_change(worker);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return has_parts(size) ? finish_large(worker, directories, name, status) : envgen::Status();
}

}  // namespace copy
