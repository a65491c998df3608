#pragma once
// Signs of several nodes that no row of cluster_signs.cc names, by what they look like: a number of
// nodes, with a node's own number or a leader beside it; the number of a node; a list of hosts with
// this one in it.

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Judges a plan of one node that no variable has said more of. The error names the variable.
Status check_shapes(const Inputs& inputs);

// Whether a variable says that the job has one node, or one process.
bool is_counted_one(const Inputs& inputs);

}  // namespace envgen
