#pragma once
// Sends a worker's sshd messages about the launcher on node 0, as the link reports them. The sshd
// (`trainit peer serve`) is the main process of a node on which the launcher starts its ranks by
// ssh. The messages are how the job ended, and whether node 0 is lost. A child sends them, because
// PID 1 never blocks. It sends each again until the sshd takes it.

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

  // Reports that node 0 has sent its leave message: the sshd then exits with `exit_code`. All later
  // messages are dropped.
  void ended(int exit_code);
  void lost(bool is_lost);

  void tend(std::int64_t now_ms) override;

 private:
  void on_exit(const proc::Death& death) override;
  void want(std::string_view word, const std::string& argument);
  void tell();
  void try_later();

  const WorkerContext& context_;
  std::string wanted_;  // message that the sshd must get; "": none
  std::string told_;    // last message that the sshd has taken; "": none
  std::string telling_;
  bool ended_ = false;
  sys::Fd start_pipe_;
  int failures_ = 0;
};

}  // namespace engine
