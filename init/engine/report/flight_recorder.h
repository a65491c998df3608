#pragma once
// Finds and reads the dumps of PyTorch's flight recorder. A dump has the last collectives of one
// rank; PyTorch writes it when a collective times out. envgen/failure/recorder_verdict.h judges the
// dumps. They are read with the rights of the job's user. For workers, as a directory may hang.
// https://pytorch.org/tutorials/unstable/flight_recorder_tutorial.html

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envgen/failure/recorder_dump.h"
#include "envgen/plan/sandbox.h"
#include "init/engine/tasks/job.h"

namespace engine {

struct DumpOrder {
  std::vector<std::string> prefixes;    // paths of the dumps without the rank's number at the end
  std::int64_t since_ms = 0;            // begin of the start, wall clock; older dumps are ignored
  std::optional<envgen::Identity> job;  // the job's user; nullopt if it is trainit's own
  int world_size = 0;                   // 0: not known, because a launcher starts the ranks
};
// Returns where to look for the dumps of the current start of the job.
DumpOrder dump_order(const Job& job);

struct RecorderFile {
  int rank = 0;
  std::string path;
  std::int64_t written_ms = 0;  // time of the last write, wall clock
};
struct Dumps {
  std::size_t count = 0;
  std::vector<RecorderFile> files;  // dumps of the lowest ranks, at most 1,024
};
Dumps find_dumps(const DumpOrder& order);

struct RecorderFindings {
  std::vector<envgen::RecorderDump> dumps;  // the dumps that could be read
  std::vector<int> culprits;                // ranks that the others wait for (RecorderVerdict)
  std::size_t unreadable = 0;  // number of dumps not read: damaged, incomplete or beyond a limit
  // Text such as "the flight recorder: rank 12 has not entered all_reduce 27 of group DP, in which
  // 8 ranks wait (dumps /d/trace_0 and 15 more)". If no rank can be named, the text has the command
  // that reads the dumps. "": no dump was found.
  std::string text;
};
// Finds, reads and judges the dumps, until `until_ms` (monotonic). Reads at most 8 MiB of each dump
// and 256 MiB of all. A dump that cannot be read does not hide the others. `where`: on_node() if
// other nodes print the text too, otherwise "".
RecorderFindings read_dumps(const DumpOrder& order, std::int64_t until_ms,
                            const std::string& where = "");

}  // namespace engine
