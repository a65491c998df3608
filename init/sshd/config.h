#pragma once
// The texts of a peer: the configuration of sshd, the environment of a session, the command that
// calls a peer. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace sshd {

// The files in the directory of a peer.
struct Paths {
  explicit Paths(const std::string& directory);

  std::string directory;
  std::string lock;             // held by serve
  std::string socket;           // socket by which sessions reach serve (channel.h)
  std::string config;           // sshd_config
  std::string host_key;         // host key of this node
  std::string key;              // 0600 copy of --key: the ssh client refuses a wider mode
  std::string authorized_keys;  // keys that may log in
  std::string environment;      // environment of the sessions, NUL separated
};

// Returns the word for a POSIX shell, in quotes if it needs them.
std::string shell_word(std::string_view word);

// Returns sshd's configuration: login by keys only, and every session through `program peer
// session`. Fails for paths that a line of sshd_config cannot hold.
base::Result<std::string> sshd_config(const Paths& paths, int port, const std::string& program);

// Returns the environment for all sessions: that of serve, without what belongs to one process.
std::string to_environment_file(const base::Environ& own);

// Returns the environment of one session: `file` as saved, and from `own` (sshd's) the variables
// about the login.
base::Environ session_environ(std::string_view file, const base::Environ& own);

// Returns the environment of ssh, sshd and ssh-keygen, without the job's libraries. The libcrypto
// of conda is not the one that these programs were built for ("OpenSSL version mismatch").
base::Environ tool_environ(const base::Environ& own);

// Returns the command of an ssh client that runs `command` on `host` or fails within `timeout_s`.
// The client never asks for input.
std::vector<std::string> client_argv(int port, const std::string& key, int timeout_s,
                                     const std::string& host, const std::string& command);

// Returns the hosts in a file, one a line, without '#' comments and what follows the name.
std::vector<std::string> parse_hosts(std::string_view text);

}  // namespace sshd
