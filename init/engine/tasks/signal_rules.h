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
  int signal = 0;  // signal that arrived, or that a rule made of it
  int sent = 0;    // signal that the job gets
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

// Returns true for a signal that asks the job to stop without a rule: base::kStopSignals. The job
// handles SIGHUP itself. While there is no job (`preparing`), SIGHUP ends trainit as it ends any
// program.
bool asks_to_stop(int signal, bool preparing);
// Returns the signal that the job gets for such a request. Hardly any job saves on QUIT or a
// real-time signal, and without a handler these end it, so the job gets TERM.
int sent_to_stop(int signal);

// Returns what a signal means under `rules`. `stops`: the signal asks the job to stop in this
// phase. A stop request that a rule maps to another signal remains a stop request. A signal that a
// rule maps to a stop signal becomes one.
Meaning meaning_of(int signal, const std::vector<base::SignalRule>& rules, bool stops);

// Returns which of `signals` (lifecycle::signal_bit) a process died of, or reports by its exit code
// as a shell does; 0 = none.
int forwarded_end(const lifecycle::ExitStatus& exit_status, std::uint64_t signals);

}  // namespace engine
