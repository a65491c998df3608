#include "lifecycle/policy.h"

#include <algorithm>

namespace lifecycle {

TimeMs restart_delay(const Policy& policy, std::uint32_t failures) {
  TimeMs delay = failures == 0 ? 0 : base::bounded_ms(policy.restart_delay_ms);
  const TimeMs most = std::max(delay, base::bounded_ms(policy.restart_delay_max_ms));
  for (std::uint32_t i = 1; i < failures && delay > 0 && delay < most; ++i) {
    delay = std::min(2 * delay, most);
  }
  return delay;
}

bool restarts_on(const Policy& policy, int exit_code) {
  return std::none_of(policy.no_restart_on.begin(), policy.no_restart_on.end(),
                      [exit_code](const CodeRange& range) {
                        return range.first <= exit_code && exit_code <= range.last;
                      });
}

}  // namespace lifecycle
