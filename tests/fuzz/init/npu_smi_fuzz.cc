// Any text as what npu-smi prints, by itself and as the rows of a table; and as what a check's
// child sends.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "init/doctor/check_result.h"
#include "init/doctor/npu_smi.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check(std::string_view text) {
  const auto report = doctor::parse_npu_smi(text, "fuzz");
  if (!report) {
    require(!report.error().found.empty() && !report.error().fix.empty());
    return;
  }
  require(!report->chips.empty());
  for (const doctor::NpuChip& chip : report->chips) {
    require(chip.npu >= 0 && chip.chip >= 0 && chip.device >= 0);
    require(!chip.name.empty() && !chip.health.empty());
  }
}

}  // namespace

TRAINIT_FUZZER(npu_smi) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  check("| NPU Name | Health | x |\n| Chip Phy-ID | Bus-Id | x |\n" + text);
  const auto results = doctor::decode_results(text);
  if (results) {
    const auto again = doctor::decode_results(doctor::encode_results(*results));
    require(again.has_value() && again->size() == results->size());
    require(!doctor::results_to_text(*results, true, 60).empty());
  }
  return 0;
}
