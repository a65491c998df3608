#pragma once
// The timeline of a job: RUN_DIR/events.jsonl, a line an event. It is whole at any moment, so that
// one is left also where the kernel ends us. Nothing of it is needed to run a job: what cannot be
// written is said once, and the file ends at 4 MiB. `trainit report` makes charts and traces of it.

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

// A file that only grows, by whole records.
class RecordFile {
 public:
  // Made anew.
  void open(const std::string& path);
  // Written by flush(), several in one write.
  void add(std::string_view record);
  void flush();

 private:
  void write(std::string_view records);
  void say_lost(int error);

  std::string path_;
  std::string waiting_;  // records that are not in the file yet
  sys::Fd file_;
  off_t end_ = 0;  // of the last record
  bool lost_ = false;
};

class Timeline {
 public:
  // Before it nothing is recorded; without a directory nothing ever is.
  void open(const std::string& run_dir);
  // Which node this is: the plan is known.
  void set_node(int rank, const std::string& host);

  // The machine has answered `event`, being in `before`, and its actions are carried out.
  void stepped(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
               lifecycle::Phase before, const Job& job, const lifecycle::Machine& machine);
  // What the resolver waits for; "" = nothing any more.
  void waits(const std::string& reason);
  // What a task has done since then.
  void stage(const Job& job, std::uint32_t index, const std::string& name, std::int64_t since_ms);
  // What is known of the first failure: its cause, and what its process printed of it.
  void failure_output(const FailureDetail& failure);
  // What a watch or a check has found: `event` names it.
  void note(const char* event, std::string_view text, int rank = -1);
  // What was recorded since is in the file: before each wait.
  void flush() { events_.flush(); }
  // The events, the last state and the plan are copied to the directory `copy_to` ("": nowhere)
  // with the rights of the job's user: events.jsonl, state.json and plan.txt, with several nodes
  // events-node1.jsonl and so on; by a worker, which has little time: it may lie on a mount that
  // hangs.
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
