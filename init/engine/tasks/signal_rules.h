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
  int signal = 0;  // what arrived, or what it was made
  int sent = 0;    // what the job is sent
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

// What asks the job to stop by itself: envgen::kStopSignals. HUP is the job's to answer; while
// there is none yet (`preparing`) it means what it means to any program that is started.
bool asks_to_stop(int signal, bool preparing);
// What the job gets for such a signal. Hardly any job saves on QUIT or a real-time signal, which
// end it where it has no handler: it gets TERM.
int sent_to_stop(int signal);

// `stops`: what asks the job to stop in this phase. A stop request that is given another name stays
// one, and a signal that is made a stop request becomes one.
Meaning meaning_of(int signal, const std::vector<envgen::SignalRule>& rules, bool stops);

// Which of `signals` (lifecycle::signal_bit) a process died of, or says so as a shell does; 0 =
// none.
int forwarded_end(const lifecycle::ExitStatus& exit_status, std::uint64_t signals);

}  // namespace engine
