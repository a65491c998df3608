#pragma once
// A job that hangs, as PID 1 sees it. The monitor finds stalled ranks and the places of this node's
// ranks; node 0 judges the places of all nodes' ranks (lifecycle/hang_agent.h). A rank that the
// others wait for fails; in a job of several nodes only that rank fails. Node 0 may ask for places
// while no rank is stalled here. A worker of this task then takes the stacks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "init/engine/monitor/monitor_messages.h"
#include "init/engine/monitor/stack_job.h"
#include "init/engine/tasks/worker_context.h"

namespace engine {

class HangTask : public StackJob {
 public:
  explicit HangTask(const WorkerContext& context) : context_(context) {}

  void stalled(const MonitorMessage& message);
  void looked(const MonitorMessage& message);  // `message` is of kind kHang
  void moves(std::uint32_t process);           // `process` makes progress again

  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void tend(std::int64_t now_ms) override;
  void stepped() override;

 private:
  struct Stalled {
    std::uint32_t process = 0;
    std::int64_t silent_ms = 0;
    std::string text;
  };
  void looked(const std::string& places);
  void forget();
  void log_places();
  void look();
  void take_verdict();
  void fail(const Stalled& stalled);
  void fail(TaskRecord& record, std::string text, std::int64_t silent_ms);
  [[nodiscard]] std::string places_without_ranks() const;

  const WorkerContext& context_;
  std::vector<Stalled> stalled_;  // ranks that wait for a verdict
  int suspect_ = -1;              // a rank of this node, index in the plan; -1: not known
  std::string places_;            // the places of this node's ranks, as they were taken
  std::string text_;              // the last verdict; "": none
  std::string notes_;             // the note from RAS
  bool logged_ = false;           // text_ is in the log
  bool looking_ = false;
  bool ran_ = false;
  std::optional<std::int64_t> look_at_ms_;
};

}  // namespace engine
