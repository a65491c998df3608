#pragma once
// The membership watch of an elastic job: a forked worker that reads the list of nodes again and
// again while the job runs. When the list has changed for good, it sends PID 1 one message and
// exits. PID 1 decides what follows. If the worker crashes or hangs, the job is not affected.

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
  std::int64_t stable_ms = 4000;  // time for which a new list must stay unchanged
};

class MembershipWatcher : public ChildWorker {
 public:
  // `take` receives the text of the first change, at most once per start(): "membership changed: 3
  // nodes -> 2 (gone: c)".
  explicit MembershipWatcher(std::function<void(const std::string&)> take);

  // Forks the worker. `running_id`: the cluster_id of the running plan. If it is 0, the first list
  // that can be read is taken for that plan's list.
  base::Status start(const envgen::Snapshot& base, const envgen::Request& request,
                     std::uint64_t running_id, const proc::SavedSignals& saved,
                     const Planner& planner = {}, MembershipTimes times = {});

 private:
  Heard on_message(std::uint32_t kind, std::string_view text) override;
  void on_silence(bool damaged) override;

  std::function<void(const std::string&)> take_;
  bool told_ = false;
};

// The watch of this job: it runs the worker while an elastic job runs or waits for the other nodes.
class MembershipWatch : public MembershipWatcher {
 public:
  MembershipWatch(const WorkerContext& context, const Planner& planner);
  void stepped() override;

 private:
  const WorkerContext& context_;
  const Planner& planner_;
};

// Does the child's work, without the fork. Returns when the message was sent, or could not be sent.
// If the list cannot be read or used, or waits for more nodes, that is not a change, and
// MembershipTimes::stable_ms starts again.
int watch_membership(envgen::Snapshot snapshot, const envgen::Request& request,
                     std::uint64_t running_id, const std::function<bool(const std::string&)>& send,
                     const Planner& planner = {}, MembershipTimes times = {});

}  // namespace engine
