#pragma once
// A forked worker that runs the hooks of one event, one after the other, and sends PID 1 the
// results over a pipe. Whatever a hook does, PID 1 sees one task with bounded messages.
//
// A hook has trainit's rights, its own session and /dev/null as stdin. Its output goes through
// HookOutput to stderr. The hook dies with the worker, and the worker with PID 1. The worker does
// not wait for processes that a hook leaves behind. Their output then has no reader. A hook that
// exceeds the group's timeout gets SIGTERM with its process group, and SIGKILL two seconds later.
// If the worker itself gets SIGTERM, it ends the running hook in the same way; after a second
// SIGTERM it kills that hook at once. A warning names that hook and those that were not run. The
// worker then exits with 143.
//
// A hook fails with one of these exit codes:
// - its own exit code, or 128 + n if signal n ended it
// - 69: it exceeded the timeout
// - 126, 127: it could not be started (proc::StartFailure)
// - 125: its exports cannot be read, or others may change it
// A failed hook exports nothing. In a fatal group the worker then sends HookFailed and exits with
// that code. Otherwise it logs a warning, goes on, and exits with 0.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/environ.h"
#include "base/exit_codes.h"
#include "base/fields.h"
#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/sandbox.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/signals.h"

namespace engine {

struct HookFailed {
  int exit_code = exit_code::kOwnFailure;
  std::string message;

  bool operator==(const HookFailed&) const = default;
};
inline void fields(base::FieldVisitor& v, HookFailed& failed) {
  v("exit_code", failed.exit_code, {.least = 1, .most = 255});
  v("message", failed.message);
}
struct HookExports {  // the exports of one hook; later exports of a name override earlier ones
  std::vector<base::EnvEdit> edits;

  bool operator==(const HookExports&) const = default;
};
inline void fields(base::FieldVisitor& v, HookExports& exports) {
  // The number of bytes is limited by parse_hook_exports().
  v("edits", exports.edits, {.most_items = 1U << 20});
}
using HookMessage = std::variant<HookFailed, HookExports>;

class HookRun : public ChildWorker {
 public:
  // `take` receives each message; a damaged message arrives as a HookFailed.
  explicit HookRun(std::function<void(HookMessage)> take);

  // Forks the worker. A hook runs with trainit's rights. As root, the worker therefore refuses a
  // hook that others may change (sys::check_ours_alone): that hook fails with 125. `job`: the job's
  // user; nullopt if it is trainit's own. Each hook gets `env`, TRAINIT_ENV (HookFile) and the
  // exports of the hooks before it. An exported variable of `forced_names` is left out with a
  // warning.
  base::Status start(const envgen::HookGroup& group, const base::Environ& env,
                     const std::string& run_dir, const std::vector<std::string>& forced_names,
                     const std::optional<envgen::Identity>& job, const proc::SavedSignals& saved);

 private:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_silence(bool damaged) override;
  void on_overdue() override;

  std::function<void(HookMessage)> take_;
  envgen::HookEvent event_ = envgen::HookEvent::kPreStart;
};

}  // namespace engine
