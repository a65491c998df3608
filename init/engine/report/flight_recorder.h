#pragma once
// The dumps of PyTorch's flight recorder: the last collectives of each rank. PyTorch writes them
// when a collective times out. This file finds and reads them, with the rights of the job's user.
// envgen/failure/recorder_verdict.h judges them. For workers: a directory may hang.
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
  std::vector<std::string> prefixes;    // path prefixes of the dumps, followed by the rank's number
  std::int64_t since_ms = 0;            // wall clock; older dumps are of an earlier start
  std::optional<envgen::Identity> job;  // the job's user; nullopt if it is trainit's own
  int world_size = 0;                   // 0: not known, as a launcher's ranks are not counted
};
// Returns the order for the current start of the job.
DumpOrder dump_order(const Job& job);

struct RecorderFile {
  int rank = 0;
  std::string path;
  std::int64_t written_ms = 0;  // wall clock
};
struct Dumps {
  std::size_t count = 0;
  std::vector<RecorderFile> files;  // dumps of the lowest ranks, at most 1,024
};
Dumps find_dumps(const DumpOrder& order);

struct RecorderFindings {
  std::vector<envgen::RecorderDump> dumps;  // the dumps that could be read
  std::vector<int> culprits;                // ranks that the others wait for (RecorderVerdict)
  std::size_t unreadable = 0;               // dumps not read: damaged, incomplete or beyond a limit
  // Text such as "the flight recorder: rank 12 has not entered all_reduce 27 of group DP, in which
  // 8 ranks wait (dumps /d/trace_0 and 15 more)". If no rank is named, the text contains the
  // command that reads the dumps. "": no dump was found.
  std::string text;
};
// Finds, reads and judges the dumps, until `until_ms` (monotonic). Reads at most 8 MiB of each dump
// and 256 MiB of all. A dump that cannot be read does not hide the others. `where`: on_node(), for
// a text that other nodes print too.
RecorderFindings read_dumps(const DumpOrder& order, std::int64_t until_ms,
                            const std::string& where = "");

}  // namespace engine
