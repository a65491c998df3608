#pragma once
// A file descriptor with one owner. Every descriptor that trainit opens is O_CLOEXEC. A descriptor
// without CLOEXEC was passed in by the caller, through exec.

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

// Returns whether `fd` has one of `events` of poll(2), an error, or its end, now.
bool is_ready(int fd, short events);
// Blocks until is_ready(), at most until `until_ms` of the monotonic clock. Continues after
// signals. Returns false at the end of the time, even if `fd` is ready by then.
bool await_ready(int fd, short events, std::int64_t until_ms);

// Opens /dev/null on each of 0, 1 and 2 that is closed. Call it before any file is opened: that
// file would get the number, and a task's output would go into it. A task then sees /dev/null
// instead of a closed descriptor.
void ensure_standard_fds();

// Returns the open descriptors from `first` on, in any order. Before trainit opens a file, these
// are the ones that the caller passed in.
std::vector<int> open_descriptors(int first);

// Closes the descriptors that the caller passed in (without close-on-exec). /dev/null takes the
// places of 0, 1 and 2, and of trainit's own descriptors for the same files. A forked child that
// may hang in the kernel calls it, so that no reader of these files waits for the child's end.
void leave_callers_descriptors();

// Closes every descriptor from `first` on except those in `keep`. Uses close_range, or /proc
// without that (before Linux 5.9, or refused by seccomp). If /proc is missing too, closes by
// number, up to 65536.
void close_descriptors(int first, std::span<const int> keep);

}  // namespace sys
