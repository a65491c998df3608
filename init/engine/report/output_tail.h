#pragma once
// Reads the end of a process's output, from its file or from the tee. A file may be on a mount that
// hangs. So a forked worker reads it, and PID 1 waits for the worker until a deadline at most.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/engine/state/failure.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/signals.h"
#include "init/tee/shared.h"

namespace engine {

// The end of a process's output: the original bytes, at most logtee::kRingBytes of them.
struct LastBytes {
  std::string bytes;
  // true: all of the output; false: its beginning is missing, so the first line may be cut.
  bool whole = true;
};

// Returns the end of the file at `path`. Returns no bytes if it is not a regular file, or was last
// written before `since_ms` (wall clock): then it is of an earlier process. If the file cannot be
// read, or others may have created it (sys::open_to_read), returns one line with the reason.
// `job_user`: the job's user; nullptr if it is trainit's own. May hang, so it is for a worker.
LastBytes last_bytes_in(const std::string& path, const envgen::Identity* job_user,
                        std::int64_t since_ms);

// Returns the end of the output of a process that goes through the tee (Shared::output_tail). Waits
// until `until_ms` (monotonic clock) for the tee to have read all of its output.
LastBytes last_bytes_of_tee(const logtee::Shared& seen, std::size_t process, std::int64_t until_ms);

class OutputTail : public ChildWorker {
 public:
  OutputTail();

  // Starts a worker that runs `look`, which may hang. `look` reports its findings by calling the
  // Tell that it gets; the last report counts. The worker is killed after `most_ms`.
  using Tell = std::function<void(const PrintedEnd&)>;
  base::Status start(const std::function<void(const Tell&)>& look, const proc::SavedSignals& saved,
                     std::int64_t most_ms);
  // Returns whether the worker may still report findings.
  [[nodiscard]] bool awaited() const { return awaited_; }
  void give_up();
  // Returns the last findings, once; empty if none arrived.
  PrintedEnd take() { return std::exchange(end_, {}); }

 private:
  Heard on_message(std::uint32_t kind, std::string_view text) override;
  void on_silence(bool damaged) override;
  void on_overdue() override;

  bool awaited_ = false;
  PrintedEnd end_;
};

}  // namespace engine
