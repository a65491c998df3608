#include "envgen/plan/plan_policy.h"

namespace envgen {

int given_code(const std::vector<ExitCodeRule>& rules, int code) {
  for (const ExitCodeRule& rule : rules) {
    if (rule.first <= code && code <= rule.last) return rule.to;
  }
  return code;
}

}  // namespace envgen
