#pragma once
// The version of the PyTorch that a Python program will import, from its files: Python itself is
// never run. Only what PyTorch before 2.2 needs is asked.

#include <string>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// True where torch/version.py of each PyTorch that was found says a version before 2.2. False also
// while a path is not in the snapshot, and where none is found: behind a link to another prefix, or
// in a virtual environment that takes it from the system.
bool has_torch_before_2_2(Inputs& inputs, const Plan& plan, const std::string& python);

}  // namespace envgen
