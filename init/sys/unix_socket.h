#pragma once
// Unix domain sockets that have a path, of at most 107 bytes (unix(7)).

#include <string>

#include "base/result.h"
#include "init/sys/fd.h"

namespace sys {

// Creates a non-blocking socket of `type` (SOCK_STREAM, SOCK_SEQPACKET) with mode 0600 that listens
// at `path`. It replaces what is at `path`. While `path` exists, connect(2) to it succeeds: until
// the socket listens, it has the name of `path` with '~' as its last byte. So two paths in one
// directory must not differ in that byte alone. Returns an invalid Fd on failure, with errno.
// ENAMETOOLONG: `path` is too long.
Fd listen_at(const std::string& path, int type, int backlog);

// Connects a new blocking socket to `path`. connect(2), which waits while the backlog is full, and
// each send(2) end with EAGAIN after `timeout_ms`. Returns an invalid Fd on failure, with errno.
Fd connect_to(const std::string& path, int type, int timeout_ms);

// Returns the error for an errno of listen_at() or connect_to(). Its advice is `fix`, unless the
// path is too long.
base::Error socket_error(std::string what, std::string path, int error, std::string fix);

}  // namespace sys
