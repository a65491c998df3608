#include "init/engine/resolve/preflight.h"

#include <algorithm>
#include <string>
#include <vector>

#include "init/doctor/check_result.h"
#include "init/doctor/doctor.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using doctor::CheckResult;

// Returns an Error with the first kMaxNamed failed checks. All would be too long for a log line.
base::Status refusal(const std::vector<CheckResult>& results, int failed) {
  constexpr int kMaxNamed = 5;
  std::string found;
  int named = 0;
  for (const CheckResult& result : results) {
    if (result.verdict != doctor::CheckStatus::kFailed || named == kMaxNamed) continue;
    found += (named == 0 ? "" : " | ") + to_line(result);
    ++named;
  }
  if (failed > named) found += " | and " + std::to_string(failed - named) + " more";
  return base::fail("checking the machine before the job (--preflight require)", "", found,
                    "mend that, see `trainit doctor`, or start with --preflight warn");
}

}  // namespace

base::Status preflight(envgen::Plan& plan, const envgen::Snapshot& base) {
  const envgen::Preflight mode = plan.observe.preflight;
  if (mode == envgen::Preflight::kOff) return {};
  doctor::Context context = doctor::context_of(plan, base.env);
  context.occasion = doctor::Occasion::kPreflight;
  context.run_dir = base.facts.run_dir;
  if (context.work_dir.empty()) context.work_dir = base.facts.cwd;
  const std::vector<CheckResult> results = doctor::run_checks({}, context);
  const doctor::CheckCounts counts = doctor::count_results(results);
  plan.observe.preflight_found = counts_to_text(counts);
  sys::log::info("preflight: " + plan.observe.preflight_found);
  if (mode == envgen::Preflight::kRequire && counts.failed > 0) {
    return refusal(results, counts.failed);
  }
  for (const CheckResult& result : results) {
    const bool told = result.verdict == doctor::CheckStatus::kWarning ||
                      result.verdict == doctor::CheckStatus::kFailed;
    if (told) plan.warnings.push_back("preflight: " + to_line(result));
  }
  return {};
}

}  // namespace engine
