#pragma once
// What NCCL's RAS threads answer to VERBOSE STATUS, as a sentence: which ranks of the job do not
// answer, are dead, have launched fewer collective operations than others, or have met an error.
// Not the asking: that is init/engine/monitor/hang_diagnostics.h. Pure.
//
// The text is for people, and differs between versions: 2.24 and 2.25 name no process of a missing
// rank, 2.26 counts each kind of operation by itself. What is not known of it is passed over.
// The format: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html,
// NVIDIA/nccl src/ras/client_support.cc.

#include <string>
#include <string_view>

#include "envgen/failure/stack_groups.h"

namespace envgen {

// "rank-3 does not answer; 2 of 8 ranks have launched 41 AllReduce operations, others 42", within
// 500 bytes; "" where it finds nothing wrong, or speaks of a job of more than `world_size`
// processes (0: not known). Ranks of `job` have their names where all of it is seen: on other nodes
// a process may have the same id.
std::string ras_text(std::string_view answer, int world_size, const SeenJob& job);

}  // namespace envgen
