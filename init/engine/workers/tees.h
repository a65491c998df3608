#pragma once
// The tee beside a job's processes (init/tee): a child that reads their output, and writes it to
// logs and to trainit's stdout and stderr. PID 1 creates the pipes and keeps their read ends open
// without reading them. So if the tee dies, PID 1 starts it again, and no output is lost. Each
// start of the job has its own tee; the tee of the previous start exits when it has written the
// rest.
//
// All main processes write through the tee, so that their last lines are known when they fail. The
// exception is a process whose output is trainit's terminal, unless the plan wants a tee for it.

#include <poll.h>
#include <sys/types.h>

#include <atomic>
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
  // The function that the tee calls for a scan of the processes' output. The scan reports by
  // messages into `message_fd`. If `in_full` is false, the scan must report nothing, because the
  // tee dies too often. The function may be empty, or return an empty scan.
  using MakeScan = std::function<logtee::Scan(int message_fd, bool in_full)>;

  // `wanted` returns true while main processes run. A tee that dies then, or before its first
  // process was started, is started again: at once, or after a pause if it dies often.
  explicit Tees(std::function<bool()> wanted);

  // Starts the tee of a start of the job. Call it before each main process; only the first call has
  // an effect. If the tee cannot be started, logs a warning. The processes then write directly to
  // their files, or to trainit's stdout and stderr.
  void begin(const envgen::Plan& plan, const proc::SavedSignals& saved, MakeScan make_scan);
  // Connects the process with this index in the plan to the tee: sets the output in `spec`. Does
  // nothing if the process has no streams.
  void give(std::size_t process, proc::SpawnSpec& spec) const;
  // Closes PID 1's write ends of the process's streams, so that they end with the process. Call it
  // when the process was started or could not be started.
  void started(std::size_t process);
  // Makes the tee wait only shortly for a reader that reads nothing. Call it when processes are
  // about to end, which must not be blocked by that reader.
  void hurry();
  // Blocks until the tee has read everything that the processes have printed. Returns false after
  // `limit_ms`, or while a reader of trainit's stdout or stderr blocks the tee.
  bool catch_up(std::int64_t limit_ms) const;
  // Ends the tee of this start, without blocking: it reads the rest of the output and exits.
  void retire();
  // Call it when trainit's terminal may have changed its size. Returns true if a terminal of the
  // processes has changed with it.
  bool resize() const;
  // The function that waits for the tee's exit or a signal. Returns true if trainit must exit now.
  using Wait = std::function<bool(pollfd& end)>;
  // Blocks until all output is written, also that of earlier starts. Without `wait`, or as soon as
  // `wait` returns true, this takes at most `limit_ms`. Call it before trainit exits.
  void finish(std::int64_t limit_ms, const Wait& wait = {});

  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override { return start_at_ms_; }
  void tend(std::int64_t now_ms) override;
  void reaped(const proc::Death& death) override;

  // Returns the pids of the tees that are alive.
  [[nodiscard]] std::vector<pid_t> pids() const;
  // Returns true if all children of trainit are tees or in `beside`. Returns false without /proc.
  [[nodiscard]] bool are_all_children(const std::vector<pid_t>& beside) const;
  // Returns what the tee has seen of the processes' output, by index in the plan; nullptr without a
  // tee. It is shared memory, which workers that are forked during this start can read too.
  [[nodiscard]] const logtee::Shared* seen() const { return shared_ ? &*shared_ : nullptr; }
  // Returns what all tees know together; nullptr without a tee.
  [[nodiscard]] const logtee::OutputTotals* totals() const { return totals_.get(); }
  // Returns OutputTotals::last_ms of the tees, also of those to come; nullptr if there is no
  // memory.
  std::shared_ptr<const std::atomic<std::int64_t>> last_output_ms();
  // Returns the number of bytes that all processes have printed in this start.
  [[nodiscard]] std::uint64_t bytes_seen() const;

 private:
  void on_exit(const proc::Death& death) override;

  struct Streams {
    std::vector<logtee::Source> sources;  // PID 1's ends of the streams, indexed by logtee::Stream
    bool echo = false;
  };

  void need_totals();  // allocates them; they stay nullptr if there is no memory
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
  std::shared_ptr<logtee::OutputTotals> totals_;
  // Has a value from begin() to retire(), unless there is no tee.
  std::optional<logtee::Shared> shared_;
  std::vector<Streams> streams_;
  sys::Fd lifeline_;  // write end of the pipe for orders to the tee; closing it ends the tee
  sys::Fd lifeline_read_end_;  // read end of that pipe, for the tee
  std::optional<logtee::Told> told_;
  sys::Fd before_;  // pipe that the previous start's tee closes when it exits
  bool begun_ = false;
  bool unused_ = false;  // no process of this start was started yet
  bool ended_ = false;   // the tee has exited with code 0: all output is written
  struct Retired {
    pid_t pid;
    sys::Fd lifeline;
  };
  std::vector<Retired> retired_;
  std::int64_t started_ms_ = 0;
  int deaths_ = 0;  // number of deaths in a row, each soon after the tee's start
  std::optional<std::int64_t> start_at_ms_;
};

}  // namespace engine
