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
  std::optional<std::uint64_t> output;  // bytes or a number that changes with them; nullopt: unseen
  std::int64_t cpu_ms = 0;              // CPU time of the whole tree; it may fall
  bool runnable = false;                // a process of the tree runs or waits for a CPU
  std::uint64_t steps = 0;              // number of new steps printed
  bool blind = false;                   // steps are not watched now, so `steps` means nothing
};

struct StallRule {
  std::int64_t timeout_ms = 0;
  bool by_output = false;          // CPU time does not count
  std::int64_t first_step_ms = 0;  // time limit for the first step; 0: perhaps no step ever comes
};

class StallJudge {
 public:
  enum class StallState : unsigned char {
    kNothing,  // no change
    kStalled,  // the time is over; returned once
    kMoves,    // progress again after kStalled
  };

  explicit StallJudge(StallRule rule) : rule_(rule) {}

  StallState look(const ActivitySample& sample, std::int64_t now_ms);
  // Leaves out the time since the last look: everything stood still.
  void begin_anew();
  // Leaves out the CPU time between the last look and `cpu_ms`: the process used it for trainit.
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
