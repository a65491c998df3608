#pragma once
// The wait for the other nodes' sshd. The ssh client asks each of them, in a child with a deadline,
// so that a name that does not resolve and a network that swallows packets cost an attempt, never
// the resolver. Its children do not survive it.

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
  int exit_code =
      exit_code::kOwnFailure;  // 69: not all answered in time; 125: there is no ssh client
  envgen::Error error;
};

// Blocks until `probe HOST trainit-peer-ping` has once exited with 0 for every host, at most 32 of
// them at a time, each again and again with a growing pause, each time for `attempt_ms` at most.
// `say` is told what is still waited for
// ("3 of 64 peers (node-5, node-9, node-11): node-5: ssh: Connection refused") when that changes,
// but not more often than every two seconds. For the resolver's child, never for PID 1, and signals
// must have been taken over: where the caller ignores SIGCHLD no child's end could be seen.
std::optional<PeerFailure> wait_for_peers(const envgen::PeerWait& wait, const envgen::Environ& env,
                                          const proc::SavedSignals& saved,
                                          const std::function<void(const std::string&)>& say,
                                          std::int64_t attempt_ms = 10'000);

}  // namespace engine
