#pragma once
// The stacks that PID 1 lets a worker take: on request (trainit stacks), and shortly before it
// kills main tasks that TERM did not end. The KILL is not delayed: stacks that are not taken by
// then are not reported.

#include <cstdint>
#include <optional>

#include "init/engine/monitor/stack_job.h"
#include "init/engine/tasks/worker_context.h"
#include "lifecycle/events.h"

namespace engine {

class StackDump : public StackJob {
 public:
  explicit StackDump(const WorkerContext& context) : context_(context) {}

  // Starts to take stacks, unless requested stacks are being taken already. Returns the number in
  // the names of the files that will be written: RUN_DIR/stacks/asked-<number>.json and .txt.
  // Returns nullopt if no main task runs, if the stacks before a KILL are being taken, or on an
  // error.
  std::optional<std::int64_t> ask();
  // Schedules the stacks before a KILL that is due at `at_ms`; 0: no KILL is due. Both times are of
  // the machine's clock; `now_ms` is its present time.
  void expect_kill(std::int64_t at_ms, std::int64_t now_ms);

  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void tend(std::int64_t now_ms) override;
  void stepped() override;

 private:
  enum class Occasion : unsigned char { kAsked, kKill };

  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  bool begin(Occasion occasion, const std::string& name, std::int64_t most_ms);

  const WorkerContext& context_;
  std::int64_t asked_ = 0;
  Occasion occasion_ = Occasion::kAsked;
  // Time to begin the stacks before a KILL, monotonic clock; nullopt: none are due.
  std::optional<std::int64_t> before_kill_ms_;
};

// Returns the path, without its extension, of the files that `trainit stacks` has requested.
std::string asked_stacks(const std::string& run_dir, std::int64_t number);

}  // namespace engine
