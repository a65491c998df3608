#pragma once
// The meaning of a signal that arrives, by the rules of --signal. Pure.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "envgen/plan/request.h"
#include "lifecycle/task.h"

namespace engine {

struct Stop {
  // Signal of the stop request: the one that arrived, or the one that a rule turned it into.
  int signal = 0;
  int sent = 0;  // signal that the job gets
};
struct Forward {
  int signal = 0;
};
struct Save {};
struct Touch {
  std::string path;
};
struct Drop {};
using Meaning = std::variant<Stop, Forward, Save, Touch, Drop>;

// Returns true if a signal requests a stop without any rule: base::kStopSignals. SIGHUP does only
// while no job runs (`preparing`), as it ends any program. A running job handles SIGHUP itself.
bool asks_to_stop(int signal, bool preparing);
// Returns the signal that the job gets for a stop request by `signal`. That is SIGTERM for SIGQUIT
// and base::kRealTimeStop: hardly any job saves on these, and they kill a process without a
// handler. Any other signal stays the same.
int sent_to_stop(int signal);

// Returns what a signal means under `rules`. `stops`: without a rule, the signal would request a
// stop. If a rule maps such a signal to another one, it remains a stop request. If a rule maps a
// signal to SIGTERM or SIGINT, it becomes one.
Meaning meaning_of(int signal, const std::vector<base::SignalRule>& rules, bool stops);

// Returns the signal by which a process ended: it died of the signal, or exited with 128 + n as a
// shell does. Returns 0 if that is none of `signals` (a set, see lifecycle::signal_bit).
int forwarded_end(const lifecycle::ExitStatus& exit_status, std::uint64_t signals);

}  // namespace engine
