#pragma once
// Signs of a job of several nodes or processes, for a plan that has one node because nothing said
// more: such a job would become several jobs of one node, each of which ends well and overwrites
// the others' checkpoints.

#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// Whether the user said that the job is of this node alone (--nodes 1, --platform local).
bool is_said_to_be_alone(const Request& request);

// The error for the first sign of those that have a row, with what to do.
Status check_alone(const Inputs& inputs);

// Whether a variable has a row, so that nothing else judges it.
bool has_sign_row(std::string_view variable);

// The text to warn with. `why` is a sentence without its full stop: what was found, and where.
std::string lone_warning(std::string why);

// The error of a sign without a row.
Error sign_of_several(std::string where, std::string_view found);

}  // namespace envgen
