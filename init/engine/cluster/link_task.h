#pragma once
// PID 1's side of the link: the worker that has the connection to the job's other nodes
// (link_worker.h). The worker runs from the first plan to the exit of the container. After each
// step of the machine, LinkTask sends this node's report if that has changed. Messages of the
// worker become events. Only farewell() blocks.

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
  // `launcher` is notified about node 0, if the launcher runs there. `now_ms`: the clock of the
  // machine.
  LinkTask(const WorkerContext& context, LauncherNotifier& launcher,
           std::function<std::int64_t()> now_ms);

  // Ends the turn: call it when all that happened in the turn has been answered.
  void turned();
  void tend(std::int64_t now_ms) override;
  // Sends the leave message with the exit code of the container, and blocks until it is delivered,
  // at most 1.5 s.
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
  std::optional<envgen::NodeLink> link_;  // the one of the running worker
  lifecycle::NodeAgent side_;
  sys::Fd down_;
  std::uint64_t instance_ = 0;
  std::optional<lifecycle::NodeReport> told_;  // last report sent, without ages
  std::uint64_t node0_instance_ = 0;           // NodeVerdict::instance; 0: not received yet
  bool all_connected_ = false;                 // LinkState::all_connected
  bool up_ = false;
  std::int64_t began_ms_ = 0;  // time of the first attempt to make the link
  bool was_up_ = false;
  bool linked_ = false;                     // last event::Linked
  std::optional<std::int64_t> down_at_ms_;  // when `up_` becomes false, if no connection follows
  std::string unsent_;                      // the rest of a message
  bool down_said_ = false;
  int deaths_ = 0;
  std::optional<std::int64_t> start_at_ms_;
  std::string told_failure_;  // last failure of a node that the others continue without
};

}  // namespace engine
