#pragma once
// PID 1's side of the link, whose worker connects this node with the job's other nodes
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
#include "init/engine/workers/tees.h"
#include "lifecycle/node_agent.h"

namespace engine {

class LinkTask : public ChildWorker {
 public:
  // `launcher` gets messages about node 0 if a launcher runs there. `tees`: the job's tees.
  // `now_ms` returns the time of the machine's clock.
  LinkTask(const WorkerContext& context, LauncherNotifier& launcher, Tees& tees,
           std::function<std::int64_t()> now_ms);

  // Starts the worker, or replaces it if the plan has another link. Sends this node's report if it
  // has changed. Call it at the end of each turn of the loop.
  void turned();
  void tend(std::int64_t now_ms) override;
  // Sends the leave message with the exit code of the container. Blocks until it is delivered, at
  // most 1.5 s.
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
  Tees& tees_;
  std::function<std::int64_t()> now_ms_;
  std::optional<envgen::NodeLink> link_;  // the plan's link that the worker runs for
  lifecycle::NodeAgent side_;
  sys::Fd down_;
  std::uint64_t instance_ = 0;
  std::optional<lifecycle::NodeReport> told_;  // last report that was sent, without ages
  std::uint64_t node0_instance_ = 0;           // last NodeVerdict::instance; 0: none received
  bool all_connected_ = false;                 // last LinkState::all_connected
  bool up_ = false;
  std::int64_t began_ms_ = 0;  // time of the worker's first start
  bool was_up_ = false;
  bool linked_ = false;  // value of the last event::Linked
  // When up_ becomes false, unless a connection is made before.
  std::optional<std::int64_t> down_at_ms_;
  std::string unsent_;  // unsent rest of a message
  bool down_said_ = false;
  int deaths_ = 0;
  std::optional<std::int64_t> start_at_ms_;
  // Last announced failure of a node, without which the others continue (kTold).
  std::string told_failure_;
};

}  // namespace engine
