#include "envgen/formats/perf_line.h"

#include <array>
#include <string>

namespace envgen {
namespace {

constexpr const char* kReading = "reading the pattern of the performance watch";
constexpr std::int64_t kThousand = 1000;
constexpr std::int64_t kMillion = kThousand * kThousand;
constexpr std::size_t kHardware = 0;
constexpr std::size_t kE2e = 1;
constexpr std::array<LineNumber, 2> kNumbers{LineNumber{.name = "hardware", .decimal = true},
                                             LineNumber{.name = "e2e", .decimal = true}};

}  // namespace

std::int64_t PerfTimes::ratio_ppm() const {
  std::int64_t ratio = hardware / e2e;
  if (ratio >= kMillion) return kMillion * kMillion;
  std::int64_t rest = hardware % e2e;
  // Multiplies in two steps, because a decimal has 15 digits and would overflow.
  for (int i = 0; i < 2; ++i) {
    rest *= kThousand;
    ratio = ratio * kThousand + rest / e2e;
    rest %= e2e;
  }
  return ratio;
}

std::string millionths_text(std::int64_t value) {
  std::string decimals = std::to_string(kMillion + value % kMillion).substr(1);
  while (decimals.size() > 1 && decimals.ends_with('0')) decimals.pop_back();
  return std::to_string(value / kMillion) + "." + decimals;
}

base::Result<LinePattern> parse_perf_pattern(std::string_view text) {
  if (text.empty()) text = kUsualPerfPattern;
  const auto bad = [](const std::string& found) {
    return base::fail(kReading, "--perf-pattern", found,
                      "give a text with {hardware} and {e2e} behind it, as in \"" +
                          std::string(kUsualPerfPattern) + '"');
  };
  auto pattern = parse_line_pattern(text, kNumbers);
  if (!pattern) return bad(pattern.error().found);
  if (!pattern->has(kHardware)) return bad("no {hardware}");
  if (!pattern->has(kE2e)) return bad("no {e2e}");
  return pattern;
}

std::optional<PerfTimes> perf_times(const LineNumbers& numbers) {
  if (numbers[kE2e] == 0) return std::nullopt;
  return PerfTimes{numbers[kHardware], numbers[kE2e]};
}

}  // namespace envgen
