#pragma once
// Findings of other sources about ranks that hang. NCCL's RAS threads are queried over a local
// connection. PyTorch's flight recorder writes dumps, which are read. They are requested first if
// the job has made FIFOs for that (TORCH_NCCL_DEBUG_INFO_PIPE_FILE). A call may take until its
// deadline, so it is for a worker with a single thread. RAS exists since NCCL 2.24. Its protocol is
// lines of text, beginning with "CLIENT PROTOCOL 2" (NVIDIA/nccl src/ras/client.cc).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/stack_groups.h"
#include "init/engine/monitor/stack_taker.h"

namespace engine {

// Returns the answer of RAS at `address` to VERBOSE STATUS, at most 256 KiB. `address`:
// "localhost:28028" or "[::1]:28028"; the only accepted name is localhost. RAS is asked to answer
// before `until_ms` (monotonic). At `until_ms`, returns what has arrived of the answer. Returns ""
// if no process answers, or not in this protocol.
std::string ask_ras(std::string_view address, std::int64_t until_ms);

struct AskedDumps {
  std::size_t count = 0;   // number of ranks asked
  std::int64_t at_ms = 0;  // wall clock
};
// Asks the ranks' flight recorders for dumps, with the rights of the job's user.
AskedDumps ask_for_dumps(const StackOrder& order);

// Adds a note of the findings of RAS to `seen`, if there are any.
void add_ras_note(const StackOrder& order, std::int64_t until_ms, envgen::SeenJob& seen);
// Adds to `seen` a note of the recorders' findings, and the ranks that they name. Waits a few
// seconds at most for the dumps that were asked for. Returns the dumps of this node's ranks; if
// these are not known, the dumps of all ranks.
std::vector<envgen::RecorderDump> add_recorder_note(const StackOrder& order,
                                                    const AskedDumps& asked, std::int64_t until_ms,
                                                    envgen::SeenJob& seen);

}  // namespace engine
