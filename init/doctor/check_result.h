#pragma once
// The result of a check of the machine (trainit doctor, --preflight, the health monitor). Unlike a
// finding (envgen/formats/finding.h), a result also says that nothing is wrong. Results
// are reported as a table for users, JSON for programs, or JUnit's XML for CI systems.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace doctor {

enum class CheckStatus : std::uint8_t {
  kOk,
  kSkipped,  // the check does not apply here, or could not be made: `found` says why
  kWarning,  // the job may have a problem
  kFailed,   // the job would fail
};
inline constexpr std::array<std::string_view, 4> kVerdictNames = {"ok", "skipped", "warning",
                                                                  "failed"};
std::string_view verdict_name(CheckStatus verdict);

struct CheckResult {
  std::string check;  // name of the check, as in --only: "shm"
  std::string place;  // what was checked: "/dev/shm", "GPU 0000:0a:00.0"; "" = the machine
  CheckStatus verdict = CheckStatus::kOk;
  std::string found;
  std::string fix;  // what the user can do; never "" for a warning or a failure

  bool operator==(const CheckResult&) const = default;
};
inline void fields(base::FieldVisitor& v, CheckResult& result) {
  v("check", result.check);
  v("place", result.place);
  v("verdict", result.verdict, kVerdictNames);
  v("found", result.found);
  v("fix", result.fix);
}
// Returns one line: "shm: /dev/shm: 64 MiB; give the container --shm-size 8g".
std::string to_line(const CheckResult& result);

struct CheckCounts {
  int ok = 0;
  int skipped = 0;
  int warnings = 0;
  int failed = 0;
};
CheckCounts count_results(std::span<const CheckResult> results);
// Returns "14 ok, 1 warning, 0 failed, 3 skipped".
std::string counts_to_text(const CheckCounts& counts);

// Returns the results as a table. `columns` is the terminal's width; 0 leaves the lines unbroken.
// The last line has the counts.
std::string results_to_text(std::span<const CheckResult> results, bool colour, int columns);
// Returns a JSON object {"ok", "warnings", "failed", "skipped", "results": [{"check", "place",
// "verdict", "found", "fix"}]}.
std::string results_to_json(std::span<const CheckResult> results);
// Returns JUnit's XML: one suite with a case for each result. A warning is a case that has passed,
// with its text in system-out, because JUnit has no status for warnings.
std::string results_to_junit(std::span<const CheckResult> results, std::string_view host);

// Encodes results for a pipe between trainit's processes. Control characters become blanks.
std::string encode_results(std::span<const CheckResult> results);
base::Result<std::vector<CheckResult>> decode_results(std::string_view bytes);

}  // namespace doctor
