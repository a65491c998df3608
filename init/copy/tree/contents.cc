#include "init/copy/tree/contents.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "init/sys/path_state.h"

namespace copy {
namespace {

constexpr std::align_val_t kPage{4096};
constexpr std::uint64_t kBuffer = 256ULL << 10U;     // bytes; fits into the cache of a core
constexpr std::uint64_t kWorthKernel = 1ULL << 20U;  // bytes; smaller ranges are faster through the
                                                     // buffer
constexpr std::uint64_t kAtOnce = 8ULL << 20U;       // bytes of one call; the progress is updated
                                                     // between calls

bool write_all(int file, const char* from, std::uint64_t size, std::uint64_t at) {
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t count = ::pwrite(file, from + done, size - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    done += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace

ssize_t read_all(int file, char* to, std::uint64_t size, std::uint64_t at) {
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(file, to + done, size - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<std::uint64_t>(count);
  }
  return static_cast<ssize_t>(done);
}

ssize_t read_kept(int file, char* to, std::uint64_t size, std::uint64_t at) {
  return ask_storage(nullptr, CopySide::kCopy, [&] { return read_all(file, to, size, at); });
}

envgen::PathState read_kept_file(const std::string& path) {
  StorageCall tries(nullptr, CopySide::kCopy);
  while (true) {
    envgen::PathState file = sys::inspect(path, true);
    errno = file.error;
    if (!tries.again()) return file;
  }
}

std::uint64_t next_data(int file, std::uint64_t at, std::uint64_t end) {
  const off_t data = ::lseek(file, static_cast<off_t>(at), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? end : at;
  return std::clamp(static_cast<std::uint64_t>(data), at, end);
}

FileCopier::FileCopier(std::atomic<std::uint64_t>& moved, Waiting* waiting)
    : buffer_(make_buffer()), moved_(&moved), waiting_(waiting) {}

ssize_t FileCopier::read_from(CopySide side, int file, char* to, std::uint64_t size,
                              std::uint64_t at) {
  return ask_storage(waiting_, side, [&] { return read_all(file, to, size, at); });
}

void FileCopier::Free::operator()(char* buffer) const { ::operator delete[](buffer, kPage); }

FileCopier::Buffer FileCopier::make_buffer() { return Buffer(new (kPage) char[kBuffer]); }

std::uint64_t FileCopier::move_in_kernel(const ByteRange& range) {
  std::uint64_t at = range.begin;
  if (range.end - at < kWorthKernel) return at;
  while (kernel_moves_ && at < range.end) {
    auto from = static_cast<off_t>(at);
    off_t to = from;
    const std::uint64_t size = std::min(kAtOnce, range.end - at);
    const StorageCall call(waiting_, CopySide::kBoth);
    const ssize_t count = ::copy_file_range(range.from, &from, range.to, &to, size, 0);
    if (count < 0) {
      kernel_moves_ = errno != EXDEV && errno != ENOSYS && errno != EINVAL && errno != EPERM &&
                      errno != EOPNOTSUPP;
    }
    if (count <= 0) break;
    moved_->fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
    at += static_cast<std::uint64_t>(count);
  }
  return at;
}

Moved FileCopier::move(const ByteRange& range, base::ContentHash* hash) {
  for (std::uint64_t at = hash == nullptr ? move_in_kernel(range) : range.begin; at < range.end;) {
    const std::uint64_t size = std::min(kBuffer, range.end - at);
    const ssize_t count = read_from(CopySide::kSource, range.from, buffer_.get(), size, at);
    if (count < 0) return {.error = errno};
    if (hash != nullptr) hash->update({buffer_.get(), static_cast<std::size_t>(count)});
    const auto got = static_cast<std::uint64_t>(count);
    if (!write_all(range.to, buffer_.get(), got, at)) return {.error = errno, .writing = true};
    moved_->fetch_add(got, std::memory_order_relaxed);
    if (got < size) return {.cut = true, .end = at + got};
    at += got;
  }
  return {};
}

Moved FileCopier::move_data(const ByteRange& range) {
  std::uint64_t at = range.begin;
  while (at < range.end) {
    std::optional<StorageCall> call(std::in_place, waiting_, CopySide::kSource);
    const std::uint64_t begin = next_data(range.from, at, range.end);
    moved_->fetch_add(begin - at, std::memory_order_relaxed);
    const off_t hole = ::lseek(range.from, static_cast<off_t>(begin), SEEK_HOLE);
    call.reset();
    at = hole < 0 ? range.end : std::clamp(static_cast<std::uint64_t>(hole), begin, range.end);
    const Moved moved = move({range.from, range.to, begin, at}, nullptr);
    if (!moved.whole()) return moved;
  }
  return {};
}

Moved FileCopier::compare(const ByteRange& range, base::ContentHash* hash, bool& same) {
  if (other_ == nullptr) other_ = make_buffer();
  same = true;
  std::uint64_t looked = 0;  // where the search for holes begins
  for (std::uint64_t at = range.begin; at < range.end;) {
    if (hash == nullptr && at >= looked) {
      const StorageCall call(waiting_, CopySide::kBoth);
      at = std::min(next_data(range.from, at, range.end), next_data(range.to, at, range.end));
      looked = at + kAtOnce;
      if (at == range.end) break;
    }
    const std::uint64_t size = std::min(kBuffer, range.end - at);
    const ssize_t count = read_from(CopySide::kSource, range.from, buffer_.get(), size, at);
    if (count < 0) return {.error = errno};
    const auto got = static_cast<std::uint64_t>(count);
    if (got < size) return {.cut = true, .end = at + got};
    if (hash != nullptr) hash->update({buffer_.get(), got});
    const ssize_t there = read_from(CopySide::kCopy, range.to, other_.get(), size, at);
    if (there < 0) return {.error = errno, .writing = true};
    if (there != count || std::memcmp(buffer_.get(), other_.get(), got) != 0) {
      same = false;
      return {};
    }
    at += got;
  }
  return {};
}

Moved FileCopier::compare_with_zeros(const ByteRange& range, bool& same) {
  same = true;
  for (std::uint64_t at = next_data(range.to, range.begin, range.end); at < range.end && same;) {
    const std::uint64_t size = std::min(kBuffer, range.end - at);
    const ssize_t count = read_from(CopySide::kCopy, range.to, buffer_.get(), size, at);
    if (count < 0) return {.error = errno, .writing = true};
    const std::string_view bytes(buffer_.get(), static_cast<std::size_t>(count));
    same = count > 0 && bytes.find_first_not_of('\0') == std::string_view::npos;
    at = next_data(range.to, at + bytes.size(), range.end);
  }
  return {};
}

Moved FileCopier::read_back(const ByteRange& range, base::ContentHash& hash) {
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t size = std::min(kBuffer, range.end - at);
    const ssize_t count = read_from(CopySide::kCopy, range.to, buffer_.get(), size, at);
    if (count < 0) return {.error = errno, .writing = true};
    if (count == 0) break;  // the file is shorter now, so the hash differs
    hash.update({buffer_.get(), static_cast<std::size_t>(count)});
    at += static_cast<std::uint64_t>(count);
  }
  return {};
}

bool FileCopier::clone(int from, int to) {
  if (!may_clone_) return false;
  may_clone_ = ::ioctl(to, FICLONE, from) == 0;
  return may_clone_;
}

}  // namespace copy
