#pragma once
// The sockets of the link, as the kernel has them: to listen at, and to connect with.

#include <sys/socket.h>

#include <string>

#include "init/sys/fd.h"

namespace engine {

// At all addresses of this node, of both families where the kernel has both. 0, or an errno.
int listen_at(int port, sys::Fd& listener);

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;  // 0: it is none
};
SocketAddress socket_address(const std::string& text, int port);
std::string address_text(const SocketAddress& address);  // without its port
SocketAddress peer_address(int fd);

// A connection that is under way, or is there already. Not valid: `error` says why.
sys::Fd begin_connect(const SocketAddress& address, int& error);
// 0: it is there. A connection to a free port in the range of ephemeral ones may meet itself, and
// would then hold the port that it looks for: that is one that was refused.
int end_connect(int fd);

// Each node keeps a connection, and a soft limit of 1024 is usual.
void raise_descriptor_limit();

}  // namespace engine
