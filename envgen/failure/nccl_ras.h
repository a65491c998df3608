#pragma once
// Summarises NCCL RAS's answer to VERBOSE STATUS in a sentence. The sentence names ranks that do
// not answer, are dead, have launched fewer collective operations than others, or report an error.
// The request is sent by init/engine/monitor/hang_diagnostics.h. Pure.
//
// The answer is text for people and differs between versions. 2.24 and 2.25 name no process of a
// missing rank; 2.26 counts each kind of operation separately. Unknown lines are ignored. Format:
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html, NVIDIA/nccl
// src/ras/client_support.cc.

#include <string>
#include <string_view>

#include "envgen/failure/stack_groups.h"

namespace envgen {

// Returns a text of at most 500 bytes: "rank-3 does not answer; 2 of 8 ranks have launched 41
// AllReduce operations, others 42". Returns "" if nothing is wrong, or if the answer is about a job
// of more than `world_size` processes (0: not known). The names in `job` are used only if the whole
// job is seen: on another node a process may have the same pid.
std::string ras_text(std::string_view answer, int world_size, const SeenJob& job);

}  // namespace envgen
