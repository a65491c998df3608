#pragma once
// The lines in which a training job reports its progress. A pattern (LinePattern) contains {step},
// the current step, or {saved}, the step of a saved checkpoint. Both numbers are counts.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "envgen/formats/line_pattern.h"

namespace envgen {

struct ProgressPattern {
  bool saved = false;  // the pattern has {saved}, not {step}
  LinePattern line;
};
base::Result<ProgressPattern> parse_progress_pattern(std::string_view text);

// Returns the step in the numbers that `pattern` has matched.
std::int64_t step_of(const ProgressPattern& pattern, const LineNumbers& numbers);

}  // namespace envgen
