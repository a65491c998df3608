#pragma once
// A worker is a forked child for work that may hang, crash or take long, so that PID 1 never waits
// for it. It has a pid, a channel for its messages, and a deadline. A subclass for each kind of
// worker handles its messages, its lateness and its exit. It may post events, but must not step the
// machine. The supervisor's loop handles all workers alike, by their list (worker_list.h).

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/engine/workers/messages.h"
#include "init/proc/reap.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"

namespace engine {

class ChildWorker {
 public:
  // Accepts messages of the kinds 1 to `kinds`, of at most `most_bytes` each.
  explicit ChildWorker(std::uint32_t kinds = 0, std::uint32_t most_bytes = 0)
      : kinds_(kinds), most_bytes_(most_bytes) {}
  virtual ~ChildWorker() = default;
  ChildWorker(const ChildWorker&) = delete;
  ChildWorker& operator=(const ChildWorker&) = delete;

  // Takes over a child of trainit. `pipe`: read end for its messages, non-blocking; may be invalid.
  // Requires that the previous child has ended.
  void adopt(pid_t pid, sys::Fd pipe = {});
  [[nodiscard]] pid_t pid() const { return pid_; }  // 0: no child is alive
  // Returns the descriptor to poll for read(); -1: none, no more messages will come.
  [[nodiscard]] virtual int channel() const;
  // Returns when tend() is due, in milliseconds of the monotonic clock.
  [[nodiscard]] virtual std::optional<std::int64_t> deadline_ms() const { return deadline_ms_; }

  // Handles the complete messages that have arrived, a few megabytes per call at most. A child that
  // sends a damaged message gets SIGKILL.
  virtual void read();
  // Called in each turn of the loop. If the child has missed its deadline, calls on_overdue() and
  // sends SIGKILL.
  virtual void tend(std::int64_t now_ms);
  // Blocks until the child has closed its pipe, at most `most_ms`. Only for use before trainit
  // exits, when the loop no longer runs.
  void await(std::int64_t most_ms) const;
  // Called after each step of the machine.
  virtual void stepped() {}
  // Called when any child of trainit has ended. If it is this worker's child, handles its remaining
  // messages and then calls on_exit().
  virtual void reaped(const proc::Death& death);

 protected:
  // kMore: further messages may follow.
  enum class Heard : unsigned char { kMore, kLast, kDamaged };
  virtual Heard on_message(std::uint32_t /*kind*/, std::string_view /*bytes*/) {
    return Heard::kMore;
  }
  // Called when no more messages will come: the channel has ended, or the child sent its last or a
  // damaged message. Not called after kill().
  virtual void on_silence(bool /*damaged*/) {}
  virtual void on_overdue() {}
  virtual void on_exit(const proc::Death& /*death*/) {}

  // Forks the child with a pipe for its messages; see fork_messenger().
  base::Status fork(const std::string& what, const proc::SavedSignals& saved,
                    const std::function<int(int fd)>& body, std::span<const int> keep = {});
  // Sends SIGKILL and drops all further messages.
  void kill();
  // Calls `start` when `wanted` becomes true, and kills the child when `wanted` becomes false.
  // While `wanted` stays true, a child that exited or could not be started is not started again.
  void keep(bool wanted, const std::function<void()>& start);

  pid_t pid_ = 0;
  std::optional<MessagePipe> messages_;
  std::optional<std::int64_t> deadline_ms_;

 private:
  std::uint32_t kinds_;
  std::uint32_t most_bytes_;
  bool kept_ = false;
};

}  // namespace engine
