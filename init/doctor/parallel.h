#pragma once
// Parts of a check, each in a forked child of its own and all at the same time.

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

// The results of each part, in their order; never empty. One that has not answered after `limit_ms`
// is killed and has failed, and so has one that a signal ended.
std::vector<Results> run_parts(std::span<const Part> parts, std::int64_t limit_ms);

// The same as one list.
Results run_all(std::span<const Part> parts, std::int64_t limit_ms);

}  // namespace doctor
