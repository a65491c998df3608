#pragma once
// `trainit peer serve`: runs sshd for the launcher of the job and ends with what that says.
//
// The end. (a) A session's message `trainit-peer-end CODE`: sshd's listener ends, the sessions have
// a second to end by themselves, and serve exits with CODE; what is still there then is left to
// PID 1, which sweeps. (b) No session for the launcher timeout, or for a minute where PID 1 has
// said `trainit-peer-launcher gone`: 69. (c) SIGTERM, SIGINT, SIGHUP or SIGQUIT: at once with 128 +
// n when no session is open; else nothing is forwarded, since the launcher ends its processes here
// by itself: serve waits for its message or for the end of the sessions, as long as PID 1 lets it.
// See Ending.
//
// A session is one that runs a command: pings and the message are none. It lasts until what it left
// in the background has ended too (Sessions): a launcher that is gone takes its daemons with it,
// while a leftover that stays keeps the node, which is the smaller harm. A command whose connection
// is lost counts no longer: nobody is there who would end it.
//
// Killed, serve takes the listener along; the sessions live on.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "base/environ.h"
#include "init/proc/exec.h"

namespace sshd {

struct ServeOptions {
  std::string directory;  // absolute
  int port = 0;
  std::string key;                                  // "" = the client's default keys
  std::optional<std::int64_t> launcher_timeout_ms;  // see Ending
};

// The exit code, or why it could not begin (125; 127: OpenSSH is not installed). The sessions get
// `env`.
std::expected<int, proc::StartFailure> serve(const ServeOptions& options,
                                             const envgen::Environ& env);

}  // namespace sshd
