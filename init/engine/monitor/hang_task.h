#pragma once
// The handling of a job that hangs, in PID 1. The monitor finds stalled ranks and their places
// (where each rank is in its code). In a job of several nodes, node 0 judges the places of all
// nodes' ranks (lifecycle/hang_agent.h). Then only the rank that the others wait for fails. Node 0
// may ask for the places of this node while no rank is stalled here. A worker of this task then
// takes the stacks.

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
  void looked(const MonitorMessage& message);  // handles a message of kind kHang
  // Drops `process` from the stalled ranks, because it makes progress again. If no stalled rank is
  // left, forgets the hang.
  void moves(std::uint32_t process);

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
  // The rank of this node that the others wait for: index in the plan; -1: not known.
  int suspect_ = -1;
  std::string places_;   // the places of this node's ranks, as the monitor took them
  std::string text_;     // the last verdict as text; "": none
  std::string notes_;    // RAS's note, a part of the places' text
  bool logged_ = false;  // text_ is in the log
  bool looking_ = false;
  bool ran_ = false;
  std::optional<std::int64_t> look_at_ms_;
};

}  // namespace engine
