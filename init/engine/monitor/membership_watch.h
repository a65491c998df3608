#pragma once
// The membership watch of an elastic job: a forked worker that reads the list of nodes again and
// again while the job runs, tells PID 1 once when it has become another one for good, and ends. It
// decides nothing, and its crash, a hang or a list of any size costs the job nothing.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"
#include "init/engine/resolve/resolver.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/signals.h"

namespace engine {

struct MembershipTimes {
  std::int64_t look_ms = 2000;
  std::int64_t stable_ms = 4000;  // for so long a new list has to stay as it is
};

class MembershipWatcher : public ChildWorker {
 public:
  // `take` gets "membership changed: 3 nodes -> 2 (gone: c)", once.
  explicit MembershipWatcher(std::function<void(const std::string&)> take);

  // `running_id`: the running plan's cluster_id. With 0 the first list that it reads counts as
  // that.
  envgen::Status start(const envgen::Snapshot& base, const envgen::Request& request,
                       std::uint64_t running_id, const proc::SavedSignals& saved,
                       const Planner& planner = {}, MembershipTimes times = {});

 private:
  Heard on_message(std::uint32_t kind, std::string_view text) override;
  void on_silence(bool damaged) override;

  std::function<void(const std::string&)> take_;
  bool told_ = false;
};

// The one of a job, while that runs and is elastic.
class MembershipWatch : public MembershipWatcher {
 public:
  MembershipWatch(const WorkerContext& context, const Planner& planner);
  void stepped() override;

 private:
  const WorkerContext& context_;
  const Planner& planner_;
};

// The child's work, without the fork: returns when it has sent its message, or could not. A list
// that cannot be read or used, or that waits for more nodes, is no change, and begins the time
// anew.
int watch_membership(envgen::Snapshot snapshot, const envgen::Request& request,
                     std::uint64_t running_id, const std::function<bool(const std::string&)>& send,
                     const Planner& planner = {}, MembershipTimes times = {});

}  // namespace engine
