#pragma once
// The stall watch: whether one process makes progress, judged from what is seen of it now and then.
// Pure.
//
// Progress is output, CPU time of its tree, or a process of the tree that is runnable in two looks
// in a row: on a busy machine it waits for a CPU. CPU time counts if it is more than a hundredth of
// one CPU since the last look or the last progress, which is more than the idle threads of a
// collective's watchdog use and less than any training does; a first tick of 10 ms is left out.
// A process that says nothing and whose output nobody sees is judged by CPU time alone, and not at
// all where CPU time does not count.
//
// Of a process that has told a step (--progress) only the next one is progress: it may print and
// compute for ever and be stuck. One of which a first step is expected makes no progress either
// when that does not come in its time.

#include <cstdint>
#include <optional>

namespace engine {

struct ActivitySample {
  std::optional<std::uint64_t> output;  // bytes, or any number that changes with it; none: not seen
  std::int64_t cpu_ms = 0;              // of the whole tree; it may fall
  bool runnable = false;                // one of its processes runs or waits for a CPU
  std::uint64_t steps = 0;              // so many new ones it has told
  bool blind = false;                   // nobody looks for steps now: they say nothing
};

struct StallRule {
  std::int64_t timeout_ms = 0;
  bool by_output = false;          // whatever CPU time is used
  std::int64_t first_step_ms = 0;  // it has to come within this time; 0: perhaps none ever does
};

class StallJudge {
 public:
  enum class StallState : unsigned char {
    kNothing,  // new
    kStalled,  // the time is over; said once
    kMoves,    // again, after that
  };

  explicit StallJudge(StallRule rule) : rule_(rule) {}

  StallState look(const ActivitySample& sample, std::int64_t now_ms);
  // The time since the last look does not count: everything stood still.
  void begin_anew();
  // Leaves out the CPU time between the last look and `cpu_ms`: the process used it for trainit.
  void excuse(std::int64_t cpu_ms) {
    if (!last_) return;
    since_cpu_ms_ += cpu_ms - last_->cpu_ms;
    last_->cpu_ms = cpu_ms;
  }
  [[nodiscard]] bool stalled() const { return stalled_; }
  // Since when nothing that counts has moved, by the clock of look(): for one that has stalled
  // by_steps(), its steps.
  [[nodiscard]] std::int64_t silent_since_ms() const {
    return by_steps_ ? stepless_since_ms_ : since_ms_;
  }
  [[nodiscard]] bool by_steps() const { return by_steps_; }

 private:
  StallRule rule_;
  std::optional<ActivitySample> last_;
  std::int64_t last_ms_ = 0;
  std::int64_t since_ms_ = 0;           // of output and CPU time
  std::int64_t cpu_since_ms_ = 0;       // CPU time is compared with that of this instant
  std::int64_t since_cpu_ms_ = 0;       // ActivitySample::cpu_ms then
  std::int64_t stepless_since_ms_ = 0;  // of steps
  bool stalled_ = false;
  bool by_steps_ = false;
};

}  // namespace engine
