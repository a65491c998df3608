#pragma once
// What others know of ranks that hang: NCCL's RAS threads, which are asked over a local connection,
// and PyTorch's flight recorder, whose dumps are asked for where the job has made FIFOs for that
// (TORCH_NCCL_DEBUG_INFO_PIPE_FILE), and are read. For a worker with a single thread: it may take
// until its deadline.
// RAS since NCCL 2.24: lines of text, "CLIENT PROTOCOL 2" first; NVIDIA/nccl src/ras/client.cc.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/stack_groups.h"
#include "init/engine/monitor/stack_taker.h"

namespace engine {

// What RAS at `address` ("localhost:28028", "[::1]:28028"; no name but localhost) answers to
// VERBOSE STATUS, at most 256 KiB; "" where nobody or something else answers, or not until
// `until_ms` (monotonic), by which it is told to have done.
std::string ask_ras(std::string_view address, std::int64_t until_ms);

struct AskedDumps {
  std::size_t count = 0;   // of ranks that were asked
  std::int64_t at_ms = 0;  // wall clock
};
// Asks the ranks' recorders for dumps, with the rights of the job's user.
AskedDumps ask_for_dumps(const StackOrder& order);

// Adds a note of what RAS knows to `seen`, unless that is nothing.
void add_ras_note(const StackOrder& order, std::int64_t until_ms, envgen::SeenJob& seen);
// Adds a note of what the recorders know, and the ranks that they name. Waits some seconds at most
// for the dumps that were asked for. Returns the dumps of this node's ranks; of all ranks, if those
// are not known.
std::vector<envgen::RecorderDump> add_recorder_note(const StackOrder& order,
                                                    const AskedDumps& asked, std::int64_t until_ms,
                                                    envgen::SeenJob& seen);

}  // namespace engine
