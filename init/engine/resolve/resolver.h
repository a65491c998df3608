#pragma once
// The resolver: a forked child that makes the plan of a start. It parses all input from outside,
// waits for the rank table and sources scripts. Before a restart it waits until the devices are
// free. It writes the plan's files, waits for the peers, and sends PID 1 the plan over a pipe. If
// it crashes, hangs or gets a huge table, the start fails with an error, but PID 1 lives.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "base/exit_codes.h"
#include "base/fields.h"
#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/signals.h"

namespace engine {

struct ResolverWaits {  // sent each time the reason for waiting changes
  std::string reason;
};
inline void fields(base::FieldVisitor& v, ResolverWaits& waits) { v("reason", waits.reason); }
struct ResolverFailed {
  // 69: the rank table, a peer or another node was not ready in time
  int exit_code = exit_code::kOwnFailure;
  std::string message;
  bool not_listed = false;  // base::Error::not_listed: this node is not in the list of nodes
};
inline void fields(base::FieldVisitor& v, ResolverFailed& failed) {
  v("exit_code", failed.exit_code, {.least = 0, .most = 255});
  v("message", failed.message);
  v("not_listed", failed.not_listed);
}
using ResolverMessage = std::variant<ResolverWaits, ResolverFailed, envgen::Plan>;

// The function that fills the snapshot's paths and returns the answer. The default is
// collect_and_resolve().
using Planner =
    std::function<envgen::Answer(envgen::Snapshot& snapshot, const envgen::Request& request)>;

class Resolver : public ChildWorker {
 public:
  // `take` receives each message; a damaged message arrives as a ResolverFailed.
  explicit Resolver(std::function<void(ResolverMessage)> take);

  // Forks the child. `base` has argv, environment and facts. While the child waits, it examines the
  // paths again at each poll. `restarts`: number of restarts of this node including the coming one;
  // 0 for its first start.
  base::Status start(const envgen::Snapshot& base, const envgen::Request& request,
                     const proc::SavedSignals& saved, const Planner& planner = {},
                     std::uint32_t restarts = 0);

 private:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_silence(bool damaged) override;

  std::function<void(ResolverMessage)> take_;
};

// Does the child's work, without the fork. `send` receives each message; if it returns false, PID 1
// no longer reads. Returns the exit code.
int resolve_and_prepare(envgen::Snapshot snapshot, const envgen::Request& request,
                        const std::function<bool(const ResolverMessage&)>& send,
                        const Planner& planner = {}, std::uint32_t restarts = 0);

// Creates the plan's directories and files.
base::Status carry_out_files(const envgen::Plan& plan);

}  // namespace engine
