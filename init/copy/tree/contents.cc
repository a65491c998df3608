#include "init/copy/tree/contents.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

namespace copy {
namespace {

constexpr std::uint64_t kBuffer = 256ULL << 10U;     // bytes: it stays in a core's cache
constexpr std::uint64_t kWorthKernel = 1ULL << 20U;  // less goes faster through the buffer
constexpr std::uint64_t kAtOnce = 8ULL << 20U;  // bytes of one call, after which progress is seen

// -1 with errno, or how much there was.
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

FileCopier::FileCopier(std::atomic<std::uint64_t>& moved)
    : buffer_(make_buffer()), moved_(&moved) {}

void FileCopier::Unmap::operator()(char* buffer) const { ::munmap(buffer, kBuffer); }

FileCopier::Buffer FileCopier::make_buffer() {
  void* memory =
      ::mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return Buffer(static_cast<char*>(memory));
}

std::uint64_t FileCopier::move_in_kernel(const ByteRange& range) {
  std::uint64_t at = range.begin;
  if (range.end - at < kWorthKernel) return at;
  while (kernel_moves_ && at < range.end) {
    auto from = static_cast<off_t>(at);
    off_t to = from;
    const std::uint64_t size = std::min(kAtOnce, range.end - at);
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

Moved FileCopier::move(const ByteRange& range, envgen::ContentHash* hash) {
  for (std::uint64_t at = hash == nullptr ? move_in_kernel(range) : range.begin; at < range.end;) {
    const std::uint64_t size = std::min(kBuffer, range.end - at);
    const ssize_t count = read_all(range.from, buffer_.get(), size, at);
    if (count < 0) return {.error = errno};
    if (hash != nullptr) hash->update({buffer_.get(), static_cast<std::size_t>(count)});
    const auto got = static_cast<std::uint64_t>(count);
    if (!write_all(range.to, buffer_.get(), got, at)) return {.error = errno, .writing = true};
    moved_->fetch_add(got, std::memory_order_relaxed);
    if (got < size) return {.cut = true};
    at += got;
  }
  return {};
}

Moved FileCopier::move_data(const ByteRange& range) {
  std::uint64_t at = range.begin;
  while (at < range.end) {
    const off_t data = ::lseek(range.from, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    // It knows nothing of holes: all is data.
    if (data < 0) return move({range.from, range.to, at, range.end}, nullptr);
    const off_t hole = ::lseek(range.from, data, SEEK_HOLE);
    const std::uint64_t end = std::min(static_cast<std::uint64_t>(hole), range.end);
    if (hole < 0) return move({range.from, range.to, at, range.end}, nullptr);
    const auto begin = std::min(static_cast<std::uint64_t>(data), range.end);
    moved_->fetch_add(begin - at, std::memory_order_relaxed);
    const Moved moved = move({range.from, range.to, begin, end}, nullptr);
    if (!moved.whole()) return moved;
    at = std::max(end, begin);
  }
  if (at < range.end) moved_->fetch_add(range.end - at, std::memory_order_relaxed);
  return {};
}

Moved FileCopier::compare(const ByteRange& range, envgen::ContentHash& hash, bool& same) {
  if (other_ == nullptr) other_ = make_buffer();
  same = true;
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t size = std::min(kBuffer, range.end - at);
    const ssize_t count = read_all(range.from, buffer_.get(), size, at);
    if (count < 0) return {.error = errno};
    const auto got = static_cast<std::uint64_t>(count);
    if (got < size) return {.cut = true};
    hash.update({buffer_.get(), got});
    const ssize_t there = read_all(range.to, other_.get(), size, at);
    if (there < 0) return {.error = errno, .writing = true};
    if (there != count || std::memcmp(buffer_.get(), other_.get(), got) != 0) {
      same = false;
      return {};
    }
    at += got;
  }
  return {};
}

Moved FileCopier::read_back(const ByteRange& range, envgen::ContentHash& hash) {
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t size = std::min(kBuffer, range.end - at);
    const ssize_t count = read_all(range.to, buffer_.get(), size, at);
    if (count < 0) return {.error = errno, .writing = true};
    if (count == 0) break;  // shorter: the hash says it
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
