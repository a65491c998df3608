#pragma once
// A file descriptor with one owner. Every descriptor that trainit opens is O_CLOEXEC, so a
// descriptor without CLOEXEC was passed in by the caller.

#include <dirent.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sys {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct DirCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
// A directory that is being read; its descriptor is O_CLOEXEC.
using Dir = std::unique_ptr<DIR, DirCloser>;

// Returns true if `fd` has one of `events` of poll(2), an error, or its end at this moment.
bool is_ready(int fd, short events);
// Blocks until is_ready(), at most until `until_ms` of the monotonic clock. A signal does not end
// it. Returns false when the time is over, even if `fd` is ready by then.
bool await_ready(int fd, short events, std::int64_t until_ms);

// Opens /dev/null on each of 0, 1 and 2 that is closed. Call it before any file is opened:
// otherwise a file would get that number, and a task's output would go into it. A task then has
// /dev/null instead of a closed descriptor.
void ensure_standard_fds();

// Returns the open descriptors from `first` on, in any order. If trainit has not opened a file yet,
// these are the ones that the caller passed in.
std::vector<int> open_descriptors(int first);

// Closes the descriptors that the caller passed in (those without close-on-exec). 0, 1 and 2, and
// trainit's own descriptors for the same files, become /dev/null. For a forked child that may hang
// in the kernel: otherwise a reader of these files would wait for its end.
void leave_callers_descriptors();

// Closes every descriptor from `first` on, except those in `keep`. Uses close_range. If that fails
// (before Linux 5.9, or refused by seccomp), uses the list in /proc. If /proc is missing too,
// closes all numbers up to 65536.
void close_descriptors(int first, std::span<const int> keep);

}  // namespace sys
