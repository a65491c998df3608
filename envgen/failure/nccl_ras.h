#pragma once
// What NCCL's RAS threads answer to VERBOSE STATUS, as a sentence: which ranks of the job do not
// answer, are dead, have launched fewer collective operations than others, or have met an error.
// Not the asking: that is init/engine/monitor/ras_client.h. Pure.
//
// The text is for people, and differs between versions: 2.24 and 2.25 name no process of a missing
// rank, 2.26 counts each kind of operation by itself. What is not known of it is passed over.
// The format: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html,
// NVIDIA/nccl src/ras/client_support.cc.

#include <map>
#include <string>
#include <string_view>

namespace envgen {

// Whom it may speak of.
struct RasJob {
  int world_size = 0;                // 0: not known
  std::map<int, std::string> ranks;  // by process id, where no other node has one like it
};

// "rank-3 does not answer NCCL; 2 of 8 ranks have launched 41 AllReduce operations, others 42",
// within 500 bytes; "" where it finds nothing wrong, or speaks of a larger job than this one.
std::string ras_text(std::string_view answer, const RasJob& job);

}  // namespace envgen
