#pragma once
// Summarises in a sentence what NCCL RAS answers to VERBOSE STATUS. The sentence names ranks that
// do not answer, are dead, have launched fewer collective operations than others, or report an
// error. init/engine/monitor/hang_diagnostics.h sends the request. Pure.

#include <string>
#include <string_view>

#include "envgen/failure/stack_groups.h"

namespace envgen {

// Returns a text of at most 500 bytes: "rank-3 does not answer; 2 of 8 ranks have launched 41
// AllReduce operations, others 42". Returns "" if nothing is wrong, or if the answer is about a job
// of more than `world_size` processes (0: not known). Processes get their names in `job` only if it
// contains the whole job, because a process on another node may have the same pid.
std::string ras_text(std::string_view answer, int world_size, const SeenJob& job);

}  // namespace envgen
