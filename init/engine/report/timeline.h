#pragma once
// The timeline of a job: RUN_DIR/events.jsonl, one line per event. Only whole lines are appended,
// so the file remains usable if the kernel kills PID 1. If the file cannot be opened or written,
// the job continues; trainit logs this once, until a write succeeds. The file ends at 4 MiB.
// `trainit report` makes charts and traces of it.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "init/engine/report/timeline_event.h"
#include "init/engine/tasks/job.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"
#include "lifecycle/machine.h"

namespace engine {

// A file to which whole records are appended.
class RecordFile {
 public:
  // Creates the file, or empties it.
  void open(const std::string& path);
  // Adds a record to those that flush() writes, all in one write.
  void add(std::string_view record);
  void flush();

 private:
  void write(std::string_view records);
  void say_lost(int error);

  std::string path_;
  std::string waiting_;  // records that are not in the file yet
  sys::Fd file_;
  off_t end_ = 0;  // offset after the last record
  bool lost_ = false;
};

class Timeline {
 public:
  // Begins the recording in `run_dir`. If it is "", nothing is recorded.
  void open(const std::string& run_dir);
  // Sets the rank and the name of this node. Call it when the plan is known; later calls are
  // ignored.
  void set_node(int rank, const std::string& host);

  // Records an event of the machine and the actions that followed. Call it when the actions were
  // carried out. `before`: the machine's phase before the event.
  void stepped(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
               lifecycle::Phase before, const Job& job, const lifecycle::Machine& machine);
  // Records the reason why the resolver waits; "": it no longer waits.
  void waits(const std::string& reason);
  // Records a stage of the task with this index, such as "copying", which lasted from `since_ms`
  // (wall clock) until now.
  void stage(const Job& job, std::uint32_t index, const std::string& name, std::int64_t since_ms);
  // Records the facts of the first failure: its cause, and the last lines of its process.
  void failure_output(const FailureDetail& failure);
  // Records a finding, such as one of a watch. `event`: its name in the timeline.
  void note(const char* event, std::string_view text, int rank = -1);
  // Writes the recorded events to the file. Call it before each wait.
  void flush() { events_.flush(); }
  // Ends the recording. If `copy_to` is not "", a worker then copies the events, the last state and
  // the plan to that directory, with the rights of the job's user. The copies are events.jsonl,
  // state.json and plan.txt; with several nodes events-node1.jsonl and so on. The worker has at
  // most 5 s (1 s after a stop signal), as the directory may lie on a mount that hangs.
  void finish(const Job& job, const lifecycle::Machine& machine, const std::string& copy_to,
              const proc::SavedSignals& saved);

 private:
  void record_event(const lifecycle::Event& event, const Job& job);
  void record_action(const lifecycle::Action& action, const Job& job);
  void record_task(const char* event, const Job& job, std::uint32_t index, int signal = 0);
  void record_signal(const char* event, int signal);
  void task_ended(const Job& job, std::uint32_t index);
  void record(TimelineEvent event);

  bool open_ = false;
  int node_ = -1;
  std::string dir_;
  RecordFile events_;
  int signals_ = 0;
  std::string wait_;
};

}  // namespace engine
