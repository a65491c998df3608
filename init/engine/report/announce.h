#pragma once
// The lines that tell of the job's course: said once, when the machine goes from one phase to
// another for a reason that is not in the log yet.

#include <cstdint>
#include <string>
#include <vector>

#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// How far the machine was.
struct Course {
  lifecycle::Phase phase = lifecycle::Phase::kPreparing;
  bool expired = false;
};

// "" where there is nothing to say. `why`: the event that has brought the machine here. `now_ms`:
// the time by which the machine counts.
std::string transition_text(Course before, const lifecycle::Event& why, const Job& job,
                            const lifecycle::Machine& machine, std::int64_t now_ms);

// Names the main processes that get SIGKILL: what killed them is then not to be guessed, it might
// as well be the OOM killer's. "" for none. `why`: the event that brought the actions about.
std::string kills_text(const Job& job, const lifecycle::Event& why,
                       const std::vector<lifecycle::Action>& actions);

}  // namespace engine
