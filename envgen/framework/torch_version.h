#pragma once
// Finds the version of the PyTorch that a Python program will import, from PyTorch's files. Python
// itself never runs. Only whether the version is before 2.2 is needed.

#include <string>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Returns true if torch/version.py of each PyTorch found has a version before 2.2. Returns false as
// well while a path is missing from the snapshot, and if no PyTorch is found. PyTorch is not found
// behind a link to another prefix, or in a virtual environment that uses the system's.
bool has_torch_before_2_2(Inputs& inputs, const Plan& plan, const std::string& python);

}  // namespace envgen
