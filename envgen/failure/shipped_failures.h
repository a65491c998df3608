#pragma once
// The text of failures.json, which the build puts into the program.

#include <string_view>

namespace envgen {

extern const std::string_view kShippedFailures;

}  // namespace envgen
