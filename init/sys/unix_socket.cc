#include "init/sys/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "init/sys/path_state.h"

namespace sys {
namespace {

// Calls bind(2) or connect(2) for a path.
bool at_path(int (*call)(int, const sockaddr*, socklen_t), const Fd& fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return call(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Fd socket_for(const std::string& path, int type) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    errno = ENAMETOOLONG;
    return Fd();
  }
  return Fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
}

}  // namespace

Fd listen_at(const std::string& path, int type, int backlog) {
  Fd fd = socket_for(path, type | SOCK_NONBLOCK);
  if (!fd.valid()) return fd;
  // Binds under another name first: a client that waits for the path must not find a socket that
  // does not listen yet.
  std::string unready = path;
  unready.back() = '~';
  ::unlink(unready.c_str());  // a killed process may have left it
  if (at_path(::bind, fd, unready) && ::chmod(unready.c_str(), 0600) == 0 &&
      ::listen(fd.get(), backlog) == 0 && ::rename(unready.c_str(), path.c_str()) == 0) {
    return fd;
  }
  const int error = errno;
  ::unlink(unready.c_str());
  fd.reset();
  errno = error;
  return fd;
}

Fd connect_to(const std::string& path, int type, int timeout_ms) {
  constexpr std::int64_t kMsPerSecond = 1000;  // also the number of microseconds in a millisecond
  Fd fd = socket_for(path, type);
  if (!fd.valid()) return fd;
  const timeval limit{timeout_ms / kMsPerSecond, timeout_ms % kMsPerSecond * kMsPerSecond};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (at_path(::connect, fd, path)) return fd;
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

base::Error socket_error(std::string what, std::string path, int error, std::string fix) {
  if (error == ENAMETOOLONG) {
    return {std::move(what), std::move(path), "a path longer than 107 bytes",
            "set TRAINIT_RUN_DIR to a shorter one"};
  }
  return {std::move(what), std::move(path), errno_text(error), std::move(fix)};
}

}  // namespace sys
