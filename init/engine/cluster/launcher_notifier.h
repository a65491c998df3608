#pragma once
// What the link says of a job's launcher, node 0, told to the sshd of one of its workers (`trainit
// peer serve`), which is this node's main process: how the job ended, and whether the launcher's
// node is lost. A child tells it, as PID 1 waits for nobody; again while it is not heard.

#include <cstdint>
#include <string>
#include <string_view>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"
#include "init/sys/fd.h"

namespace engine {

class LauncherNotifier : public ChildWorker {
 public:
  explicit LauncherNotifier(const WorkerContext& context) : context_(context) {}

  // It has said farewell: the sshd ends with its code. Nothing else is told from then on.
  void ended(int exit_code);
  void lost(bool is_lost);

  void tend(std::int64_t now_ms) override;

 private:
  void on_exit(const proc::Death& death) override;
  void want(std::string_view word, const std::string& argument);
  void tell();
  void try_later();

  const WorkerContext& context_;
  std::string wanted_;  // the message that it is to have; "" = none
  std::string told_;    // the one that it has
  std::string telling_;
  bool ended_ = false;
  sys::Fd start_pipe_;
  int failures_ = 0;
};

}  // namespace engine
