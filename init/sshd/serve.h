#pragma once
// `trainit peer serve`: runs sshd for the launcher of the job, and exits with the code that the
// launcher reports.
//
// Three events end it (PeerExitRule):
//   (a) A session sends `trainit-peer-end CODE`. sshd's listener ends, the sessions have a second
//       to end, and serve exits with CODE. PID 1 ends the processes that are left.
//   (b) No session exists for the launcher timeout, or for a minute after PID 1 has sent
//       `trainit-peer-launcher gone`. serve exits with 69.
//   (c) SIGTERM, SIGINT, SIGHUP or SIGQUIT comes. If no session is open, serve exits at once with
//       128 + n. Otherwise it forwards nothing, because the launcher ends its processes here
//       itself. serve waits for the launcher's message or the end of the sessions, as long as
//       PID 1 permits.
//
// Only a session that runs a command counts; a ping or a message does not. A session lasts until
// the processes that it left in the background have ended too (Sessions). A launcher that exits
// ends its daemons. A leftover that stays keeps the node, which does less harm. A command that has
// lost its connection no longer counts: no launcher would end it.
//
// If serve is killed, the listener dies with it; the sessions continue.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "base/environ.h"
#include "init/proc/exec.h"

namespace sshd {

struct ServeOptions {
  std::string directory;  // absolute path of the peer's directory
  int port = 0;
  std::string key;                                  // "": the client's default keys
  std::optional<std::int64_t> launcher_timeout_ms;  // as for PeerExitRule
};

// Runs sshd until one of the events; blocks. Returns the exit code, or why serve could not begin:
// 127 if OpenSSH is not installed, otherwise 125. The sessions get `env`.
std::expected<int, proc::StartFailure> serve(const ServeOptions& options, const base::Environ& env);

}  // namespace sshd
