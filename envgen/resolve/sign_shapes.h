#pragma once
// Signs of several nodes that no row of cluster_signs.cc names, recognised by their shape:
// - A number of nodes, with a node's own number or a leader beside it.
// - The number of a node.
// - A leader that is another machine.
// - A rank above the local one.
// - A list of hosts with this one in it: one variable, numbered variables, or the file that a
//   variable names.

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Judges a plan of one node for which no variable states more. The error names the variable.
// Returns a warning if a file of hosts may list other hosts, otherwise "".
base::Result<std::string> check_shapes(Inputs& inputs);

// Returns whether a variable says that the job has one node, or one process.
bool is_counted_one(const Inputs& inputs);

}  // namespace envgen
