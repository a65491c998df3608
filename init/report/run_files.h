#pragma once
// The files of a run: a run directory (events.jsonl, state.json, plan.txt, stacks/), or one that
// `--timeline` copied them to, with those of one node or of many (events-node1.jsonl, ...).

#include <string>
#include <vector>

#include "base/result.h"
#include "init/report/run.h"

namespace report {

// One for each events file in `directory`, by name; an error where there is none.
envgen::Result<std::vector<NodeRun>> read_runs(const std::string& directory);

}  // namespace report
