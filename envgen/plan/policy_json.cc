#include "envgen/plan/policy_json.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/signal_name.h"
#include "base/text.h"

namespace envgen {
namespace {

const char* kind_name(base::SignalRule::Kind kind) {
  switch (kind) {
    case base::SignalRule::Kind::kSignal:
      return "signal";
    case base::SignalRule::Kind::kCheckpoint:
      return "checkpoint";
    case base::SignalRule::Kind::kFile:
      return "file";
    case base::SignalRule::Kind::kNothing:
      return "none";
    case base::SignalRule::Kind::kForward:
      return "forward";
  }
  return "signal";
}

std::string name_or_none(int signal) { return signal == 0 ? "none" : base::signal_name(signal); }

// Returns whether the settings of checkpoints are shown: only if one of them was chosen, although
// `trainit checkpoint` can request a checkpoint of any job.
bool shows_checkpoint(const base::Policy& policy) {
  constexpr std::int64_t kUsualMs = 300'000;
  return (policy.checkpoint_ms != 0 && policy.checkpoint_ms != kUsualMs) ||
         (policy.checkpoint_signal != 0 && policy.checkpoint_signal != SIGUSR1) ||
         base::asks_for_checkpoint(policy.signals);
}

void write_codes(base::json::Writer& out, int first, int last) {
  out.key("first").integer(first);
  out.key("last").integer(last);
}

void write_stop(base::json::Writer& out, const base::Policy& policy) {
  if (policy.second_term_kills) out.key("second_term").string("kill");
  if (policy.drain_ms > 0) out.key("drain_ms").integer(policy.drain_ms);
  if (policy.pre_stop_ms > 0) out.key("pre_stop_ms").integer(policy.pre_stop_ms);
  if (policy.post_stop_ms > 0) out.key("post_stop_ms").integer(policy.post_stop_ms);
  if (policy.failure_grace_ms > 0) out.key("failure_grace_ms").integer(policy.failure_grace_ms);
  if (policy.stop_scope != base::StopScope::kMain) {
    out.key("stop_scope").string(base::word_of(base::kStopScopes, policy.stop_scope));
  }
  if (policy.escalation.empty()) return;
  out.key("escalation").begin_array();
  for (const base::EscalationStep& step : policy.escalation) {
    out.begin_object();
    out.key("signal").string(base::signal_name(step.signal));
    out.key("after_ms").integer(step.after_ms);
    out.end_object();
  }
  out.end_array();
}

void write_signals(base::json::Writer& out, const base::Policy& policy) {
  if (policy.signals.empty()) return;
  out.key("signals").begin_array();
  for (const base::SignalRule& rule : policy.signals) {
    out.begin_object();
    out.key("signal").string(base::signal_name(rule.from));
    out.key("becomes").string(kind_name(rule.kind));
    if (rule.kind == base::SignalRule::Kind::kSignal)
      out.key("to").string(base::signal_name(rule.to));
    if (rule.kind == base::SignalRule::Kind::kFile) out.key("path").string(rule.path);
    out.end_object();
  }
  out.end_array();
}

void write_exit_codes(base::json::Writer& out, const base::Policy& policy) {
  if (policy.exit_codes.empty()) return;
  out.key("exit_codes").begin_array();
  for (const base::ExitCodeRule& rule : policy.exit_codes) {
    out.begin_object();
    write_codes(out, rule.first, rule.last);
    out.key("to").integer(rule.to);
    out.end_object();
  }
  out.end_array();
}

void write_checkpoint(base::json::Writer& out, const base::Policy& policy) {
  if (!shows_checkpoint(policy)) return;
  out.key("checkpoint").begin_object();
  out.key("signal").string(name_or_none(policy.checkpoint_signal));
  out.key("timeout_ms").integer(policy.checkpoint_ms);
  out.end_object();
}

void write_restarts(base::json::Writer& out, const base::Policy& policy) {
  if (policy.elastic) out.key("elastic").boolean(true);
  if (policy.rendezvous_ms > 0) out.key("rendezvous_ms").integer(policy.rendezvous_ms);
  if (policy.max_restarts == 0) return;
  out.key("restart").begin_object();
  out.key("most").integer(policy.max_restarts);
  if (policy.restart_reset_ms > 0) out.key("reset_ms").integer(policy.restart_reset_ms);
  out.key("delay_ms").integer(policy.restart_delay_ms);
  out.key("not_on").begin_array();
  for (const base::CodeRange& range : policy.no_restart_on) {
    out.begin_object();
    write_codes(out, range.first, range.last);
    out.end_object();
  }
  out.end_array();
  constexpr std::array<std::string_view, 3> kVerdicts = {"off", "tell", "enforce"};
  out.key("verdict").string(kVerdicts.at(static_cast<std::size_t>(policy.restart_verdict)));
  out.end_object();
}

std::string codes_text(int first, int last) {
  std::string text = std::to_string(first);
  if (last != first) text += " to " + std::to_string(last);
  return text;
}

std::string stop_text(const base::Policy& policy, const base::Budget& stop) {
  std::string text = "stops within " + base::seconds(stop.exit_at);
  if (stop.drained_at > 0) text += ", after a drain of " + base::seconds(stop.drained_at);
  if (policy.stop_scope == base::StopScope::kGroup) text += ", telling the processes' groups";
  if (policy.stop_scope == base::StopScope::kTree) text += ", telling all processes";
  for (const base::EscalationStep& step : policy.escalation) {
    text += ", " + base::signal_name(step.signal) + " after " + base::seconds(step.after_ms);
  }
  if (policy.second_term_kills) text += ", at once on a second SIGTERM";
  if (policy.hold_ms > 0) text += ", holds " + base::seconds(policy.hold_ms) + " on failure";
  return text;
}

// Returns the signals that stop the job. An image's STOPSIGNAL may be any of them, which docker
// stop sends instead of TERM.
std::string stop_signals(const base::Policy& policy) {
  std::string names;
  for (const int signal : base::kStopSignals) {
    const auto rule = std::ranges::find(policy.signals, signal, &base::SignalRule::from);
    const bool stops =
        rule == policy.signals.end() || rule->kind == base::SignalRule::Kind::kSignal;
    if (stops) names += (names.empty() ? "" : ", ") + base::signal_name(signal);
  }
  return names;
}

std::string signal_text(const base::SignalRule& rule) {
  const std::string name = base::signal_name(rule.from);
  switch (rule.kind) {
    case base::SignalRule::Kind::kSignal:
      return name + " becomes " + base::signal_name(rule.to);
    case base::SignalRule::Kind::kCheckpoint:
      return name + " asks for a checkpoint and ends the job with exit code 75";
    case base::SignalRule::Kind::kFile:
      return name + " touches " + rule.path;
    case base::SignalRule::Kind::kNothing:
      return name + " is dropped";
    case base::SignalRule::Kind::kForward:
      return name + " is forwarded, and stops nothing";
  }
  return "";
}

base::ShownLines restarts_text(const base::Policy& policy) {
  base::ShownLines lines;
  if (policy.elastic) lines.add({"restarts when its list of nodes changes"});
  if (policy.rendezvous_ms > 0) {
    lines.add({"waits for the other nodes before each start, at most ",
               base::seconds(policy.rendezvous_ms)});
  }
  if (policy.max_restarts == 0) return lines;
  std::string text = "restarts after a failure, at most " + std::to_string(policy.max_restarts) +
                     (policy.max_restarts == 1 ? " time" : " times");
  if (policy.restart_reset_ms > 0) {
    text += ", anew after a start that ran " + base::seconds(policy.restart_reset_ms);
  }
  text += ", first at once";
  if (policy.max_restarts > 1) text += ", then after " + base::seconds(policy.restart_delay_ms);
  const char* separator = ", not after exit code ";
  for (const base::CodeRange& range : policy.no_restart_on) {
    text += separator + codes_text(range.first, range.last);
    separator = ", ";
  }
  if (policy.restart_verdict == base::RestartVerdict::kEnforce)
    text += ", not where it cannot help";
  lines.add({text});
  return lines;
}

// Returns the lines for the parts that the user chose, and for the short end after a failure.
base::ShownLines chosen_text(const base::Policy& policy) {
  base::ShownLines lines;
  if (policy.failure_grace_ms > 0) {
    lines.add({"kills the other ranks ", base::seconds(policy.failure_grace_ms),
               " after their SIGTERM for a failure, unless they write"});
  }
  for (const base::SignalRule& rule : policy.signals) lines.add({signal_text(rule)});
  if (shows_checkpoint(policy)) {
    lines.add({"a checkpoint is asked for ",
               policy.checkpoint_signal == 0
                   ? std::string("by hooks")
                   : "with " + base::signal_name(policy.checkpoint_signal),
               " and granted ", base::seconds(policy.checkpoint_ms)});
  }
  lines.add(restarts_text(policy));
  if (policy.max_duration_ms > 0) {
    lines.add({"ends after ", base::seconds(policy.max_duration_ms), " with exit code 124"});
  }
  for (const base::ExitCodeRule& rule : policy.exit_codes) {
    lines.add({"exit code ", codes_text(rule.first, rule.last), " is given as ",
               std::to_string(rule.to)});
  }
  return lines;
}

}  // namespace

void write_policy(base::json::Writer& out, const base::Policy& policy) {
  out.key("policy").begin_object();
  out.key("success").string(base::word_of(base::kSuccessPolicies, policy.success));
  out.key("grace_ms").integer(policy.grace_ms);
  out.key("hold_ms").integer(policy.hold_ms);
  write_stop(out, policy);
  write_exit_codes(out, policy);
  write_signals(out, policy);
  write_checkpoint(out, policy);
  write_restarts(out, policy);
  if (policy.max_duration_ms > 0) out.key("max_duration_ms").integer(policy.max_duration_ms);
  out.end_object();
}

base::ShownLines policy_text(const base::Policy& policy, const base::Budget& stop) {
  base::ShownLines lines;
  lines.add({stop_text(policy, stop)});
  if (const std::string names = stop_signals(policy); !names.empty()) {
    lines.add({"stop signals: ", names, " (the image's STOPSIGNAL has to be one of them)"});
  }
  lines.add(chosen_text(policy));
  return lines;
}

base::ShownLines brief_policy_text(const base::Policy& policy, const base::Budget& stop) {
  base::ShownLines lines;
  const std::string names = stop_signals(policy);
  lines.add({stop_text(policy, stop), names.empty() ? "" : "; stop signals: ", names});
  lines.add(chosen_text(policy));
  return lines;
}

}  // namespace envgen
