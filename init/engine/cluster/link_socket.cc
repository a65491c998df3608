#include "init/engine/cluster/link_socket.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace engine {
namespace {

bool is_own_reflection(int fd) {
  sockaddr_storage own{};
  socklen_t own_size = sizeof own;
  const SocketAddress peer = peer_address(fd);
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         own_size == peer.size && std::memcmp(&own, &peer.bytes, own_size) == 0;
}

}  // namespace

int listen_at(int port, sys::Fd& listener) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    sys::Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = errno;
    if (!socket.valid()) continue;
    const int on = 1;
    const int off = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 v6{};
    sockaddr_in v4{};
    v6.sin6_family = AF_INET6;
    v4.sin_family = AF_INET;
    v6.sin6_port = v4.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool is_v6 = family == AF_INET6;
    if (is_v6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const auto* address =
        is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
    const socklen_t size = is_v6 ? sizeof v6 : sizeof v4;
    // Two sockets with SO_REUSEADDR can be bound to one port; only listen() refuses the second one.
    // So bind() alone does not show that the port is free.
    if (::bind(socket.get(), address, size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0) {
      listener = std::move(socket);
      return 0;
    }
    error = errno;
    if (error == EADDRINUSE || error == EACCES) return error;
  }
  return error;
}

SocketAddress socket_address(const std::string& text, int port) {
  SocketAddress address;
  const auto number = htons(static_cast<std::uint16_t>(port));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = number;
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    std::memcpy(&address.bytes, &v4, sizeof v4);
    address.size = sizeof v4;
    return address;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = number;
  const std::size_t zone = text.find('%');
  if (zone != std::string::npos) v6.sin6_scope_id = ::if_nametoindex(text.c_str() + zone + 1);
  if (::inet_pton(AF_INET6, text.substr(0, zone).c_str(), &v6.sin6_addr) == 1) {
    std::memcpy(&address.bytes, &v6, sizeof v6);
    address.size = sizeof v6;
  }
  return address;
}

std::string address_text(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.bytes.ss_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in&>(address.bytes).sin_addr;
  } else if (address.bytes.ss_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6&>(address.bytes).sin6_addr;
  }
  if (address.size == 0 || bytes == nullptr) return "an unknown address";
  ::inet_ntop(address.bytes.ss_family, bytes, text.data(), text.size());
  const std::string plain = text.data();
  constexpr const char* kMapped = "::ffff:";  // prefix of an IPv4 address at an IPv6 listener
  return plain.starts_with(kMapped) && plain.contains('.') ? plain.substr(plain.rfind(':') + 1)
                                                           : plain;
}

SocketAddress peer_address(int fd) {
  SocketAddress address;
  address.size = sizeof address.bytes;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address.bytes), &address.size) != 0) {
    address.size = 0;
  }
  return address;
}

sys::Fd begin_connect(const SocketAddress& address, int& error) {
  error = EAFNOSUPPORT;
  if (address.size == 0) return {};
  sys::Fd socket(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* name = reinterpret_cast<const sockaddr*>(&address.bytes);
  error = socket.valid() && ::connect(socket.get(), name, address.size) == 0 ? 0 : errno;
  if (error != 0 && error != EINPROGRESS) return {};
  error = 0;
  return socket;
}

int end_connect(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error == 0 && is_own_reflection(fd) ? ECONNREFUSED : error;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace engine
