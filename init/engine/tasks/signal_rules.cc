#include "init/engine/tasks/signal_rules.h"

#include <algorithm>
#include <csignal>

#include "base/exit_codes.h"

namespace engine {

bool asks_to_stop(int signal, bool preparing) {
  if (std::ranges::find(base::kStopSignals, signal) != std::end(base::kStopSignals)) return true;
  return preparing && signal == SIGHUP;
}

int sent_to_stop(int signal) {
  return signal == SIGQUIT || signal == base::kRealTimeStop ? SIGTERM : signal;
}

Meaning meaning_of(int signal, const std::vector<base::SignalRule>& rules, bool stops) {
  const auto rule = std::ranges::find(rules, signal, &base::SignalRule::from);
  if (rule == rules.end()) {
    if (stops) return Stop{signal, sent_to_stop(signal)};
    return Forward{signal};
  }
  switch (rule->kind) {
    case base::SignalRule::Kind::kSignal:
      break;
    case base::SignalRule::Kind::kCheckpoint:
      return Save{};
    case base::SignalRule::Kind::kFile:
      return Touch{rule->path};
    case base::SignalRule::Kind::kNothing:
      return Drop{};
    case base::SignalRule::Kind::kForward:
      return Forward{signal};
  }
  if (stops) return Stop{signal, rule->to};
  if (rule->to == SIGTERM || rule->to == SIGINT) return Stop{rule->to, rule->to};
  return Forward{rule->to};
}

int forwarded_end(const lifecycle::ExitStatus& exit_status, std::uint64_t signals) {
  const bool died = exit_status.how == lifecycle::ExitStatus::How::kSignaled;
  const int signal = exit_status.exit_code() - exit_code::kSignalBase;
  if (!died && exit_status.how != lifecycle::ExitStatus::How::kExited) return 0;
  const bool is_signal = signal > 0 && signal <= lifecycle::kLastSignal;
  return is_signal && (signals & lifecycle::signal_bit(signal)) != 0 ? signal : 0;
}

}  // namespace engine
