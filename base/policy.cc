#include "base/policy.h"

#include <algorithm>

namespace envgen {
namespace {

constexpr Rule kSignalNumber{.least = 0, .most = 64};
constexpr Rule kExitCode{.least = 0, .most = 255};

}  // namespace

void fields(FieldVisitor& v, EscalationStep& step) {
  v("signal", step.signal, kSignalNumber);
  v("after_ms", step.after_ms);
}

void fields(FieldVisitor& v, ExitCodeRule& rule) {
  v("first", rule.first, kExitCode);
  v("last", rule.last, kExitCode);
  v("to", rule.to, kExitCode);
}

void fields(FieldVisitor& v, CodeRange& range) {
  v("first", range.first, kExitCode);
  v("last", range.last, kExitCode);
}

void fields(FieldVisitor& v, SignalRule& rule) {
  v("from", rule.from, kSignalNumber);
  v("kind", rule.kind, SignalRule::Kind::kForward);
  v("to", rule.to, kSignalNumber);
  v("path", rule.path);
}

bool asks_for_checkpoint(const std::vector<SignalRule>& rules) {
  return std::ranges::find(rules, SignalRule::Kind::kCheckpoint, &SignalRule::kind) != rules.end();
}

int given_code(const std::vector<ExitCodeRule>& rules, int code) {
  for (const ExitCodeRule& rule : rules) {
    if (rule.first <= code && code <= rule.last) return rule.to;
  }
  return code;
}

}  // namespace envgen
