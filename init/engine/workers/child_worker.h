#pragma once
// A worker is a forked child for work that may hang, crash or take long, so that PID 1 never waits
// for it. It has a pid, a channel for its messages, and a deadline. A subclass for each kind of
// worker handles its messages, its lateness and its exit. It may post events, but must not step the
// machine. The loop knows workers only by the list (worker_list.h).

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
  // Accepts messages of the kinds 1 .. `kinds` with at most `most_bytes`.
  explicit ChildWorker(std::uint32_t kinds = 0, std::uint32_t most_bytes = 0)
      : kinds_(kinds), most_bytes_(most_bytes) {}
  virtual ~ChildWorker() = default;
  ChildWorker(const ChildWorker&) = delete;
  ChildWorker& operator=(const ChildWorker&) = delete;

  // Takes over a child that writes messages into `pipe`, which does not block. The next child may
  // be adopted when this one has ended.
  void adopt(pid_t pid, sys::Fd pipe = {});
  [[nodiscard]] pid_t pid() const { return pid_; }  // 0: no child is alive
  // Returns the descriptor to poll; -1: no more messages will come.
  [[nodiscard]] virtual int channel() const;
  // Returns when tend() is due, in milliseconds of the monotonic clock.
  [[nodiscard]] virtual std::optional<std::int64_t> deadline_ms() const { return deadline_ms_; }

  // Handles the complete messages that have arrived, a few megabytes per call at most. A child that
  // sends a damaged message gets SIGKILL.
  virtual void read();
  // Called in each turn. A child that has missed its deadline gets SIGKILL.
  virtual void tend(std::int64_t now_ms);
  // Blocks until the child has closed its pipe, at most `most_ms`. For the time before trainit
  // exits, when its messages are no longer read.
  void await(std::int64_t most_ms) const;
  // Called after each step of the machine.
  virtual void stepped() {}
  // Called when a child of trainit has ended. Messages of this worker are handled before on_exit().
  virtual void reaped(const proc::Death& death);

 protected:
  enum class Heard : unsigned char { kMore, kLast, kDamaged };  // kMore: something may follow
  virtual Heard on_message(std::uint32_t /*kind*/, std::string_view /*bytes*/) {
    return Heard::kMore;
  }
  // Called when no more messages will come: the channel has ended, or the child sent its last or a
  // damaged message.
  virtual void on_silence(bool /*damaged*/) {}
  virtual void on_overdue() {}
  virtual void on_exit(const proc::Death& /*death*/) {}

  // Forks the child with a pipe for its messages; see fork_messenger().
  base::Status fork(const std::string& what, const proc::SavedSignals& saved,
                    const std::function<int(int fd)>& body, std::span<const int> keep = {});
  // Sends SIGKILL and drops all further messages.
  void kill();
  // Calls `start` when `wanted` becomes true, and kills the child when it becomes false. A child
  // that could not be started, or has exited, is not started again in between.
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
