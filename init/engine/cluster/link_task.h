#pragma once
// The link as PID 1 knows it: the worker that holds the connection to the job's other nodes
// (link_worker.h), from the first plan to the end of the container. What this node has to say is
// sent after each step of the machine, when it is something new; what is heard becomes events.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "envgen/plan/plan.h"
#include "init/engine/cluster/launcher_notifier.h"
#include "init/engine/cluster/link_settings.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"
#include "lifecycle/node_agent.h"

namespace engine {

class LinkTask : public ChildWorker {
 public:
  // `launcher`: who hears of node 0, where that launches. `now_ms`: the time by which the machine
  // counts.
  LinkTask(const WorkerContext& context, LauncherNotifier& launcher,
           std::function<std::int64_t()> now_ms);

  // The turn is over: all that has happened was answered.
  void turned();
  void tend(std::int64_t now_ms) override;
  // The container ends with this code: says so to the others, and waits a moment until that is out.
  void farewell(int exit_code);

 private:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_silence(bool damaged) override;
  void on_exit(const proc::Death& death) override;

  void start(const envgen::NodeLink& link);
  void retire();
  [[nodiscard]] lifecycle::NodeReport report();
  void send(const lifecycle::NodeReport& report);
  bool flush();
  void take(const lifecycle::NodeVerdict& verdict);
  void take(const LinkState& state);
  void set_up(bool is_up);
  void tell_machine(bool fails);
  void await_next(std::int64_t now_ms);
  [[nodiscard]] bool awaits_first_connection(std::int64_t now_ms) const;
  [[nodiscard]] std::int64_t heard_until_ms(int exit_code) const;
  void tell_sshd(const lifecycle::NodeVerdict& verdict);
  void note_end(const lifecycle::NodeVerdict& verdict);
  void note_failure(const lifecycle::NodeVerdict& verdict);
  void note_missing(const lifecycle::NodeVerdict& verdict);

  const WorkerContext& context_;
  LauncherNotifier& launcher_;
  std::function<std::int64_t()> now_ms_;
  std::optional<envgen::NodeLink> link_;  // that the worker goes by
  lifecycle::NodeAgent side_;
  sys::Fd down_;
  std::uint64_t life_ = 0;
  std::optional<lifecycle::NodeReport> told_;  // without ages
  std::uint64_t node0_life_ = 0;               // Verdict::life; 0: not heard yet
  bool all_connected_ = false;                 // LinkState::all_connected
  bool up_ = false;
  std::int64_t began_ms_ = 0;  // the first attempt to make the link
  bool was_up_ = false;
  bool linked_ = false;                     // as the machine has it
  std::optional<std::int64_t> down_at_ms_;  // when it is no more, if it does not come back
  std::string unsent_;                      // the rest of a message
  bool down_said_ = false;
  int deaths_ = 0;
  std::optional<std::int64_t> start_at_ms_;
  std::string told_failure_;  // of a node that the others go on without
};

}  // namespace engine
