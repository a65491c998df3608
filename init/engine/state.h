#pragma once
// RUN_DIR/state.json: what `trainit status` shows. Written by PID 1 only, replaced atomically; a
// reader sees an old state or a new one, never half of one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envgen/result.h"

namespace engine {

struct TaskReport {
  std::string name;
  std::string kind;   // "resolve", "main"
  std::string state;  // "idle", "starting", "running", "ended"
  int rank = -1;      // -1: none
  int device = -1;
  int pid = 0;                  // 0: not alive
  int exit_code = -1;           // -1: has not ended
  std::string signal;           // "SIGKILL" when that ended it
  std::string log;              // "" = stdout
  std::int64_t started_ms = 0;  // wall clock, UTC; 0 = not yet
  std::int64_t ended_ms = 0;
};

struct JobReport {
  int pid = 0;
  std::string phase;
  std::string state;  // in the platforms' words: running, success, error, stopped, expired
  std::string platform;
  std::string framework;
  int node_rank = 0;
  int node_count = 1;
  int world_size = 1;
  std::int64_t started_ms = 0;  // wall clock, UTC
  std::int64_t updated_ms = 0;
  std::string waiting_for;  // "" when nothing is waited for
  std::vector<TaskReport> tasks;
  std::string first_failure;       // the message; "" without a failure
  std::string stop_signal;         // "" when none came
  int exit_code = -1;              // -1: still running
  std::int64_t hold_until_ms = 0;  // wall clock, UTC; 0: no debug window
  std::vector<std::string> warnings;
};

std::string state_to_json(const JobReport& report);
envgen::Result<JobReport> state_from_json(std::string_view text, std::string_view where);

// For a person; `colour` with terminal escapes.
std::string state_to_text(const JobReport& report, bool colour);

}  // namespace engine
