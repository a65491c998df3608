#include "init/engine/data/data_news.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "init/engine/state/failure.h"

namespace engine {
namespace {

constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kMostTextBytes = 4096;
constexpr auto kKinds = static_cast<std::uint64_t>(DataNews::Kind::kMissing);

void put(std::string& out, std::uint64_t value) {
  for (std::size_t i = 0; i < kNumberBytes; ++i) out += static_cast<char>(value >> (8 * i));
}

void put_text(std::string& out, std::string_view text) {
  text = cut_text(text, kMostTextBytes);
  put(out, text.size());
  out += text;
}

// Takes values off the front; wrong from the first that is not there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view taken = take(kNumberBytes);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    }
    return value;
  }
  std::string text() { return std::string(take(number())); }
  [[nodiscard]] bool is_whole() const { return sound_ && bytes_.empty(); }

 private:
  std::string_view take(std::uint64_t size) {
    sound_ = sound_ && size <= bytes_.size();
    if (!sound_) return {};
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  bool sound_ = true;
};

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
  std::string packet;
  put(packet, static_cast<std::uint64_t>(news.kind));
  const DataProgress& progress = news.progress;
  for (const std::uint64_t value :
       {std::uint64_t{progress.phase}, std::uint64_t{progress.waiting}, progress.entries,
        progress.bytes, progress.total_entries, progress.total_bytes,
        static_cast<std::uint64_t>(news.exit_code)}) {
    put(packet, value);
  }
  put_text(packet, news.path);
  put_text(packet, news.text);
  return packet;
}

std::optional<DataNews> decode_data_news(std::string_view packet) {
  Reader in(packet);
  DataNews news;
  const std::uint64_t kind = in.number();
  news.kind = static_cast<DataNews::Kind>(kind);
  const std::uint64_t phase = in.number();
  const std::uint64_t waiting = in.number();
  DataProgress& progress = news.progress;
  progress.phase = static_cast<std::uint32_t>(phase);
  progress.waiting = waiting == 1;
  for (std::uint64_t* value :
       {&progress.entries, &progress.bytes, &progress.total_entries, &progress.total_bytes}) {
    *value = in.number();
  }
  const std::uint64_t exit_code = in.number();
  news.exit_code = static_cast<int>(exit_code);
  news.path = in.text();
  news.text = in.text();
  constexpr std::uint64_t kMostPhase = 255;
  constexpr std::uint64_t kMostCode = 255;
  const bool sane = kind >= 1 && kind <= kKinds && phase <= kMostPhase && waiting <= 1 &&
                    exit_code <= kMostCode && news.path.find('\0') == std::string::npos;
  if (!in.is_whole() || !sane) return std::nullopt;
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
