#pragma once
// Signs of several nodes that no row of cluster_signs.cc names, by what they look like: a number of
// nodes, with a node's own number or a leader beside it; the number of a node; a leader that is
// another machine; a rank above the local one; a list of hosts with this one in it, as one
// variable, as numbered variables, or as the file that a variable names.

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Judges a plan of one node that no variable has said more of. The error names the variable. A text
// to warn with where a file of hosts may list others; "" = nothing.
Result<std::string> check_shapes(Inputs& inputs);

// Whether a variable says that the job has one node, or one process.
bool is_counted_one(const Inputs& inputs);

}  // namespace envgen
