#pragma once
// The TCP sockets of the link: functions to listen and to connect without blocking.

#include <sys/socket.h>

#include <string>

#include "init/sys/fd.h"

namespace engine {

// Listens at all addresses of this node, of IPv6 and IPv4 if the kernel has both. Returns 0, or an
// errno.
int listen_at(int port, sys::Fd& listener);

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;  // 0: not an address
};
SocketAddress socket_address(const std::string& text, int port);
std::string address_text(const SocketAddress& address);  // excludes the port
SocketAddress peer_address(int fd);

// Begins a connection, which may be complete at once. If it fails, returns an invalid descriptor
// and sets `error` to an errno.
sys::Fd begin_connect(const SocketAddress& address, int& error);
// Returns 0 if the connection is complete, otherwise an errno. A connection to a free ephemeral
// port can connect to itself, and would then hold the port that it looks for. In that case returns
// ECONNREFUSED.
int end_connect(int fd);

// Raises the soft limit of descriptors, usually 1024, to the hard limit: node 0 needs one for each
// node.
void raise_descriptor_limit();

}  // namespace engine
