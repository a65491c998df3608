#pragma once
// Detects a job of several nodes or processes, for a plan that has one node only because no source
// mentions more. Without this check, such a job would become several jobs of one node. Each of them
// would succeed and overwrite the others' checkpoints.

#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Returns true if the user said that this node is the whole job (--nodes 1, --platform local).
bool is_said_to_be_alone(const Request& request);

// Returns an error, with advice, for the first sign of several nodes in the table of signs.
base::Status check_alone(const Inputs& inputs);

// Returns true if the table of signs contains the variable. No other check then judges it.
bool has_sign_row(std::string_view variable);

// Returns the text of a warning that this node may be one of several. `why` is what was found and
// where, a sentence without its full stop.
std::string lone_warning(std::string why);

// Returns the error for a sign of several nodes that is not in the table of signs.
base::Error sign_of_several(std::string where, std::string_view found);

}  // namespace envgen
