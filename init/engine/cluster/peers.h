#pragma once
// Waits until the sshd of every other node answers. Each is asked by an ssh client, a child with a
// deadline. So a name that does not resolve, or a network that drops packets, only costs one
// attempt. The children exit with the resolver.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/environ.h"
#include "base/exit_codes.h"
#include "envgen/plan/plan.h"
#include "init/proc/signals.h"

namespace engine {

struct PeerFailure {
  int exit_code = exit_code::kOwnFailure;  // 69: not all answered in time; 125: no ssh client
  base::Error error;
};

// Blocks until `probe HOST trainit-peer-ping` has exited once with 0 for every host. At most 32
// hosts are asked at a time, each for `attempt_ms` at most. A host that does not answer is asked
// again, after a growing pause. Returns a failure if there is no ssh client, or if not all hosts
// have answered after `wait.timeout_ms`; nullopt: all have.
//
// `say` receives the missing hosts when they change, at most every two seconds, such as "3 of 64
// peers (node-5, node-9, node-11): node-5: ssh: Connection refused". Call this in the resolver's
// child, never in PID 1, after signals have been taken over. If the caller ignored SIGCHLD, no
// child's exit could be seen.
std::optional<PeerFailure> wait_for_peers(const envgen::PeerWait& wait, const base::Environ& env,
                                          const proc::SavedSignals& saved,
                                          const std::function<void(const std::string&)>& say,
                                          std::int64_t attempt_ms = 10'000);

}  // namespace engine
