#pragma once
// The name of the job, which the platform sets in an environment variable.

#include <string>

#include "base/environ.h"

namespace engine {

// Returns the name or the id of the job; "" if the platform gives none.
std::string job_name(const base::Environ& env);

}  // namespace engine
