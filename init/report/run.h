#pragma once
// What one node's trainit has left of a run: its timeline, its last state, its plan, and what its
// ranks printed last. A value; run_files.h reads it.

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
  std::string path;  // of its events
  std::vector<engine::TimelineEvent> events;
  std::optional<engine::JobReport> state;  // nullopt: there is none, or it cannot be read
  std::string plan;                        // "" = there is none
  std::vector<NamedText> outputs;          // by task: the last lines of its file
  std::vector<NamedText> stacks;           // by file
  std::vector<std::string> problems;       // what could not be read of it
};

}  // namespace report
