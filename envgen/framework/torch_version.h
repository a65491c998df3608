#pragma once
// Finds out whether the PyTorch that a Python program will import is older than 2.2. Only files are
// read; Python does not run.

#include <string>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Returns true if each PyTorch that was found has a version before 2.2 in its torch/version.py.
// Returns false if no PyTorch is found, or while the snapshot lacks a path. PyTorch is not found
// behind a symlink to another prefix, or in a virtual environment that uses the system's.
bool has_torch_before_2_2(Inputs& inputs, const Plan& plan, const std::string& python);

}  // namespace envgen
