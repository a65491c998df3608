#pragma once
// A file descriptor with one owner. Every descriptor of ours is O_CLOEXEC; what a caller passed in
// through exec has no CLOEXEC, and by that the two are told apart.

#include <dirent.h>
#include <unistd.h>

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

// Opens /dev/null on each of 0, 1 and 2 that is closed, before anything else is opened: the next
// file of ours would become it, and a task's output would go into that file. A task then sees
// /dev/null there instead of a closed descriptor.
void ensure_standard_fds();

// The open descriptors from `first` on, in any order. Before anything of ours is open these are
// what the caller passed in.
std::vector<int> open_descriptors(int first);

// For a forked child that may hang in the kernel: it keeps nothing that the caller passed in (what
// is not close-on-exec), nor a second way to where 0, 1 and 2 lead to, so that nobody who reads
// there waits for its end. /dev/null takes their places.
void leave_callers_descriptors();

// Closes every descriptor from `first` on but those in `keep`. Without close_range (before Linux
// 5.9, or where seccomp refuses it) it goes by /proc, without /proc by number, up to 65536.
void close_descriptors(int first, std::span<const int> keep);

}  // namespace sys
