#include "init/sys/nonblocking_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <tuple>

namespace sys {
namespace {

// Maximum size of one splice, which the intermediate pipe can hold on any kernel.
constexpr std::size_t kMaxSpliced = 4096;

}  // namespace

NonblockingWriter::NonblockingWriter(int standard_fd) {
  struct stat status{};
  const int flags = ::fcntl(standard_fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0 ||
      ::fstat(standard_fd, &status) != 0) {
    return;
  }
  const mode_t type = status.st_mode & S_IFMT;
  if (type == S_IFIFO || type == S_IFCHR) {
    open_stream(standard_fd, type, status.st_rdev);
  } else {
    fd_.reset(::fcntl(standard_fd, F_DUPFD_CLOEXEC, 3));
    way_ = type == S_IFREG ? Way::kWrite : type == S_IFSOCK ? Way::kSend : Way::kPoll;
  }
  if (!fd_.valid()) way_ = Way::kNone;
}

void NonblockingWriter::open_stream(int standard_fd, mode_t type, dev_t device) {
  // The master of a pseudo-terminal cannot be opened again, because that would make a new terminal.
  const bool master = type == S_IFCHR && device == makedev(5, 2);
  if (!master) {
    const std::string path = "/proc/self/fd/" + std::to_string(standard_fd);
    fd_.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    way_ = Way::kWrite;
    takes_pages_ = fd_.valid() && type == S_IFIFO;
    if (fd_.valid()) return;
  }
  fd_.reset(::fcntl(standard_fd, F_DUPFD_CLOEXEC, 3));
  way_ = Way::kPoll;
  // Writes through a pipe of its own. The open file is shared and may block, and after poll() a
  // rank could fill the pipe first. A splice from a private pipe can be non-blocking for a single
  // call.
  std::array<int, 2> ends{-1, -1};
  if (type != S_IFIFO || ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  splice_in_.reset(ends[1]);
  splice_out_.reset(ends[0]);
  way_ = Way::kSplice;
}

ssize_t NonblockingWriter::splice_some(std::string_view bytes) {
  bytes = bytes.substr(0, kMaxSpliced);
  if (::write(splice_in_.get(), bytes.data(), bytes.size()) < 0) return -1;
  const ssize_t count =
      ::splice(splice_out_.get(), nullptr, fd_.get(), nullptr, bytes.size(), SPLICE_F_NONBLOCK);
  const int error = errno;
  if (count < static_cast<ssize_t>(bytes.size())) {
    std::array<char, kMaxSpliced> unsent{};
    std::ignore = ::read(splice_out_.get(), unsent.data(), unsent.size());
    if (count < 0 && (error == EINVAL || error == ENOSYS)) way_ = Way::kPoll;
  }
  errno = error;
  return count;
}

std::optional<std::size_t> NonblockingWriter::unread() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return std::nullopt;
  int bytes = 0;
  const unsigned long question = S_ISFIFO(status.st_mode) ? FIONREAD : TIOCOUTQ;
  if (::ioctl(fd_.get(), question, &bytes) != 0 || bytes < 0) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

ssize_t NonblockingWriter::write_once(std::string_view bytes) {
  switch (way_) {
    case Way::kNone:
      errno = EBADF;
      return -1;
    case Way::kWrite:
      return ::write(fd_.get(), bytes.data(), bytes.size());
    case Way::kSend:
      return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Way::kSplice:
      return splice_some(bytes);
    case Way::kPoll: {
      pollfd ready{fd_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) {
        errno = EAGAIN;
        return -1;
      }
      // Limits the write, because a longer one could block half-way.
      bytes = bytes.substr(0, kMaxSpliced);
      return ::write(fd_.get(), bytes.data(), bytes.size());
    }
  }
  return -1;
}

// Runs `call` with SIGPIPE blocked. In a worker, SIGPIPE is as the caller left it, and the worker
// must not die when the reader closes.
template <class Call>
ssize_t NonblockingWriter::without_sigpipe(const Call& call) {
  sigset_t pipe_signal;
  sigset_t before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::sigprocmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t count = 0;
  do {
    count = call();
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  if (::sigismember(&before, SIGPIPE) == 0) {
    constexpr timespec kNow{0, 0};
    if (count < 0 && error == EPIPE) ::sigtimedwait(&pipe_signal, nullptr, &kNow);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  errno = error;
  return count;
}

ssize_t NonblockingWriter::write(std::string_view bytes) {
  return without_sigpipe([&] { return write_once(bytes); });
}

ssize_t NonblockingWriter::tee(int pipe, std::size_t most) {
  errno = EINVAL;
  if (!takes_pages_) return -1;
  const ssize_t count =
      without_sigpipe([&] { return ::tee(pipe, fd_.get(), most, SPLICE_F_NONBLOCK); });
  // tee(2) cannot be used: `pipe` is not a pipe, or a seccomp filter refuses the call.
  if (count < 0 && errno != EAGAIN && errno != EPIPE) takes_pages_ = false;
  return count;
}

}  // namespace sys
