#pragma once
// The judgement whether a process makes progress, from samples that the monitor takes now and then.
// Pure.
//
// Progress is one of these, seen between two samples:
//
// - output of the process
// - CPU time of its tree: more than a hundredth of one CPU since the last sample or the last
//   progress
// - a process of the tree that is runnable in both samples: on a busy machine it waits for a CPU
//
// A hundredth of a CPU is more than the idle threads of a collective's watchdog use, and less than
// any training does. The first 10 ms (one clock tick) do not count. If a process prints no step and
// its output is not seen, only its CPU time is judged. If CPU time does not count either, the
// process is not judged.
//
// If a process has printed a step (--progress), only a new step is progress: a stuck process may
// print and compute for ever. If a first step is expected and does not come in time, the process
// makes no progress either.

#include <cstdint>
#include <optional>

namespace engine {

struct ActivitySample {
  // Bytes of output, or a number that changes with them; nullopt: output is not seen.
  std::optional<std::uint64_t> output;
  // CPU time of the process's tree; it can fall when a process exits.
  std::int64_t cpu_ms = 0;
  bool runnable = false;    // a process of the tree runs or waits for a CPU
  std::uint64_t steps = 0;  // how often the printed step has changed (LineSlot::steps)
  bool blind = false;       // steps are not watched now, so `steps` means nothing
};

struct StallRule {
  std::int64_t timeout_ms = 0;
  bool by_output = false;          // only output counts as progress, not CPU time
  std::int64_t first_step_ms = 0;  // time limit for the first step; 0: no step is expected
};

class StallJudge {
 public:
  enum class StallState : unsigned char {
    kNothing,  // no change to report
    kStalled,  // the process has stalled; returned once
    kMoves,    // the process makes progress again after kStalled
  };

  explicit StallJudge(StallRule rule) : rule_(rule) {}

  StallState look(const ActivitySample& sample, std::int64_t now_ms);
  // Restarts the measurement at the next look(). Call it if everything stood still since the last
  // one.
  void begin_anew();
  // Does not count the CPU time from the last look until `cpu_ms`, because the process used it for
  // trainit (stacks).
  void excuse(std::int64_t cpu_ms) {
    if (!last_) return;
    since_cpu_ms_ += cpu_ms - last_->cpu_ms;
    last_->cpu_ms = cpu_ms;
  }
  [[nodiscard]] bool stalled() const { return stalled_; }
  // Returns the time of the last progress, by the clock of look(). If by_steps(), it is the time of
  // the last step.
  [[nodiscard]] std::int64_t silent_since_ms() const {
    return by_steps_ ? stepless_since_ms_ : since_ms_;
  }
  [[nodiscard]] bool by_steps() const { return by_steps_; }

 private:
  StallRule rule_;
  std::optional<ActivitySample> last_;
  std::int64_t last_ms_ = 0;
  std::int64_t since_ms_ = 0;           // last change of output or CPU time
  std::int64_t cpu_since_ms_ = 0;       // CPU time is compared with the value at this instant
  std::int64_t since_cpu_ms_ = 0;       // ActivitySample::cpu_ms at that instant
  std::int64_t stepless_since_ms_ = 0;  // last new step
  bool stalled_ = false;
  bool by_steps_ = false;
};

}  // namespace engine
