#include "init/engine/state/job_name.h"

#include <algorithm>

#include "base/constants/platform_variables.h"
#include "base/constants/words.h"

namespace engine {

std::string job_name(const base::Environ& env) {
  // Names come before ids, which people do not remember.
  static constexpr auto kVariables = base::words(
      "TRAINING_JOB_NAME", "PAI_JOB_NAME", "REPLICATED_JOB_NAME", "JOBSET_NAME", "SLURM_JOB_NAME",
      "DLC_JOB_ID", "CLOUD_ML_JOB_ID", "SLURM_JOB_ID", "PADDLE_JOB_ID");
  static_assert(std::ranges::all_of(kVariables,
                                    [](std::string_view variable) {
                                      return base::is_platform_variable(variable.data(),
                                                                        variable.size());
                                    }),
                "add the variable to base/constants/platform_variables.h");
  for (const std::string_view variable : kVariables) {
    const std::string name(env.get_or(std::string(variable), ""));
    if (!name.empty()) return name;
  }
  return "";
}

}  // namespace engine
