#pragma once
// Parts of a check, each in a forked child of its own, side by side.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "init/doctor/check_result.h"

namespace doctor {

using Results = std::vector<envgen::CheckResult>;

struct Part {
  std::string check;       // the name that its results get
  std::string place = {};  // of the result that stands for one that did not answer
  std::function<Results()> run;
};

// The results of each part, in their order; never empty. One that has not answered `limit_ms` after
// its start is killed and has failed, and so has one that a signal ended. At most so many run at
// once, fewer where there may be no more processes.
std::vector<Results> run_parts(std::span<const Part> parts, std::int64_t limit_ms,
                               std::size_t most_at_once = SIZE_MAX);

// The same as one list.
Results run_all(std::span<const Part> parts, std::int64_t limit_ms,
                std::size_t most_at_once = SIZE_MAX);

}  // namespace doctor
