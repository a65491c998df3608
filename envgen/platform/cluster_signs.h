#pragma once
// Signs of a job of several nodes or processes, for a plan that has one node only because no source
// said more. Such a job would become several jobs of one node. Each of them would succeed and
// overwrite the others' checkpoints.

#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Returns whether the user said that the job has only this node (--nodes 1, --platform local).
bool is_said_to_be_alone(const Request& request);

// Returns an error for the first sign that has a row, with advice.
base::Status check_alone(const Inputs& inputs);

// Returns whether a variable has a row, so that no other check judges it.
bool has_sign_row(std::string_view variable);

// Returns the text of a warning. `why` is a sentence without its full stop: the finding and its
// place.
std::string lone_warning(std::string why);

// Returns the error for a sign without a row.
base::Error sign_of_several(std::string where, std::string_view found);

}  // namespace envgen
