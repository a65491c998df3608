#include "init/engine/cluster/link_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace engine {
namespace {

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

// The kernel's time-out (TCP_USER_TIMEOUT) closes the connection, and a closed connection counts as
// a loss sooner than silence does. So it must come later than `timeout_ms`. It is needed for a node
// that was switched off and whose place no other node took.
LinkConnection::LinkConnection(sys::Fd socket, std::int64_t timeout_ms)
    : socket_(std::move(socket)) {
  constexpr std::int64_t kLaterMs = 30'000;
  constexpr std::int64_t kMaxMs = 24L * 3600 * 1000;
  const std::int64_t unanswered_ms = std::min(2 * timeout_ms + kLaterMs, kMaxMs);
  set(fd(), IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unanswered_ms));
}

void LinkConnection::begin_session(const LinkSession& session) {
  session_ = session;
  in_session_ = true;
}

bool LinkConnection::receive() {
  std::array<char, kMaxLinkPayload> part;
  const std::size_t most = in_session_ ? part.size() : kMaxStrangersPayload;
  ssize_t count = 0;
  do {
    count = ::recv(fd(), part.data(), most, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return would_block(errno);
  if (count == 0) return false;
  received_.append(part.data(), static_cast<std::size_t>(count));
  return true;
}

LinkConnection::Next LinkConnection::next(LinkFrame& frame) {
  received_.erase(0, std::exchange(taken_, 0));
  if (received_.empty()) {
    if (received_.capacity() > kMaxStrangersPayload)
      std::string().swap(received_);  // frees the memory, which an assignment would keep
    return Next::kNone;
  }
  const std::uint32_t most = in_session_ ? kMaxLinkPayload : kMaxStrangersPayload;
  switch (take_link_frame(received_, most, frame, taken_)) {
    case LinkTaken::kIncomplete:
      taken_ = 0;
      return Next::kNone;
    case LinkTaken::kDamaged:
      return Next::kStranger;
    case LinkTaken::kFrame:
      break;
  }
  return !in_session_ || session_.opens(frame) ? Next::kFrame : Next::kStranger;
}

bool LinkConnection::send(LinkFrame::Kind kind, std::string_view payload) {
  return send_tagged(kind, payload, in_session_ ? session_.seal(kind, payload) : LinkFrame::Tag{});
}

bool LinkConnection::send_tagged(LinkFrame::Kind kind, std::string_view payload,
                                 const LinkFrame::Tag& tag) {
  unsent_ += link_frame(kind, payload, tag);
  return flush();
}

bool LinkConnection::flush() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t count =
        ::send(fd(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && would_block(errno)) break;
    if (count < 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  unsent_.erase(0, sent);
  if (unsent_.empty()) std::string().swap(unsent_);
  return true;
}

void LinkConnection::end_sending() { ::shutdown(fd(), SHUT_WR); }

void LinkConnection::abort() {
  if (!open()) return;
  const linger at_once{1, 0};
  ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

}  // namespace engine
