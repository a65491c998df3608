#pragma once
// Functions for the TCP sockets of the link, which listen and connect without blocking.

#include <sys/socket.h>

#include <string>

#include "init/sys/fd.h"

namespace engine {

// Listens on `port` at all addresses of this node, of IPv6 and IPv4 if the kernel has both. Sets
// `listener` and returns 0, or returns an errno.
int listen_at(int port, sys::Fd& listener);

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;  // 0: the text was no address
};
SocketAddress socket_address(const std::string& text, int port);
std::string address_text(const SocketAddress& address);  // returns the address without the port
SocketAddress peer_address(int fd);

// Begins to connect; the connection may be complete at once. If it fails, returns an invalid
// descriptor and sets `error` to an errno.
sys::Fd begin_connect(const SocketAddress& address, int& error);
// Returns 0 if the connection is complete, otherwise an errno. Returns ECONNREFUSED if the socket
// has connected to itself. That can happen at a free ephemeral port, which the socket would then
// occupy.
int end_connect(int fd);

// Raises the soft limit of open descriptors, usually 1024, to the hard limit. Node 0 needs one for
// each node.
void raise_descriptor_limit();

}  // namespace engine
