#include "init/sshd/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/exit_codes.h"
#include "init/sys/unix_socket.h"

namespace sshd {
namespace {

constexpr std::uint32_t kMagic = 0x31524550;  // "PER1"
constexpr std::size_t kMaxConnections = 64;   // further ones wait in the backlog
constexpr int kBacklog = 4096;

struct Record {
  std::uint32_t magic = kMagic;
  std::uint32_t op = 0;  // for a request its Op; for an answer 1 if the request was accepted
  std::int32_t argument = 0;
};

}  // namespace

base::Result<Channel> Channel::open(const std::string& path) {
  Channel channel;
  channel.listener_ = sys::listen_at(path, SOCK_SEQPACKET, kBacklog);
  if (!channel.listener_.valid()) {
    return std::unexpected(
        sys::socket_error("opening the socket for sessions", path, errno,
                          "make the directory writable, or choose another run directory"));
  }
  return channel;
}

std::vector<int> Channel::descriptors() const {
  const bool takes = !starved_ && connections_.size() < kMaxConnections;
  std::vector<int> list = {takes ? listener_.get() : -1};
  for (const sys::Fd& connection : connections_) list.push_back(connection.get());
  return list;
}

std::vector<Channel::Asked> Channel::read_requests() {
  while (connections_.size() < kMaxConnections) {
    sys::Fd next(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    starved_ = !next.valid() && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    if (!next.valid()) break;
    connections_.push_back(std::move(next));
  }
  std::vector<Asked> asked;
  std::vector<int> numbers;
  numbers.reserve(connections_.size());
  for (const sys::Fd& connection : connections_) numbers.push_back(connection.get());
  for (const int number : numbers) {
    if (const auto one = read_one(number)) asked.push_back(*one);
  }
  return asked;
}

std::optional<Channel::Asked> Channel::read_one(int connection) {
  Record record;
  char bytes[sizeof record + 1];
  const ssize_t size = ::recv(connection, bytes, sizeof bytes, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  ucred peer = {};
  socklen_t peer_size = sizeof peer;
  const bool known = ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 &&
                     (peer.uid == 0 || peer.uid == ::geteuid());
  if (size == static_cast<ssize_t>(sizeof record)) std::memcpy(&record, bytes, sizeof record);
  const bool whole = size == static_cast<ssize_t>(sizeof record) && record.magic == kMagic;
  const bool sane = record.op >= static_cast<std::uint32_t>(Op::kPing) &&
                    record.op <= static_cast<std::uint32_t>(Op::kLauncher) &&
                    record.argument >= 0 && record.argument <= exit_code::kMax;
  if (size > 0 && known && whole && sane) {
    return Asked{{static_cast<Op>(record.op), record.argument, peer.pid}, connection};
  }
  if (size > 0) {
    answer(connection, false);
  } else {
    drop(connection);
  }
  return std::nullopt;
}

void Channel::answer(int connection, bool accepted) {
  Record record;
  record.op = accepted ? 1 : 0;
  std::ignore = ::send(connection, &record, sizeof record, MSG_DONTWAIT | MSG_NOSIGNAL);
  drop(connection);
}

void Channel::drop(int connection) {
  std::erase_if(connections_, [connection](const sys::Fd& fd) { return fd.get() == connection; });
}

base::Result<bool> ask(const std::string& path, Op op, int argument, int timeout_ms) {
  constexpr int kMsPerS = 1000;
  constexpr suseconds_t kUsPerMs = 1000;
  const auto failed = [&path](int error) {
    return std::unexpected(sys::socket_error("reaching this node's peer serve", path, error,
                                             "it has ended, or it runs as another user"));
  };
  const sys::Fd fd = sys::connect_to(path, SOCK_SEQPACKET, timeout_ms);
  if (!fd.valid()) return failed(errno);
  const timeval limit{timeout_ms / kMsPerS, timeout_ms % kMsPerS * kUsPerMs};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  Record record;
  record.op = static_cast<std::uint32_t>(op);
  record.argument = argument;
  if (::send(fd.get(), &record, sizeof record, MSG_NOSIGNAL) < 0) return failed(errno);
  ssize_t size = 0;
  do {
    size = ::recv(fd.get(), &record, sizeof record, 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return failed(errno == EAGAIN ? ETIMEDOUT : errno);
  if (size != static_cast<ssize_t>(sizeof record)) return failed(ECONNRESET);
  return record.op == 1;
}

}  // namespace sshd
