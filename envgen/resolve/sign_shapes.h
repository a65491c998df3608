#pragma once
// Recognises, by the form of their names and values, variables that mean several nodes, for
// platforms that the table in cluster_signs.cc does not contain:
// - A number of nodes, with this node's own number or a leader beside it.
// - The number of a node.
// - A leader that is another machine.
// - A rank above the local rank.
// - A list of hosts that contains this one: one variable, numbered variables, or the file that a
//   variable
// names.

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Checks a plan that has one node because no variable says more. The error names the variable.
// Returns a warning if a file of hosts may contain other hosts, otherwise "".
base::Result<std::string> check_shapes(Inputs& inputs);

// Returns true if a variable says that the job has one node, or one process.
bool is_counted_one(const Inputs& inputs);

}  // namespace envgen
