#pragma once
// Texts that a peer needs: the configuration of sshd, the environment of a session, the command
// that calls another peer. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace sshd {

// The files in the directory of a peer, the sshd of a node.
struct Paths {
  explicit Paths(const std::string& directory);

  std::string directory;
  std::string lock;      // lock that serve holds
  std::string socket;    // socket by which sessions reach serve (channel.h)
  std::string config;    // sshd_config
  std::string host_key;  // host key of this node
  std::string key;       // copy of --key with mode 0600, because the ssh client refuses a wider one
  std::string authorized_keys;  // keys that may log in
  std::string environment;      // environment of the sessions, NUL separated
};

// Returns the word as a POSIX shell must read it, in quotes if it needs them.
std::string shell_word(std::string_view word);

// Returns the configuration of sshd: login only by keys, and every session runs `program peer
// session`. Fails for paths that a line of sshd_config cannot contain.
base::Result<std::string> sshd_config(const Paths& paths, int port, const std::string& program);

// Returns the environment for all sessions: `own`, that of serve, without variables of a single
// process.
std::string to_environment_file(const base::Environ& own);

// Returns the environment of one session: the variables in `file`, which to_environment_file()
// made, and those about the login from `own`, the environment that sshd gave.
base::Environ session_environ(std::string_view file, const base::Environ& own);

// Returns the environment for ssh, sshd and ssh-keygen, without the library paths of the job: with
// conda's libcrypto these programs fail ("OpenSSL version mismatch").
base::Environ tool_environ(const base::Environ& own);

// Returns the command of an ssh client that runs `command` on `host` or fails within `timeout_s`.
// The client never asks for input.
std::vector<std::string> client_argv(int port, const std::string& key, int timeout_s,
                                     const std::string& host, const std::string& command);

// Returns the hosts in a file: the first word of each line, without '#' comments.
std::vector<std::string> parse_hosts(std::string_view text);

}  // namespace sshd
