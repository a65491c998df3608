#pragma once
// What the engine knows of each task beyond the machine: its name, its process, its times. The
// index of a record is the task's index in lifecycle::Machine::tasks().

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envgen/plan.h"
#include "init/engine/state.h"
#include "init/proc/spawn.h"
#include "init/sys/fd.h"
#include "lifecycle/machine.h"

namespace engine {

struct TaskRecord {
  std::string name;
  int process = -1;  // index in the plan's processes; -1: none of them
  pid_t pid = 0;     // 0: not alive
  std::uint32_t incarnation = 0;
  sys::Fd start_pipe;  // open until its program runs or it ends
  std::optional<proc::StartFailure> failure;
  std::optional<lifecycle::Ending> ending;  // of the last incarnation, known before the machine's
  bool told_to_stop = false;                // it has had a stop signal
  bool core = false;
  std::int64_t started_ms = 0;  // wall clock, UTC
  std::int64_t ended_ms = 0;
};

struct Job {
  envgen::Plan plan;
  std::vector<TaskRecord> records;
  std::string resolver_message;  // why it failed; "" otherwise
  std::string waiting_for;
  std::string first_failure;
  std::optional<std::uint64_t> oom_kills_before;
};

// The one message about what failed first: who, how, when, why as far as the kernel tells, where
// its output is, who was stopped because of it, what to do.
std::string describe_failure(const Job& job, const lifecycle::Machine& machine,
                             std::optional<std::uint64_t> oom_kills_now);

JobReport report_of(const Job& job, const lifecycle::Machine& machine);

// Writes `message` to /dev/termination-log where that exists, at most 4096 bytes, cut between
// UTF-8 characters. The file is a bind mount: written in place, never created.
void write_termination_log(const char* path, std::string_view message);

}  // namespace engine
