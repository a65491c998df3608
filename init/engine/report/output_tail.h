#pragma once
// The tail of what a process has printed, from its file or from what the tee has seen of it. A file
// may lie on a mount that hangs, so a forked worker does it, and PID 1 waits for it no longer than
// it likes.

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

// The end of what a process printed: bytes as they came, at most logtee::kRingBytes of them.
struct LastBytes {
  std::string bytes;
  bool whole = true;  // from the first line on; else the first one may be torn
};

// Of the file at `path`; nothing where it was not written since `since_ms` (wall clock), for then
// it is of an earlier process. Nothing too where it is no regular file. A log that cannot be read,
// or that others may have put there (sys::open_to_read), is one line that says so. `job_user`: the
// job's user, where it is another. For a worker: it may hang.
LastBytes last_bytes_in(const std::string& path, const envgen::Identity* job_user,
                        std::int64_t since_ms);

// Of a process that goes through the tee (Shared::output_tail); waits until then (monotonic clock)
// for the tee to have seen its end.
LastBytes last_bytes_of_tee(const logtee::Shared& seen, std::size_t process, std::int64_t until_ms);

class OutputTail : public ChildWorker {
 public:
  OutputTail();

  // `look` tells what it finds, the last word counts. It may hang: it runs in the worker, and is
  // waited for so long.
  using Tell = std::function<void(const PrintedEnd&)>;
  envgen::Status start(const std::function<void(const Tell&)>& look,
                       const proc::SavedSignals& saved, std::int64_t most_ms);
  // It may still come.
  [[nodiscard]] bool awaited() const { return awaited_; }
  void give_up();
  // What has come, once; nothing where nothing did.
  PrintedEnd take() { return std::exchange(end_, {}); }

 private:
  Heard on_message(std::uint32_t kind, std::string_view text) override;
  void on_silence(bool damaged) override;
  void on_overdue() override;

  bool awaited_ = false;
  PrintedEnd end_;
};

}  // namespace engine
