#include "init/sys/path_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "init/sys/fd.h"
#include "init/sys/permission.h"

namespace sys {
namespace {

using envgen::PathState;

PathState error_state(int error) {
  PathState state;
  if (error == ENOENT || error == ENOTDIR) return state;
  state.kind = PathState::Kind::kError;
  state.error = error;
  return state;
}

bool is_null_device(const struct stat& status) {
  constexpr unsigned kMemory = 1;  // device number of /dev/mem, /dev/null and others:
                                   // Documentation/admin-guide/devices.txt
  constexpr unsigned kNull = 3;
  return S_ISCHR(status.st_mode) && major(status.st_rdev) == kMemory &&
         minor(status.st_rdev) == kNull;
}

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

PathState read_directory(Fd fd) {
  const Dir directory(::fdopendir(fd.get()));
  if (!directory) return error_state(errno);
  std::ignore = fd.release();
  PathState state;
  state.kind = PathState::Kind::kDirectory;
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (is_dots(entry->d_name)) continue;
    if (state.entries.size() == kMaxEntries) return error_state(EFBIG);
    state.entries.emplace_back(entry->d_name);
  }
  if (errno != 0) return error_state(errno);
  std::ranges::sort(state.entries);
  state.listed = true;
  return state;
}

PathState too_large(std::uint64_t size_bytes) {
  PathState state = error_state(EFBIG);
  state.size_bytes = size_bytes;
  return state;
}

// Reads the file. `size_hint` may be wrong: a file can grow or shrink while it is read, and files
// of /proc report 0.
PathState read_file(const Fd& fd, std::uint64_t size_hint) {
  constexpr std::size_t kChunk = 64UL * 1024;
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kHugeBytes = 4UL << 20;
  PathState state;
  state.kind = PathState::Kind::kFile;
  if (size_hint > envgen::kMaxInputBytes) return too_large(size_hint);
  std::string& content = state.content;
  content.reserve(size_hint + 1);
  // Asks for huge pages, which cause one page fault for 2 MB instead of one for 4 KB. Faults cost
  // more than the reading. A failure does not matter.
  if (size_hint > kHugeBytes) {
    const std::size_t rest = reinterpret_cast<std::uintptr_t>(content.data()) % kPage;
    ::madvise(content.data() + (kPage - rest), size_hint - kPage, MADV_HUGEPAGE);
  }
  while (true) {
    const std::size_t before = content.size();
    const std::size_t room = before < content.capacity() ? content.capacity() : before + kChunk;
    ssize_t count = 0;
    content.resize_and_overwrite(room, [&](char* bytes, std::size_t size) {
      count = ::read(fd.get(), bytes + before, size - before);
      return before + static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    });
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error_state(errno);
    if (content.size() > envgen::kMaxInputBytes) return too_large(content.size());
    if (count == 0) break;
  }
  // Keeps up to a page of unused capacity, because shrinking copies the text.
  if (content.capacity() - content.size() > kPage) content.shrink_to_fit();
  state.size_bytes = content.size();
  return state;
}

PathState read_path(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return error_state(errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return error_state(errno);
  if (S_ISDIR(status.st_mode)) return read_directory(std::move(fd));
  if (!S_ISREG(status.st_mode)) return error_state(EINVAL);
  return read_file(fd, static_cast<std::uint64_t>(status.st_size));
}

}  // namespace

PathState inspect(const std::string& path, bool read_content) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return error_state(errno);
  const bool directory = S_ISDIR(status.st_mode);
  // Does not open a device or a FIFO, because opening one can have an effect.
  if (!directory && !S_ISREG(status.st_mode)) {
    PathState other = error_state(EINVAL);
    other.null_device = is_null_device(status);
    return other;
  }
  PathState state;
  if (read_content) {
    state = read_path(path);
  } else {
    state.kind = directory ? PathState::Kind::kDirectory : PathState::Kind::kFile;
    if (!directory) state.size_bytes = static_cast<std::uint64_t>(status.st_size);
  }
  if (state.kind == PathState::Kind::kDirectory || state.kind == PathState::Kind::kFile) {
    state.writable = may_access(AT_FDCWD, path.c_str(), W_OK);
  }
  // A file without any execute bit cannot be executed, not even with an access control list.
  const bool some_may = (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
  state.executable =
      state.kind == PathState::Kind::kFile && some_may && may_access(AT_FDCWD, path.c_str(), X_OK);
  return state;
}

std::string kernel_text(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  constexpr std::uint64_t kUsualBytes = 1024;
  return read_file(fd, kUsualBytes).content;
}

std::string errno_text(int error) {
  // Uses strerrordesc_np(), because the texts of strerror() depend on the locale.
  const char* text = ::strerrordesc_np(error);
  const char* name = ::strerrorname_np(error);
  if (text == nullptr || name == nullptr) return "error " + std::to_string(error);
  return std::string(text) + " (" + name + ")";
}

}  // namespace sys
