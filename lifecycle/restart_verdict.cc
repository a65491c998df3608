#include "lifecycle/restart_verdict.h"

namespace lifecycle {
namespace {

bool in_start_phase(const FailureSign& sign) {
  return sign.after_ms >= 0 && sign.after_ms < kStartPhaseMs;
}

}  // namespace

RestartProspect judge(const FailureSign& now, const std::optional<FailureSign>& before) {
  using Prospect = FailureSign::Prospect;
  if (now.prospect == Prospect::kUseless) return RestartProspect::kUseless;
  const bool told_apart = now.prospect == Prospect::kUnknown && !now.key.empty();
  const bool repeated = told_apart && before && before->key == now.key && in_start_phase(now) &&
                        in_start_phase(*before);
  return repeated ? RestartProspect::kRepeated : RestartProspect::kOpen;
}

}  // namespace lifecycle
