#include "init/engine/data/data_messages.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/printed_text.h"
#include "base/wire.h"
#include "init/engine/state/failure.h"

namespace engine {
namespace {

constexpr std::size_t kMaxTextBytes = 4096;

union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

sys::Fd take_descriptor(msghdr& envelope) {
  sys::Fd taken;
  for (cmsghdr* one = CMSG_FIRSTHDR(&envelope); one != nullptr; one = CMSG_NXTHDR(&envelope, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(one), sizeof fd);
    taken.reset(fd);
  }
  return taken;
}

}  // namespace

std::string encode_data_message(const DataMessage& message) {
  DataMessage sent = message;
  for (std::string* text : {&sent.path, &sent.text}) {
    text->resize(base::cut_text(*text, kMaxTextBytes).size());
  }
  return base::to_wire(sent);
}

std::optional<DataMessage> decode_data_message(std::string_view packet) {
  auto message = base::from_wire<DataMessage>(packet);
  if (message && message->path.find('\0') != std::string::npos) message.reset();
  return message;
}

std::optional<DataSocket> make_data_socket() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::nullopt;
  }
  return DataSocket{sys::Fd(ends[0]), sys::Fd(ends[1])};
}

void send_data_message(int socket, const DataMessage& message, int lease) {
  std::string packet = encode_data_message(message);
  iovec part{packet.data(), packet.size()};
  Control control{};
  msghdr envelope{};
  envelope.msg_iov = &part;
  envelope.msg_iovlen = 1;
  if (lease >= 0) {
    envelope.msg_control = control.bytes.data();
    envelope.msg_controllen = control.bytes.size();
    cmsghdr* header = CMSG_FIRSTHDR(&envelope);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof lease);
    std::memcpy(CMSG_DATA(header), &lease, sizeof lease);
  }
  const int may_wait = message.kind == DataMessage::Kind::kProgress ? MSG_DONTWAIT : 0;
  while (::sendmsg(socket, &envelope, MSG_NOSIGNAL | may_wait) < 0 && errno == EINTR) {
  }
}

ReceivedData receive_data_message(int socket) {
  std::array<char, kMaxPacketBytes> room;
  iovec part{room.data(), room.size()};
  Control control{};
  msghdr envelope{};
  envelope.msg_iov = &part;
  envelope.msg_iovlen = 1;
  envelope.msg_control = control.bytes.data();
  envelope.msg_controllen = control.bytes.size();
  ReceivedData received;
  const ssize_t size = ::recvmsg(socket, &envelope, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) {
    received.damaged = errno != EAGAIN && errno != EINTR;
    return received;
  }
  received.lease = take_descriptor(envelope);
  if ((envelope.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
    received.message = decode_data_message({room.data(), static_cast<std::size_t>(size)});
  }
  received.damaged = !received.message;  // also true if the child has closed its end
  return received;
}

}  // namespace engine
