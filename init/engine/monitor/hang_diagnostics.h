#pragma once
// The reports of NCCL and PyTorch about ranks that hang. NCCL's RAS threads answer over a local
// connection. PyTorch's flight recorder writes dumps. If the job has made FIFOs for requests
// (TORCH_NCCL_DEBUG_INFO_PIPE_FILE), dumps are requested first. A call may take until its deadline,
// so it is for a worker with a single thread. RAS exists since NCCL 2.24. Its protocol is lines of
// text, beginning with "CLIENT PROTOCOL 2" (NVIDIA/nccl src/ras/client.cc).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/stack_groups.h"
#include "init/engine/monitor/stack_taker.h"

namespace engine {

// Returns RAS's answer to VERBOSE STATUS, at most 256 KiB. `address`: where RAS listens,
// "localhost:28028" or "[::1]:28028"; the only accepted name is localhost. RAS is asked to answer
// before `until_ms` (monotonic clock). At `until_ms`, returns the part of the answer that has
// arrived. Returns "" if no process answers, or not in this protocol.
std::string ask_ras(std::string_view address, std::int64_t until_ms);

struct AskedDumps {
  std::size_t count = 0;   // number of ranks that were asked
  std::int64_t at_ms = 0;  // time of the request, wall clock
};
// Asks the ranks' flight recorders for dumps, with the rights of the job's user.
AskedDumps ask_for_dumps(const StackOrder& order);

// Adds a note with RAS's findings to `seen`, if RAS answers and has any.
void add_ras_note(const StackOrder& order, std::int64_t until_ms, envgen::SeenJob& seen);
// Adds to `seen` a note with the flight recorders' findings, and the ranks that they name as cause.
// Waits at most a few seconds for dumps that were asked for. Returns the dumps of this node's
// ranks, or of all ranks if it is not known which are this node's.
std::vector<envgen::RecorderDump> add_recorder_note(const StackOrder& order,
                                                    const AskedDumps& asked, std::int64_t until_ms,
                                                    envgen::SeenJob& seen);

}  // namespace engine
