#pragma once
// The lines by which a training job tells how far it is: a LinePattern with {step}, the step that
// it is at, or with {saved}, the step that a checkpoint was saved at. Both are counts.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "envgen/formats/line_pattern.h"

namespace envgen {

struct ProgressPattern {
  bool saved = false;  // it has {saved}, not {step}
  LinePattern line;
};
Result<ProgressPattern> parse_progress_pattern(std::string_view text);

// What such a pattern has found.
std::int64_t step_of(const ProgressPattern& pattern, const LineNumbers& numbers);

}  // namespace envgen
