#pragma once
// The tee beside a job's processes (init/tee): PID 1 makes the streams, holds their reading ends
// without ever reading them, and starts the tee again when it dies, so that its death costs no
// process anything. A tee for each incarnation; the one before ends by itself. All main processes
// write through it, whatever the plan says of their output, so that its end is known when they
// fail; but one that has our terminal keeps that, where the plan does not want it otherwise.

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
  // Called in the tee: what is to be told of the output of the plan's processes, by messages into
  // the descriptor; not `in_full`: nothing is to be told, as the tee dies too often. May be empty,
  // or return nothing.
  using MakeScan = std::function<logtee::Scan(int message_fd, bool in_full)>;

  // `wanted`: processes still run. A tee that died then, or before the first one, is started again,
  // the sooner the rarer it dies.
  explicit Tees(std::function<bool()> wanted);

  // Before the first main process of an incarnation; again before each of them, which does nothing
  // more. Where no tee can be had: a warning, and the processes write to their files, or as we do,
  // by themselves.
  void begin(const envgen::Plan& plan, const proc::SavedSignals& saved, MakeScan make_scan);
  // Lets the process of the plan with this index write to the tee, where it has one.
  void give(std::size_t process, proc::SpawnSpec& spec) const;
  // It has been started, or could not be.
  void started(std::size_t process);
  // Processes are to end: nobody who does not read is waited for much longer.
  void hurry();
  // Waits until the tee has read all that the processes have printed, and returns whether it has.
  // Does not wait longer than the limit, nor while a reader of our stdout or stderr holds the tee
  // up.
  bool catch_up(std::int64_t limit_ms) const;
  // The incarnation is over: the tee takes what is there and ends.
  void retire();
  // Our terminal may have another size; true: the processes' have now too.
  bool resize() const;
  // Waits for the tee's end, or a signal; true: somebody asks for the end of all.
  using Wait = std::function<bool(pollfd& end)>;
  // At the end of all: waits until what was written is where it belongs, in the incarnations before
  // too; once `wait` says so, or without one, no longer than this.
  void finish(std::int64_t limit_ms, const Wait& wait = {});

  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override { return start_at_ms_; }
  void tend(std::int64_t now_ms) override;
  void reaped(const proc::Death& death) override;

  // Tees that live, which are no adopted processes.
  [[nodiscard]] std::vector<pid_t> pids() const;
  // They are the only children that we have, with these others; false where no /proc tells.
  [[nodiscard]] bool are_all_children(const std::vector<pid_t>& beside) const;
  // What was seen of the plan's processes, by their index; nullptr where there is no tee. Shared
  // with each worker that is forked while the incarnation runs.
  [[nodiscard]] const logtee::Shared* seen() const { return shared_ ? &*shared_ : nullptr; }
  // What was lost of the job's output so far; nullptr where nothing is known of it.
  [[nodiscard]] const logtee::Lost* lost() const { return lost_.get(); }
  // Of all its processes, in this incarnation.
  [[nodiscard]] std::uint64_t bytes_seen() const;

 private:
  void on_exit(const proc::Death& death) override;

  struct Streams {
    std::vector<logtee::Source> sources;  // by logtee::Stream
    bool echo = false;
  };

  envgen::Status make_streams(const envgen::Plan& plan);
  envgen::Status start();
  void try_start(std::int64_t now_ms);
  void tell(logtee::Told what);
  [[nodiscard]] bool has_read_all() const;
  // Until a tee's pipe is closed; false: `wait` says that it is enough.
  static bool await_silence(int pipe, const Wait& wait);
  static bool await_closed(int pipe, std::int64_t deadline_ms);
  // Until the tee has ended, and reaps it; false: not by then.
  bool await_end(std::int64_t deadline_ms);

  std::function<bool()> wanted_;
  proc::SavedSignals saved_;
  MakeScan make_scan_;
  logtee::Work work_;
  std::shared_ptr<logtee::Lost> lost_;
  std::optional<logtee::Shared> shared_;  // with a value: there is a tee, or is to be one
  std::vector<Streams> streams_;
  sys::Fd life_;      // our end: closed when the tee is to end
  sys::Fd its_life_;  // the tee's
  std::optional<logtee::Told> told_;
  sys::Fd before_;  // closed by the tee before when it has ended
  bool begun_ = false;
  bool unused_ = false;  // no process of this incarnation writes to it yet
  bool ended_ = false;   // by itself
  struct Retired {
    pid_t pid;
    sys::Fd life;
  };
  std::vector<Retired> retired_;
  std::int64_t started_ms_ = 0;
  int deaths_ = 0;  // soon after their start, in succession
  std::optional<std::int64_t> start_at_ms_;
};

}  // namespace engine
