#pragma once
// The timeline of a job: RUN_DIR/events.jsonl, a line an event, and RUN_DIR/trace.json, which is a
// whole trace at any moment, so that one is left also where the kernel ends us. Nothing of it is
// needed to run a job: what cannot be written is said once, and each file ends at 4 MiB.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "init/engine/report/trace.h"
#include "init/engine/tasks/job.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"
#include "lifecycle/machine.h"

namespace engine {

// A file that only grows, by whole records.
class RecordFile {
 public:
  // Made anew. `tail` stands behind the last record, the next one takes its place.
  void open(const std::string& path, std::string_view head, std::string_view between,
            std::string_view tail);
  void add(std::string_view record);

 private:
  void say_lost(int error);

  std::string path_;
  sys::Fd file_;
  std::string_view between_;
  std::string_view tail_;
  off_t end_ = 0;  // of the last record
  bool empty_ = true;
  bool lost_ = false;
};

class Timeline {
 public:
  // Before it nothing is recorded; without a directory nothing ever is.
  void open(const std::string& run_dir);
  // Which node this is: the plan is known. A trace waits for it.
  void set_node(int rank, const std::string& host);

  // The machine has answered `event`, being in `before`, and its actions are carried out.
  void stepped(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
               lifecycle::Phase before, const Job& job, const lifecycle::Machine& machine);
  // What the resolver waits for; "" = nothing any more.
  void waits(const std::string& reason);
  // What a task did during a part of its life; for what it has ended with, at any time later.
  void stage(const Job& job, std::uint32_t index, const std::string& name, std::int64_t since_ms,
             std::int64_t until_ms);
  // What a watch or a check has found: `event` names it.
  void note(const char* event, std::string_view text, int rank = -1);
  // What is still open ends now. Both files are copied to the directory `copy_to` ("": nowhere)
  // with the rights of the job's user, as events.jsonl and trace.json, with several nodes as
  // events-node1.jsonl and trace-node1.json; by a worker, which has little time: it may lie on a
  // mount that hangs.
  void finish(const Job& job, const lifecycle::Machine& machine, const std::string& copy_to,
              const proc::SavedSignals& saved);

 private:
  void record_event(const lifecycle::Event& event, const Job& job);
  void record_action(const lifecycle::Action& action, const Job& job);
  void record_task(const char* event, const Job& job, std::uint32_t index, int signal = 0);
  void record_signal(const char* event, int signal);
  void task_ended(const Job& job, std::uint32_t index);
  void name_thread(std::uint32_t thread, const std::string& name);
  void record(TimelineEvent event);
  void trace(const TraceEvent& event);
  void moment(const char* name, const char* category, std::uint32_t thread, std::string text);
  void span(TraceEvent event, std::int64_t start_ms, std::int64_t end_ms);

  bool open_ = false;
  int node_ = -1;
  std::string dir_;
  RecordFile events_;
  RecordFile trace_;
  std::vector<TraceEvent> early_;     // before the node is known
  std::vector<std::string> threads_;  // their names, as far as they were told
  int signals_ = 0;
  std::int64_t phase_since_ms_ = 0;
  std::string wait_;
  std::int64_t wait_since_ms_ = 0;
};

}  // namespace engine
