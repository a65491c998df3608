#pragma once
// The files of a run. They are in a run directory (events.jsonl, state.json, plan.txt, stacks/), or
// in the directory that `--timeline` copied them to. The latter can have the files of many nodes
// (events-node1.jsonl, ...).

#include <string>
#include <vector>

#include "base/result.h"
#include "init/report/run.h"

namespace report {

// Reads the runs in `directory`: one per events file that has an event, ordered by file name.
// Returns an error if no such file exists.
base::Result<std::vector<NodeRun>> read_runs(const std::string& directory);

}  // namespace report
