// Any bytes as a rank's output, cut anywhere: what is found does not depend on the cuts, and a
// ratio can be had of it. Any text as a pattern of the performance watch or of --progress.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envgen/formats/line_pattern.h"
#include "envgen/formats/perf_line.h"
#include "envgen/formats/progress_line.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using Found = std::vector<std::pair<std::size_t, envgen::LineNumbers>>;

Found scan(const std::vector<envgen::LinePattern>& patterns, std::string_view text,
           std::size_t step) {
  Found found;
  envgen::LineScanner scanner(patterns);
  while (!text.empty()) {
    scanner.add(text.substr(0, step),
                [&found](std::size_t pattern, const envgen::LineNumbers& numbers) {
                  for (const std::int64_t number : numbers) require(number >= 0);
                  const auto times = envgen::perf_times(numbers);
                  require(!times || (times->e2e > 0 && times->ratio_ppm() >= 0));
                  found.emplace_back(pattern, numbers);
                });
    text.remove_prefix(std::min(step, text.size()));
  }
  return found;
}

}  // namespace

TRAINIT_FUZZER(line_pattern) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view first = text.substr(0, text.find('\n'));
  const std::string_view rest = text.substr(std::min(first.size() + 1, text.size()));
  std::vector<envgen::LinePattern> patterns = {*envgen::parse_perf_pattern("")};
  if (auto perf = envgen::parse_perf_pattern(first)) patterns.push_back(std::move(*perf));
  if (auto progress = envgen::parse_progress_pattern(first)) {
    patterns.push_back(std::move(progress->line));
  }
  for (const envgen::LinePattern& one : patterns) {
    require(!one.anchor.empty() && one.head.find(one.anchor) != std::string::npos);
  }
  const auto whole = scan(patterns, rest, rest.size() + 1);
  for (const std::size_t step : {1U, 7U, 4096U}) require(scan(patterns, rest, step) == whole);
  return 0;
}
