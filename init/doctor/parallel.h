#pragma once
// Runs the parts of a check in parallel, each in its own forked child.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "init/doctor/check_result.h"

namespace doctor {

using Results = std::vector<CheckResult>;

struct Part {
  std::string check;       // name of the check, for its results
  std::string place = {};  // place of the result if the part does not answer
  std::function<Results()> run;
};

// Returns the results of each part, in the order of the parts; each part has at least one. A part
// without an answer `limit_ms` after its start is killed, and its result is a failure. So is that
// of a part that a signal ended. At most `most_at_once` parts run at once, fewer if the system
// allows no more processes.
std::vector<Results> run_parts(std::span<const Part> parts, std::int64_t limit_ms,
                               std::size_t most_at_once = SIZE_MAX);

// Returns the results of run_parts() as one list.
Results run_all(std::span<const Part> parts, std::int64_t limit_ms,
                std::size_t most_at_once = SIZE_MAX);

}  // namespace doctor
