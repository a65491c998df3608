#pragma once
// The texts of a peer: what sshd is told, what a session starts with, how a peer is called. Pure.

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
  std::string socket;           // where sessions find serve (channel.h)
  std::string config;           // sshd_config
  std::string host_key;         // of this node
  std::string key;              // 0600 copy of --key: the ssh client refuses a wider mode
  std::string authorized_keys;  // what may log in besides ~/.ssh/authorized_keys
  std::string environment;      // of the sessions, NUL separated
};

// A word for a POSIX shell, in quotes where it needs them.
std::string shell_word(std::string_view word);

// Keys only, every session through `program peer session`. Fails for paths that a line of
// sshd_config cannot hold.
envgen::Result<std::string> sshd_config(const Paths& paths, int port, const std::string& program);

// What every session starts with: the environment of serve, without what belongs to one process.
std::string to_environment_file(const envgen::Environ& own);

// `file` as saved, and of `own` (sshd's) what tells who logged in from where.
envgen::Environ session_environ(std::string_view file, const envgen::Environ& own);

// ssh, sshd and ssh-keygen run without the job's libraries: conda's libcrypto is not the one they
// were built for ("OpenSSL version mismatch").
envgen::Environ tool_environ(const envgen::Environ& own);

// The ssh client that runs `command` on `host` or fails within `timeout_s`; never asks anything.
std::vector<std::string> client_argv(int port, const std::string& key, int timeout_s,
                                     const std::string& host, const std::string& command);

// The hosts in a file, one a line: '#' comments and what follows the name are left out.
std::vector<std::string> parse_hosts(std::string_view text);

}  // namespace sshd
