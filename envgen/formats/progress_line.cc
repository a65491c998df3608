#include "envgen/formats/progress_line.h"

#include <array>
#include <string>
#include <utility>

namespace envgen {
namespace {

constexpr std::size_t kStep = 0;
constexpr std::size_t kSaved = 1;
constexpr std::array<LineNumber, 2> kNumbers{LineNumber{.name = "step"},
                                             LineNumber{.name = "saved"}};

}  // namespace

base::Result<ProgressPattern> parse_progress_pattern(std::string_view text) {
  TRY_ASSIGN(auto line, parse_line_pattern(text, kNumbers));
  if (line.has(kStep) && line.has(kSaved)) {
    return base::fail("reading the pattern of a line", std::string(text),
                      "{step} and {saved}: one of them a pattern", "");
  }
  return ProgressPattern{.saved = line.has(kSaved), .line = std::move(line)};
}

std::int64_t step_of(const ProgressPattern& pattern, const LineNumbers& numbers) {
  return numbers[pattern.saved ? kSaved : kStep];
}

}  // namespace envgen
