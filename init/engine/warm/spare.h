#pragma once
// A spare process for one rank. It is forked and confined like the rank, and executes the rank's
// command. But first it imports modules, and then waits at a socket (envgen/resolve/warm.py). For
// the next start it receives the rank's descriptors and variables there, and runs as the rank from
// then on. So that start needs no fork, exec or import. The caller decides what the spare imports
// and when it becomes the rank.

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

  // `changed` is called after each change of the state.
  Spare(const WorkerContext& context, std::function<void()> changed)
      : context_(context), changed_(std::move(changed)) {}

  // Records how the rank of this name was started. The next spare is made for a start like that
  // one.
  void note_start(const std::string& name, const proc::SpawnSpec& spec);
  // Starts a spare that imports `warm.modules`. Requires an earlier note_start(). Returns an Error
  // if a descriptor or the process cannot be created.
  base::Status start_spare(const envgen::WarmPlan& warm, const envgen::WarmProcess& process);
  // Returns why the spare cannot become the rank that `spec` describes; "" = it can. `free`: names
  // of variables that may differ between the two starts.
  [[nodiscard]] std::string cold_reason(const proc::SpawnSpec& spec,
                                        const std::vector<std::string>& free) const;
  // Turns the spare into the rank that `spec` describes. Requires that cold_reason() returned "".
  // On an error the spare has been killed.
  base::Result<proc::Spawned> hand_over(const proc::SpawnSpec& spec);
  // Returns why a spare that became the rank executed the rank's command again, which is a cold
  // start. Returns each reason once; nullopt: no such reason.
  std::optional<std::string> take_went_cold() { return std::exchange(went_cold_, std::nullopt); }
  // Returns true from hand_over() until the process runs as the rank (and closes its socket) or
  // dies.
  [[nodiscard]] bool is_handed() const { return handed_ != 0; }
  // Returns true if the process of the last hand_over() has reported that it runs as the rank. The
  // end of its start pipe alone does not show that.
  bool has_run() {
    read();
    return ran_;
  }
  // Kills the spare. `reason` is what text() reports until the next start_spare(); ignored after
  // give_up().
  void end(std::string reason = {});
  // Blocks until the process that end() killed has exited, or until `until_ms` (monotonic clock).
  // Does not wait where pidfd_open is missing (before Linux 5.3).
  void await_end(std::int64_t until_ms) const;
  void give_up(std::string reason);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Returns the state as text: what a ready spare has imported, otherwise why there is no spare. ""
  // if there is nothing to say.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::string& reason() const { return reason_; }
  // Returns true if a ready spare uses more than 1.5 times its initial memory plus 64 MiB.
  [[nodiscard]] bool has_grown() const;
  // Kills the spare and allows a new one. After three lost spares in a row it gives up instead.
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
  std::optional<proc::SpawnSpec> spec_;  // how the running rank was started
  std::optional<proc::SpawnSpec> kept_;  // start that the spare was made for
  // Copy of the rank's sandbox; kept_->sandbox points to it.
  std::optional<envgen::Sandbox> confinement_;
  sys::Fd socket_;
  sys::Fd start_pipe_;  // held open so that a spare can report a failed start
  // Pid of the process of the last hand_over(), until is_handed() is false; 0: none.
  pid_t handed_ = 0;
  bool loaded_ = false;  // Python has loaded the spare's code
  bool piped_out_ = false;
  bool piped_err_ = false;
  std::optional<std::string> went_cold_;
  bool ran_ = false;
  int lost_ = 0;  // number of spares lost since the last one that became a rank
  std::int64_t ready_kb_ = 0;
  std::string imported_;
  std::string reason_;
};

}  // namespace engine
