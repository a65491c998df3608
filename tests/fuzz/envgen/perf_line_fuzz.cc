// Any bytes as a rank's output, cut anywhere: what is found does not depend on the cuts, and a
// ratio can be had of it. Any text as a pattern.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/formats/perf_line.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<envgen::PerfTimes> scan(const envgen::PerfPattern& pattern, std::string_view text,
                                    std::size_t step) {
  std::vector<envgen::PerfTimes> found;
  envgen::PerfScanner scanner(pattern);
  while (!text.empty()) {
    scanner.add(text.substr(0, step), [&found](const envgen::PerfTimes& times) {
      require(times.e2e > 0 && times.hardware >= 0 && times.ratio_ppm() >= 0);
      found.push_back(times);
    });
    text.remove_prefix(std::min(step, text.size()));
  }
  return found;
}

}  // namespace

// libFuzzer's name.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view first = text.substr(0, text.find('\n'));
  const std::string_view rest = text.substr(std::min(first.size() + 1, text.size()));
  auto pattern = envgen::parse_perf_pattern(first);
  if (pattern) {
    require(!pattern->anchor.empty() && pattern->head.find(pattern->anchor) != std::string::npos);
  } else {
    pattern = envgen::parse_perf_pattern("");
  }
  const auto whole = scan(*pattern, rest, rest.size() + 1);
  for (const std::size_t step : {1U, 7U, 4096U}) require(scan(*pattern, rest, step) == whole);
  return 0;
}
