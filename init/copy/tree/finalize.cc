#include "init/copy/tree/finalize.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/stable_sort.h"
#include "init/copy/tree/access.h"
#include "init/copy/tree/entry_copy.h"
#include "init/copy/tree/file_copy.h"
#include "init/copy/tree/foreign_source.h"
#include "init/copy/tree/source_links.h"

namespace copy {
namespace {

constexpr mode_t kPermissions = 07777;
constexpr mode_t kEntered = 0500;

// Returns the path of the list of directories that are finished late. Each record is the mode, a
// blank, the path and a NUL.
std::string late_list(const Worker& worker) { return worker.job.state + "/late"; }

base::Status note_late(Worker& worker, mode_t mode) {
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

sys::Fd open_entry(Worker& worker, const DirectoryPair& directories, const char* name) {
  constexpr int kRead = O_RDONLY | O_NONBLOCK;
  if (!worker.linked.empty()) return open_linked(worker, kRead);
  return ask_source(worker.waiting, [&] {
    return sys::Fd(::openat(directories.from, name, kRead | O_NOFOLLOW | O_CLOEXEC));
  });
}

// Returns true for a file that consists of one hole. Such a file has no blocks. But a file system
// that does not count blocks (FUSE), which is found out once, reports none either, and a small file
// may be stored in its inode.
bool is_hole(Worker& worker, const DirectoryPair& directories, const char* name,
             const struct stat& status) {
  constexpr off_t kMin = off_t{1} << 20;  // bytes
  if (status.st_blocks != 0 || status.st_size < kMin || !S_ISREG(status.st_mode) ||
      worker.no_blocks == status.st_dev) {
    return false;
  }
  const Reader reader(worker);
  const sys::Fd file = open_entry(worker, directories, name);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const StorageCall call(worker.waiting, CopySide::kSource);
  const bool hole = file.valid() && next_data(file.get(), 0, size) == size;
  if (file.valid() && !hole) worker.no_blocks = status.st_dev;
  return hole;
}

}  // namespace

base::Status finalize_directory(Worker& worker, int from, int to, const struct stat& status) {
  add_entry(worker.sums, worker.path, status, {}, worker.scratch);
  if (worker.job.tree.empty()) return {};
  const bool changed = to_ns(status.st_ctim) >= worker.job.rules.begun_ns;
  // Only if no file has changed: the time of a directory may be invented, and files are more
  // informative.
  if (changed && worker.job.header->noted == 0) name_change(worker);
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

base::Status finalize_late_directories(Worker& worker) {
  const sys::Fd list(::open(late_list(worker).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!list.valid()) return {};
  std::string text;
  std::vector<char> buffer(65536);
  for (ssize_t size = 0;
       (size = read_kept(list.get(), buffer.data(), buffer.size(), text.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size(); at += lines.back().size() + 1) {
    lines.push_back(text.c_str() + at);
  }
  base::stable_sort(lines, std::greater<>(),
                    [](std::string_view line) { return std::ranges::count(line, '/'); });
  worker.tree.reset(::open(worker.job.tree.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  for (const std::string_view line : lines) {
    worker.path = line.substr(line.find(' ') + 1);
    const auto mode = static_cast<mode_t>(std::stoul(std::string(line.substr(0, line.find(' ')))));
    const sys::Fd directory = open_below(worker.tree.get(), worker.path, O_RDONLY | O_DIRECTORY);
    if (!directory.valid() || !set_mode(worker, directory.get(), mode)) {
      return cannot_write(worker, errno);
    }
  }
  return {};
}

base::Status finish_large(Worker& worker, const DirectoryPair& directories, const char* name,
                          const struct stat& status) {
  struct stat copy{};
  if (::fstatat(directories.to, name, &copy, AT_SYMLINK_NOFOLLOW) != 0) {
    note_change(worker);  // the entry was added after its directory was copied
    return {};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto done = worker.job.journal->done(state_of(worker.path, status), parts_of(size));
  const bool exact = worker.job.header->kept.time_step_ns == 1;
  // A rounded mtime can be that of the last write. So it proves the copy only if the file was not
  // copied in parts.
  if (exact ? to_ns(status.st_mtim) == to_ns(copy.st_mtim)
            : done.empty() && is_rounding_of(to_ns(status.st_mtim), to_ns(copy.st_mtim))) {
    return {};
  }
  // The journal has the parts under the name by which the file was written. That name is checked
  // separately.
  const bool another_name = status.st_nlink > 1 && copy.st_nlink > 1 && done.empty();
  if (another_name) return {};
  if (done.end_of(0) < parts_of(size)) {
    note_change(worker);
    return {};
  }
  const sys::Fd from = open_entry(worker, directories, name);
  if (!from.valid()) {
    if (!is_gone(errno)) return cannot_read(worker, errno);
    note_change(worker);
    return {};
  }
  const sys::Fd file(::openat(directories.to, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return cannot_write(worker, errno);
  struct stat now = status;
  narrow(worker, from.get(), now);
  return finish_file(worker, file.get(), now, false, true);
}

base::Status check_unchanged(Worker& worker, const DirectoryPair& directories, const char* name) {
  struct stat status{};
  sys::Fd linked;
  if (!worker.linked.empty()) linked = open_linked(worker, O_PATH);
  const bool there = worker.linked.empty()
                         ? stat_in_source(worker, directories.from, name, status)
                         : linked.valid() && stat_in_source(worker, linked.get(), "", status);
  if (!there) {
    if (!is_gone(errno)) return cannot_read(worker, errno);
    note_change(worker);
    return {};
  }
  settle_source(worker, linked.valid() ? linked.get() : directories.from,
                linked.valid() ? "" : name, status);
  add_entry(worker.sums, worker.path, status, {}, worker.scratch);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (is_hole(worker, directories, name, status)) worker.sums.size.allocated -= size;
  if (worker.job.tree.empty() || !S_ISREG(status.st_mode)) return {};
  const std::int64_t changed = to_ns(status.st_ctim);
  if (changed >= worker.job.rules.begun_ns && !is_time_made_up(status)) name_change(worker);
  struct stat copy{};
  // The ctime alone does not prove a change, because another machine's clock may have set it.
  const bool compares =
      worker.job.names && worker.job.header->kept.time_step_ns == 1 && !has_parts(size);
  if (compares &&
      (::fstatat(directories.to, name, &copy, AT_SYMLINK_NOFOLLOW) != 0 ||
       copy.st_size != status.st_size || to_ns(copy.st_mtim) != to_ns(status.st_mtim))) {
    name_change(worker);
  }
  if (has_parts(size)) {
    TRY(finish_large(worker, directories, name, status));
  }
  if (worker.job.header->kept.late_times) {
    const timespec times[2] = {status.st_atim, status.st_mtim};
    ::utimensat(directories.to, name, times, AT_SYMLINK_NOFOLLOW);
  }
  return {};
}

void name_removed(Worker& worker, const DirectoryPair& directories) {
  const std::string directory = worker.path;
  DirectoryReader reader;
  std::vector<Name> names;
  while (worker.job.header->noted < kNoted && reader.read(directories.to, names) &&
         !names.empty()) {
    for (const Name& name : names) {
      struct stat status{};
      if (stat_in_source(worker, directories.from, name.c_str(), status) || !is_gone(errno))
        continue;
      worker.path = directory.empty() ? name.text : directory + "/" + std::string(name.text);
      name_change(worker);
    }
  }
  worker.path = directory;
}

}  // namespace copy
