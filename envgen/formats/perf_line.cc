#include "envgen/formats/perf_line.h"

#include <array>
#include <string>

namespace envgen {
namespace {

constexpr const char* kReading = "reading the pattern of the performance watch";
constexpr int kDecimals = 6;
constexpr std::int64_t kMillion = 1'000'000;
constexpr std::size_t kHardware = 0;
constexpr std::size_t kE2e = 1;
constexpr std::array<LineNumber, 2> kNumbers{LineNumber{.name = "hardware", .decimal = true},
                                             LineNumber{.name = "e2e", .decimal = true}};

}  // namespace

std::int64_t PerfTimes::ratio_ppm() const {
  std::int64_t ratio = hardware / e2e;
  if (ratio >= kMillion) return kMillion * kMillion;
  std::int64_t rest = hardware % e2e;
  // Digit by digit: the product would not fit.
  for (int i = 0; i < kDecimals; ++i) {
    rest *= 10;
    ratio = ratio * 10 + rest / e2e;
    rest %= e2e;
  }
  return ratio;
}

std::string millionths_text(std::int64_t value) {
  std::string decimals = std::to_string(kMillion + value % kMillion).substr(1);
  while (decimals.size() > 1 && decimals.ends_with('0')) decimals.pop_back();
  return std::to_string(value / kMillion) + "." + decimals;
}

Result<LinePattern> parse_perf_pattern(std::string_view text) {
  if (text.empty()) text = kUsualPerfPattern;
  const auto bad = [](const std::string& found) {
    return fail(kReading, "--perf-pattern", found,
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
