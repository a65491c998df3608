#pragma once
// The dumps of PyTorch's flight recorder: the last collectives of each rank, which it writes when
// one of them times out. They are pickles, which PyTorch's own analyzer reads; here they are found
// and named. For workers: a directory may hang.
// https://pytorch.org/tutorials/unstable/flight_recorder_tutorial.html

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envgen/plan/sandbox.h"
#include "init/engine/tasks/job.h"

namespace engine {

struct DumpOrder {
  std::vector<std::string> prefixes;    // of their paths: a rank's number follows
  std::int64_t since_ms = 0;            // wall clock: older ones are of an earlier start
  std::optional<envgen::Identity> job;  // its user, where it is another
};
// Of the job's start that runs now.
DumpOrder dump_order(const Job& job);

struct Dumps {
  std::size_t count = 0;
  std::string first;  // the path of the lowest rank's
};
Dumps find_dumps(const DumpOrder& order);

// "the flight recorder's dumps /d/trace_0 and 7 more: read them with `python -m ... /d/`"; ""
// without any.
std::string dumps_text(const Dumps& dumps);

}  // namespace engine
