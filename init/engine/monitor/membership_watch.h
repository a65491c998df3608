#pragma once
// The membership watch of an elastic job: a forked worker that reads the list of nodes again and
// again while the job runs. It sends PID 1 one message when the list has changed for good, and
// ends. It decides nothing. Its crash, a hang or a list of any size costs the job nothing.

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
  std::int64_t stable_ms = 4000;  // a new list must stay unchanged for this time
};

class MembershipWatcher : public ChildWorker {
 public:
  // `take` receives "membership changed: 3 nodes -> 2 (gone: c)", once.
  explicit MembershipWatcher(std::function<void(const std::string&)> take);

  // `running_id`: the running plan's cluster_id. If it is 0, the first list that is read counts as
  // the running plan's list.
  base::Status start(const envgen::Snapshot& base, const envgen::Request& request,
                     std::uint64_t running_id, const proc::SavedSignals& saved,
                     const Planner& planner = {}, MembershipTimes times = {});

 private:
  Heard on_message(std::uint32_t kind, std::string_view text) override;
  void on_silence(bool damaged) override;

  std::function<void(const std::string&)> take_;
  bool told_ = false;
};

// The watch of a job, active while the job runs and is elastic.
class MembershipWatch : public MembershipWatcher {
 public:
  MembershipWatch(const WorkerContext& context, const Planner& planner);
  void stepped() override;

 private:
  const WorkerContext& context_;
  const Planner& planner_;
};

// Does the child's work, without the fork. Returns when the message was sent, or could not be. A
// list that cannot be read or used, or that waits for more nodes, is not a change. Such a list
// restarts MembershipTimes::stable_ms.
int watch_membership(envgen::Snapshot snapshot, const envgen::Request& request,
                     std::uint64_t running_id, const std::function<bool(const std::string&)>& send,
                     const Planner& planner = {}, MembershipTimes times = {});

}  // namespace engine
