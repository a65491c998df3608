#include "init/engine/data/data_news.h"

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

constexpr std::size_t kMostTextBytes = 4096;

union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

sys::Fd take_descriptor(msghdr& message) {
  sys::Fd taken;
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(one), sizeof fd);
    taken.reset(fd);
  }
  return taken;
}

}  // namespace

std::string encode_data_news(const DataNews& news) {
  DataNews sent = news;
  for (std::string* text : {&sent.path, &sent.text}) {
    text->resize(envgen::cut_text(*text, kMostTextBytes).size());
  }
  return envgen::to_wire(sent);
}

std::optional<DataNews> decode_data_news(std::string_view packet) {
  auto news = envgen::from_wire<DataNews>(packet);
  if (news && news->path.find('\0') != std::string::npos) news.reset();
  return news;
}

std::optional<DataSocket> make_data_socket() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::nullopt;
  }
  return DataSocket{sys::Fd(ends[0]), sys::Fd(ends[1])};
}

void send_data_news(int socket, const DataNews& news, int lease) {
  std::string packet = encode_data_news(news);
  iovec part{packet.data(), packet.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (lease >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof lease);
    std::memcpy(CMSG_DATA(header), &lease, sizeof lease);
  }
  const int may_wait = news.kind == DataNews::Kind::kProgress ? MSG_DONTWAIT : 0;
  while (::sendmsg(socket, &message, MSG_NOSIGNAL | may_wait) < 0 && errno == EINTR) {
  }
}

DataMail receive_data_news(int socket) {
  std::array<char, kMostPacketBytes> room;
  iovec part{room.data(), room.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  DataMail mail;
  const ssize_t size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) {
    mail.damaged = errno != EAGAIN && errno != EINTR;
    return mail;
  }
  mail.lease = take_descriptor(message);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
    mail.news = decode_data_news({room.data(), static_cast<std::size_t>(size)});
  }
  mail.damaged = !mail.news;  // also its end, which no packet has
  return mail;
}

}  // namespace engine
