#pragma once
// Stacks that PID 1 has taken: when somebody asks for them (trainit stacks), and shortly before the
// main tasks that have not ended by TERM are killed. The second delays nothing: what is not there
// when the KILL comes is not told.

#include <cstdint>
#include <optional>

#include "init/engine/monitor/stack_job.h"
#include "init/engine/tasks/worker_context.h"
#include "lifecycle/events.h"

namespace engine {

class StackDump : public StackJob {
 public:
  explicit StackDump(const WorkerContext& context) : context_(context) {}

  // The number of the files that will be there, RUN_DIR/stacks/asked-<number>.json and .txt;
  // nothing where no main task runs.
  std::optional<std::int64_t> ask();
  // The KILL is due then, by the machine's clock, which says `now_ms`; 0: it is not.
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
  std::optional<std::int64_t> before_kill_ms_;  // of the monotonic clock
};

// Where `trainit stacks` finds what it has asked for.
std::string asked_stacks(const std::string& run_dir, std::int64_t number);

}  // namespace engine
