#pragma once
// A worker is a forked child that does what may hang, crash or take long, and never keeps PID 1
// waiting: it has a pid, a channel that it speaks on, and a deadline. A class for each kind of
// worker says what is done when it speaks, is late, or has ended; it may post events, and does
// nothing that steps the machine. The loop knows them by the list (worker_list.h) alone.

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
  // Its messages are of the kinds 1 .. `kinds` and have at most `most_bytes`.
  explicit ChildWorker(std::uint32_t kinds = 0, std::uint32_t most_bytes = 0)
      : kinds_(kinds), most_bytes_(most_bytes) {}
  virtual ~ChildWorker() = default;
  ChildWorker(const ChildWorker&) = delete;
  ChildWorker& operator=(const ChildWorker&) = delete;

  // Takes over a child that writes messages into `pipe`, which does not block; the next one may
  // come when this one has ended.
  void adopt(pid_t pid, sys::Fd pipe = {});
  [[nodiscard]] pid_t pid() const { return pid_; }  // 0: none lives
  // The descriptor to wait for; -1: nothing more will come.
  [[nodiscard]] virtual int channel() const;
  // When tend() has something to do, in milliseconds of the monotonic clock.
  [[nodiscard]] virtual std::optional<std::int64_t> deadline_ms() const { return deadline_ms_; }

  // Takes what has come and is complete; of one call a few megabytes at most. One that sends a
  // damaged message gets SIGKILL.
  virtual void read();
  // In each turn. One that has missed its deadline gets SIGKILL.
  virtual void tend(std::int64_t now_ms);
  // Waits for the end of one that nobody hears any more, at most so long: before our own.
  void await(std::int64_t most_ms) const;
  // The machine has taken a step.
  virtual void stepped() {}
  // A child of ours has ended. What this worker has said is taken before its end.
  virtual void reaped(const proc::Death& death);

 protected:
  enum class Heard : unsigned char { kMore, kLast, kDamaged };  // kMore: something may follow
  virtual Heard on_message(std::uint32_t /*kind*/, std::string_view /*bytes*/) {
    return Heard::kMore;
  }
  // Nothing more will come: its channel is at its end, or it gave its last or a damaged message.
  virtual void on_silence(bool /*damaged*/) {}
  virtual void on_overdue() {}
  virtual void on_exit(const proc::Death& /*death*/) {}

  // proc::fork_worker with a pipe to hear it by: see fork_messenger.
  envgen::Status fork(const std::string& what, const proc::SavedSignals& saved,
                      const std::function<int(int fd)>& body, std::span<const int> keep = {});
  // SIGKILL, and what it says counts no more.
  void kill();
  // Calls `start` once while one is `wanted` and kills it when not: one that could not be started,
  // or has ended by itself, is not started again before that.
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
