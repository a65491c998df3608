#pragma once
// The patrol: a forked worker beside a running job that looks at the ranks' performance, at whether
// they make progress, and at the node's health (patrol_worker.h). It tells PID 1 what it has
// found over a pipe and decides nothing; its crash or a hang costs the job nothing.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/plan.h"
#include "init/engine/monitor/perf_watch.h"
#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/start.h"
#include "init/engine/workers/messages.h"
#include "init/engine/workers/tees.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"
#include "lifecycle/events.h"

namespace engine {

struct PatrolNews {
  enum class Kind : std::uint32_t {
    kSample = 1,  // of the performance: `count` lines, the last one's `value` in ppm
    kAbove,       // the threshold
    kStalled,     // for `value` milliseconds
    kMoves,       // again
    kHealth,      // `count` failed rounds in succession; 0: it is fit
  };
  Kind kind = Kind::kSample;
  std::uint32_t process = 0;  // its place in the plan, of a main process
  std::uint64_t count = 0;
  std::int64_t value = 0;
  std::string text = {};

  bool operator==(const PatrolNews&) const = default;
};
std::string encode_news(const PatrolNews& news);
// nullopt: not what encode_news makes.
std::optional<PatrolNews> decode_news(std::uint32_t kind, std::string_view bytes);

// A main process that lives.
struct Watched {
  std::uint32_t process = 0;  // its place in the plan
  pid_t pid = 0;
  std::string name;
  int rank = -1;
  bool tee = false;  // its output is seen there
  std::string log;   // or here; "" = it is not
};

struct PatrolOrder {
  envgen::Observation observe;
  std::vector<Watched> watched;
  std::shared_ptr<PerfBoard> board;          // nullptr: no performance watch
  const logtee::Shared* seen = nullptr;      // of the tee
  std::function<std::string()> checks = {};  // what they find wrong; runs in a worker. May be empty
  envgen::HookGroup stall_hooks;
  envgen::HookGroup health_hooks;
  envgen::Environ stall_env;
  envgen::Environ health_env;
  std::vector<std::string> forced_names;
  std::optional<envgen::Identity> job;  // its user, where it is another
  std::string run_dir;
  proc::SavedSignals saved;
};

// For the watches of a plan that has just been adopted, before its processes start.
void prepare_watches(Job& job);
// What the tee does for the performance watch; empty without one.
Tees::MakeScan perf_scan(const Job& job);
// What is to be watched of this job as it runs now. `seen`: what its tee has, nullptr without one;
// `context` as for its hooks.
PatrolOrder patrol_order(const Job& job, const logtee::Shared* seen, const StartContext& context,
                         const proc::SavedSignals& saved);

class Patrol {
 public:
  // Starts one while it is `wanted` and ends it when not. One that could not be started, or has
  // ended by itself, is not started again before that.
  void keep(bool wanted, const std::function<PatrolOrder()>& order);
  // Takes what it has told into the job and the timeline, says it, and returns what the machine has
  // to know.
  std::vector<lifecycle::Event> read(Job& job, Timeline& timeline);
  // A child of ours was reaped: if it was the patrol, its pid is nobody's any more.
  void reaped(pid_t pid) { ended_ = ended_ || pid == pid_; }
  // The pipe to wait for; -1: none.
  [[nodiscard]] int pipe() const {
    return messages_ && !messages_->at_end() ? messages_->pipe().get() : -1;
  }

 private:
  pid_t pid_ = 0;
  std::optional<MessagePipe> messages_;
  bool started_ = false;  // or tried to
  bool ended_ = false;
};

}  // namespace engine
