#include "init/tee/source.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "init/sys/files.h"

namespace logtee {
namespace {

// Size of a pipe, which an unprivileged user may set. With a large pipe, the CPU switches less
// often between process and tee.
constexpr int kPipeBytes = 256 << 10;

// Opens the slave of a pseudo-terminal; by its number if the kernel, or gVisor, cannot open it
// through the master.
int open_slave(int master) {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  int locked = 0;
  if (::ioctl(master, TIOCSPTLCK, &locked) != 0) return -1;
#ifdef TIOCGPTPEER
  const int slave = ::ioctl(master, TIOCGPTPEER, kFlags);
  if (slave >= 0) return slave;
#endif
  unsigned number = 0;
  if (::ioctl(master, TIOCGPTN, &number) != 0) return -1;
  return ::open(("/dev/pts/" + std::to_string(number)).c_str(), kFlags);
}

}  // namespace

base::Result<Source> open_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail("starting the log tee", "pipe", sys::errno_text(errno),
                      "raise the limit on open files (ulimit -n)");
  }
  Source source{sys::Fd(ends[0]), sys::Fd(ends[1])};
  ::fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);  // a failure is ignored
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return source;
}

base::Result<Source> open_terminal(int like) {
  sys::Fd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  sys::Fd slave(master.valid() ? open_slave(master.get()) : -1);
  if (!slave.valid()) return open_pipe();
  termios settings{};
  if (::tcgetattr(like, &settings) == 0) {
    settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    ::tcsetattr(slave.get(), TCSANOW, &settings);
  }
  Source source{std::move(master), std::move(slave), true};
  resize(source.read_end.get(), like);
  return source;
}

bool resize(int master, int like) {
  winsize now{};
  winsize had{};
  if (::ioctl(like, TIOCGWINSZ, &now) != 0) return false;
  const bool same = ::ioctl(master, TIOCGWINSZ, &had) == 0 && had.ws_row == now.ws_row &&
                    had.ws_col == now.ws_col && had.ws_xpixel == now.ws_xpixel &&
                    had.ws_ypixel == now.ws_ypixel;
  return !same && ::ioctl(master, TIOCSWINSZ, &now) == 0;
}

bool same_file(int one, int other) {
  struct stat a{};
  struct stat b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

}  // namespace logtee
