#pragma once
// The tee beside a job's processes (init/tee). PID 1 makes the streams and holds their read ends
// without reading them. PID 1 starts the tee again if it dies, so that its death costs no process
// any output. Each start of the job has its own tee; the previous tee ends on its own.
//
// All main processes write through the tee, whatever the plan says about their output, so that
// their last lines are known when they fail. The exception is a process with trainit's terminal,
// unless the plan wants a tee for it.

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "envgen/plan/plan.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/reap.h"
#include "init/proc/signals.h"
#include "init/proc/spawn.h"
#include "init/tee/source.h"
#include "init/tee/tee.h"

namespace engine {

class Tees : public ChildWorker {
 public:
  // Called in the tee. Returns the scan of the processes' output, which reports by messages into
  // the descriptor. `in_full` false: the scan must report nothing, because the tee dies too often.
  // May be empty, or return an empty scan.
  using MakeScan = std::function<logtee::Scan(int message_fd, bool in_full)>;

  // `wanted` returns true while processes run. A tee that dies then, or before its first process,
  // is started again: at once, or after a pause if it dies often.
  explicit Tees(std::function<bool()> wanted);

  // Creates the streams of the main processes and starts the tee that reads them. Call it before
  // each main process; until retire(), only the first call has an effect. If there can be no tee,
  // it logs a warning. The processes then write to their files, or
  // to trainit's stdout and stderr, directly.
  void begin(const envgen::Plan& plan, const proc::SavedSignals& saved, MakeScan make_scan);
  // Connects the process with this index in the plan to the tee, if it has streams.
  void give(std::size_t process, proc::SpawnSpec& spec) const;
  // Call it when the process has been started or could not be started. Closes the write ends.
  void started(std::size_t process);
  // Limits the wait for readers that read nothing, because processes are about to end.
  void hurry();
  // Blocks until the tee has read everything that the processes have printed. Returns false after
  // `limit_ms`, or while a reader of trainit's stdout or stderr blocks the tee.
  bool catch_up(std::int64_t limit_ms) const;
  // Ends the start: the tee reads the rest of the output and exits.
  void retire();
  // Call it when trainit's terminal may have changed its size. Returns true if a terminal of the
  // processes has changed with it.
  bool resize() const;
  // Waits for the tee's exit or a signal; returns true if trainit must end now.
  using Wait = std::function<bool(pollfd& end)>;
  // Waits until all output is written, that of earlier starts too. Without `wait`, or once it
  // returns true, this takes at most `limit_ms`. Call it before trainit exits.
  void finish(std::int64_t limit_ms, const Wait& wait = {});

  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override { return start_at_ms_; }
  void tend(std::int64_t now_ms) override;
  void reaped(const proc::Death& death) override;

  // Returns the tees that are alive; they are not adopted processes.
  [[nodiscard]] std::vector<pid_t> pids() const;
  // Returns true if the tees and the processes `beside` are the only children; false without /proc.
  [[nodiscard]] bool are_all_children(const std::vector<pid_t>& beside) const;
  // Returns what was seen of the plan's processes, by their index; nullptr without a tee. Workers
  // that are forked during the start share this memory.
  [[nodiscard]] const logtee::Shared* seen() const { return shared_ ? &*shared_ : nullptr; }
  // Returns the count of the job's lost output; nullptr if unknown.
  [[nodiscard]] const logtee::Lost* lost() const { return lost_.get(); }
  // Returns the bytes of all processes in this start.
  [[nodiscard]] std::uint64_t bytes_seen() const;

 private:
  void on_exit(const proc::Death& death) override;

  struct Streams {
    std::vector<logtee::Source> sources;  // indexed by logtee::Stream
    bool echo = false;
  };

  base::Status make_streams(const envgen::Plan& plan);
  base::Status start();
  void try_start(std::int64_t now_ms);
  void tell(logtee::Told what);
  [[nodiscard]] bool has_read_all() const;
  // Waits until a tee's pipe is closed. Returns false if `wait` ends the wait.
  static bool await_silence(int pipe, const Wait& wait);
  static bool await_closed(int pipe, std::int64_t deadline_ms);
  // Waits until the tee has ended, and reaps it. Returns false at the deadline.
  bool await_end(std::int64_t deadline_ms);

  std::function<bool()> wanted_;
  proc::SavedSignals saved_;
  MakeScan make_scan_;
  logtee::Work work_;
  std::shared_ptr<logtee::Lost> lost_;
  std::optional<logtee::Shared> shared_;  // has a value while a tee runs or is to run
  std::vector<Streams> streams_;
  sys::Fd lifeline_;           // write end, trainit's: closed to end the tee
  sys::Fd lifeline_read_end_;  // the tee's
  std::optional<logtee::Told> told_;
  sys::Fd before_;  // closed by the previous tee when it exits
  bool begun_ = false;
  bool unused_ = false;  // no process of this start writes to it yet
  bool ended_ = false;   // exited with code 0
  struct Retired {
    pid_t pid;
    sys::Fd lifeline;
  };
  std::vector<Retired> retired_;
  std::int64_t started_ms_ = 0;
  int deaths_ = 0;  // consecutive deaths soon after a start
  std::optional<std::int64_t> start_at_ms_;
};

}  // namespace engine
