#pragma once
// A process that stands by for one rank: forked and confined as the rank is, with the rank's own
// command, it has imported modules and waits at a socket (envgen/resolve/warm.py). It is handed the
// rank's descriptors and variables there, instead of a fork and an exec, and is the rank from then
// on. What it imports, and when it may be the rank, others decide; whether it can be is asked here.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envgen/plan/sandbox.h"
#include "envgen/plan/warm.h"
#include "envgen/resolve/warm.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/spawn.h"
#include "init/sys/fd.h"

namespace engine {

class Spare : public ChildWorker {
 public:
  enum class State : unsigned char { kNone, kImporting, kReady, kGivenUp };

  // `changed` is called when its state is another one.
  Spare(const WorkerContext& context, std::function<void()> changed)
      : context_(context), changed_(std::move(changed)) {}

  // The rank with this name is started so: the next one that stands by is for this.
  void note_start(const std::string& name, const proc::SpawnSpec& spec);
  // Starts one, which imports `warm.modules`. Errors are the kernel's, of a fork and of
  // descriptors.
  envgen::Status start_spare(const envgen::WarmPlan& warm, const envgen::WarmProcess& process);
  // Why a rank that starts as `spec` cannot be the one that stands by; "" = it can.
  [[nodiscard]] std::string cold_reason(const proc::SpawnSpec& spec,
                                        const std::vector<std::string>& free) const;
  // Only of one that fits.
  envgen::Result<proc::Spawned> hand_over(const proc::SpawnSpec& spec);
  // Of one that became a rank, once: why it started cold all the same.
  std::optional<std::string> take_went_cold() { return std::exchange(went_cold_, std::nullopt); }
  // It is handed its work, and has not said yet that it is the rank.
  [[nodiscard]] bool is_handed() const { return handed_ != 0; }
  // What it was handed last has begun as the rank: the end of its start pipe alone does not tell.
  bool has_run() {
    read();
    return ran_;
  }
  // It is killed; `reason`, where one may stand by again: later.
  void end(std::string reason = {});
  // Of one that was ended: until it is gone, at most until `until_ms` of the monotonic clock.
  void await_end(std::int64_t until_ms) const;
  void give_up(std::string reason);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Of one that is ready what it has imported, else why none is.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::string& reason() const { return reason_; }
  // Its memory has grown since it was ready.
  [[nodiscard]] bool has_grown() const;
  // It is killed, and another one may stand by, at most a few times.
  void replace(std::string reason);

  [[nodiscard]] int channel() const override { return socket_.get(); }
  void read() override;
  void tend(std::int64_t now_ms) override;
  void reaped(const proc::Death& death) override;

 private:
  void take(std::string_view packet);
  void note_end(const proc::Death& death);
  void leave();
  [[nodiscard]] std::string start_message(const proc::SpawnSpec& spec) const;

  const WorkerContext& context_;
  std::string name_;
  std::function<void()> changed_;
  State state_ = State::kNone;
  std::optional<proc::SpawnSpec> spec_;         // of the rank that has started
  std::optional<proc::SpawnSpec> kept_;         // of the rank that it stands by for
  std::optional<envgen::Sandbox> confinement_;  // what kept_ points to
  sys::Fd socket_;
  sys::Fd start_pipe_;   // held, so that what cannot start may say so
  pid_t handed_ = 0;     // a rank now, which has not said yet that it runs
  bool loaded_ = false;  // Python has loaded what warms it
  bool piped_out_ = false;
  bool piped_err_ = false;
  std::optional<std::string> went_cold_;
  bool ran_ = false;
  int lost_ = 0;  // since the last one that became a rank
  std::int64_t ready_kb_ = 0;
  std::string imported_;
  std::string reason_;
};

}  // namespace engine
