#pragma once
// The name of the job, as the platform gives it in a variable.

#include <string>

#include "base/environ.h"

namespace engine {

// Returns the name or the id of the job; "" if the platform gives none.
std::string job_name(const base::Environ& env);

}  // namespace engine
