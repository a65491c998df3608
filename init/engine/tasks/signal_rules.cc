#include "init/engine/tasks/signal_rules.h"

#include <algorithm>
#include <csignal>

namespace engine {

bool asks_to_stop(int signal, bool preparing) {
  if (signal == SIGTERM || signal == SIGINT) return true;
  return preparing && (signal == SIGHUP || signal == SIGQUIT);
}

Meaning meaning_of(int signal, const std::vector<envgen::SignalRule>& rules, bool stops) {
  const auto rule = std::ranges::find(rules, signal, &envgen::SignalRule::from);
  if (rule == rules.end()) {
    if (stops) return Stop{signal, signal};
    return Forward{signal};
  }
  switch (rule->kind) {
    case envgen::SignalRule::Kind::kSignal:
      break;
    case envgen::SignalRule::Kind::kCheckpoint:
      return Save{};
    case envgen::SignalRule::Kind::kFile:
      return Touch{rule->path};
    case envgen::SignalRule::Kind::kNothing:
      return Drop{};
    case envgen::SignalRule::Kind::kForward:
      return Forward{signal};
  }
  if (stops) return Stop{signal, rule->to};
  if (rule->to == SIGTERM || rule->to == SIGINT) return Stop{rule->to, rule->to};
  return Forward{rule->to};
}

}  // namespace engine
