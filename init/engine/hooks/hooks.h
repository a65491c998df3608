#pragma once
// A forked worker that runs the hooks of one event, one after the other, and tells PID 1 what came
// of it over a pipe. Whatever a hook does, PID 1 sees one task with bounded messages.
//
// A hook has our rights, a session of its own, /dev/null as stdin; what it prints goes through
// HookOutput to stderr. It dies with the worker, and the worker with PID 1; what a hook leaves
// behind it is not waited for, and loses the other end of its output. One that takes longer than
// the group's timeout gets SIGTERM with its process group, two seconds later SIGKILL. SIGTERM to
// the worker does the same to the hook that runs, a second SIGTERM kills that at once; a warning
// names it and those that are not run, and the worker then exits with 143.
//
// A hook fails by its exit code; 128 + n by a signal; 69 when its time is over; 126 and 127 when
// it cannot be started (proc::StartFailure); 125 when what it exports cannot be read. A failed one
// exports nothing. In a fatal group the worker then tells HookFailed and exits with that code;
// otherwise it warns, goes on, and exits with 0.

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
inline void fields(envgen::FieldVisitor& v, HookFailed& failed) {
  v("exit_code", failed.exit_code, {.least = 1, .most = 255});
  v("message", failed.message);
}
struct HookExports {  // of one hook; later ones win
  std::vector<envgen::EnvEdit> edits;

  bool operator==(const HookExports&) const = default;
};
inline void fields(envgen::FieldVisitor& v, HookExports& exports) {
  v("edits", exports.edits, {.most_items = 1U << 20});  // their bytes are bounded
}
using HookMessage = std::variant<HookFailed, HookExports>;

class HookRun : public ChildWorker {
 public:
  // `take` gets what it tells; a damaged message is a HookFailed.
  explicit HookRun(std::function<void(HookMessage)> take);

  // A hook has our rights, so as root we run none that others may change (sys::check_ours_alone):
  // it has then failed, with 125. `job_user`: the job's user, where it is another.
  // `env` is what each hook gets, with TRAINIT_ENV (HookFile) and what those before it exported.
  // An exported variable of `forced_names` is left out with a warning.
  envgen::Status start(const envgen::HookGroup& group, const envgen::Environ& env,
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
