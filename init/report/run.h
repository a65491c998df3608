#pragma once
// The files that trainit has left of a run on one node: timeline, last state, plan, and last output
// of the ranks. A value; run_files.h reads it.

#include <optional>
#include <string>
#include <vector>

#include "init/engine/report/timeline_event.h"
#include "init/engine/state/state.h"

namespace report {

struct NamedText {
  std::string name;
  std::string text;
};

struct NodeRun {
  std::string path;  // path of the events file
  std::vector<engine::TimelineEvent> events;
  std::optional<engine::JobReport> state;  // nullopt: no state file, or it cannot be read
  std::string plan;                        // "" = no plan file
  std::vector<NamedText> outputs;          // last lines of each task's file
  std::vector<NamedText> stacks;           // content of each file of stacks
  std::vector<std::string> problems;       // errors when reading the files
};

}  // namespace report
